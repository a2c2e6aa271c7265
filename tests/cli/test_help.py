"""What `--help` shows, and what shells complete."""

import inspect

import pytest

from driftwise.__main__ import main
from tests.documented import COMMANDS, PAGES, command_lines, parse

QUICK = {"init", "validate", "list", "show"}  # commands whose examples are run, and not only read


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_fits_80_columns_and_ends_with_examples_that_it_takes(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    examples = command_lines(shown.partition("Examples:\n")[2])
    assert examples
    for words in examples:
        assert words[0] == name
        parse(words)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_has_every_sentence_of_a_commands_help(name):
    section = PAGES["docs/cli.md"].partition(f"## driftwise {name}\n")[2].partition("\n## ")[0]
    told = " ".join(section.split())
    for paragraph in inspect.cleandoc(COMMANDS[name].help).split("\n\n"):
        assert " ".join(paragraph.split()) in told
    for parameter in COMMANDS[name].params:
        sentence = parameter.help.partition("  [default")[0]
        shown = parameter.default is not None and parameter.default is not False
        assert sentence + f" Default: `{parameter.default}`." * shown in told


def test_examples_of_quick_commands_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in sorted(QUICK):  # init writes what validate reads
        for words in command_lines(COMMANDS[name].epilog):
            assert main(words) == 0, words
            assert capsys.readouterr().out, words


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("driftwise ru", ["run"]),
        ("driftwise run qu", ["quickstart"]),
        ("driftwise validate quick", ["quickstart"]),
        ("driftwise list al", ["algorithms"]),
        ("driftwise show opt_w", ["opt_wlsvi", "opt_wlsvi_borl"]),
        ("driftwise run --ep", ["--episodes"]),
        ("driftwise run mine.t", [""]),  # files are left to the shell
    ],
)
def test_shells_complete_commands_options_and_names(words, completed, capsys, monkeypatch):
    monkeypatch.setenv("_DRIFTWISE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit, match="0"):
        main([])
    assert capsys.readouterr().out.removesuffix("\n").split("\n") == completed
