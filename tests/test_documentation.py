"""What pages say is so: their code runs and gives what they promise, commands parse, links lead somewhere."""

import contextlib
import copy
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import tomli_w
import typer

import driftwise as dw
from driftwise.__main__ import main
from driftwise.algorithms import ALGORITHMS
from driftwise.analysis.finished import FinishedStudy
from driftwise.base.part import grid_shape
from driftwise.cli.app import make_parser, split_imports
from driftwise.environments.models.linear_bandit import WrongUnit
from driftwise.experiments import EXPERIMENTS, load_experiment, prepare
from driftwise.experiments.building import make_environment
from driftwise.experiments.experiment import write_starter
from driftwise.online import Bandit, DecisionLog, Encoder, Summary, load
from driftwise.online.encoding.encoder import MOST_WORDS
from driftwise.online.limits import LARGEST_FEATURE, LARGEST_REWARD
from driftwise.online.replay import INDEPENDENCE_LEVEL, MAX_WEIGHTS, replay
from driftwise.scenarios import contestants
from driftwise.simulation import running
from driftwise.simulation.devices import find_devices
from driftwise.theory.bounds import BOUNDS
from tests.experiments.test_experiments import made_up, pretend
from tests.online.streams import bits
from tests.online.test_replay import drawn, write_csv
from tests.report_folders import make_folder

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
COMMANDS: dict[str, Any] = make_parser().commands  # in the order of `driftwise --help`
PATHS = sorted(path for place in ("*.md", "docs/*.md", "examples/**/README.md") for path in ROOT.glob(place))
PAGES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PATHS}


def blocks(page: str, language: str) -> list[str]:
    """Blocks of code in a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def command_lines(text: str) -> list[list[str]]:
    """The words of every call of `driftwise` that begins a line, but for its name and a comment."""
    lines = text.replace("\\\n", " ").splitlines()
    called = [line.strip() for line in lines if line.strip().startswith("driftwise ")]
    return [shlex.split(line, comments=True)[1:] for line in called]


def parse(words: list[str]) -> None:
    """Let the command read its words, as it does before it runs; what it cannot take is an error."""
    _, (name, *others) = split_imports(words)
    with contextlib.suppress(typer.Exit), COMMANDS[name].make_context(name, others):  # --help ends it
        pass


TUTORIALS = sorted(page for page in (DOCS / "tutorials").glob("*.md") if page.name != "index.md")
WITH_PYTHON = [name for name, page in PAGES.items() if blocks(page, "python") and name != "docs/plugins.md"]
WITH_BASH = [name for name, page in PAGES.items() if blocks(page, "bash")]
OTHER_TOML = {"docs/named-arms.md", "docs/plugins.md", "docs/replay.md"}  # no part of an experiment
WITH_TOML = [name for name, page in PAGES.items() if blocks(page, "toml") and name not in OTHER_TOML]
EXPERIMENT: dict[str, Any] = dict(name="part", summary="A part of a page", episodes=100, runs=1)
EXPERIMENT["agents"] = {"uniform": {"algorithm": "uniform"}}  # around what is only a part of one
CURVES = "agent,run,episode,reward\nA,0,1,0.5\nA,1,1,0.6\nB,0,1,0.7\nB,1,1,0.9\n"


TOOLS = ("torch.utils.tensorboard", "mlflow", "optuna")
PROMISES = {  # pages whose code is more than run in stand-ins
    "README.md",
    *(f"docs/{name}.md" for name in ("clock-time", "gymnasium", "interop", "named-arms", "notebooks")),
    *(f"docs/{name}.md" for name in ("online-bandits", "online-episodes", "production", "replay", "robust")),
    *(f"docs/{name}.md" for name in ("scenarios", "scikit-learn")),
}


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_the_python_of_a_page_runs_in_its_order_and_gives_what_it_says(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = surround(name, monkeypatch)
    for block in blocks(PAGES[name], "python"):
        exec(block, names)
    check_promises(name, PAGES[name], SimpleNamespace(**names), capsys.readouterr().out)


def surround(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Make what is around a page in an empty folder; the names that its code finds."""
    if name not in PROMISES:
        use_stand_ins(monkeypatch)
    elif name == "docs/interop.md":  # mocks note what the tools are told, and one trial of two is pruned
        monkeypatch.setattr(running, "run_task", pretend)  # the experiment's agents are not compiled
        Path("curves.csv").write_text(CURVES, encoding="utf-8")
        for tool in TOOLS:
            monkeypatch.setitem(sys.modules, tool, MagicMock())
        trials: dict[MagicMock, Any] = {MagicMock(): None, MagicMock(): None}
        for trial, pruned in zip(trials, ([False] * 3, [False, True]), strict=True):
            trial.suggest_float.side_effect = lambda name, *_, **__: {"forgetting": 0.03, "radius": 0.1}[name]
            trial.should_prune.side_effect = pruned

        def optimise(objective: Callable[[Any], float], n_trials: int) -> None:
            for trial in trials:
                with contextlib.suppress(InterruptedError):
                    trials[trial] = objective(trial)

        optuna: Any = sys.modules["optuna"]
        optuna.TrialPruned, optuna.create_study.return_value.optimize = InterruptedError, optimise
        return {"trials": trials}
    elif name == "docs/online-episodes.md":
        pytest.importorskip("gymnasium")
    elif name == "docs/replay.md":
        columns = dict(zip(("age", "article", "click", "chance"), drawn(200).values(), strict=True))
        hours = np.arange(200) % 24
        write_csv(Path("clicks.csv"), columns | {"hour": hours})
        write_csv(Path("log.csv"), {"y": hours, "reward": hours, **columns})
        return {"arms": np.eye(9)}
    elif name == "docs/scenarios.md":
        for kind, field in contestants.POLICY_SETS.items():  # to which the page adds
            copied = field._replace(policies=dict(field.policies))
            monkeypatch.setitem(contestants.POLICY_SETS, kind, copied)
    return {}


def play_little(agent: Any, environment: Any, num_episodes: int, num_runs: int = 1, **_: Any) -> dw.Result:
    """In place of a simulation: two episodes on NumPy, and curves out of thin air."""
    result = made_up(agent, environment, num_episodes, num_runs, 0)
    if not grid_shape(agent):
        for played in dw.play(agent, environment, num_episodes, episodes=(0, 1)):
            diagnostics = agent.diagnostics(played.carry.state)
            result = replace(result, diagnostics=dict.fromkeys(diagnostics, result.returns))
    return result


def use_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let little of a simulation be done, beside a file to run and two folders of results."""
    monkeypatch.setattr("driftwise.simulation.running.simulate", play_little)
    monkeypatch.setattr(running, "run_task", pretend)
    for engine in ("Processes", "RayCluster"):  # there may be no cluster, and no GPU
        monkeypatch.setattr(f"driftwise.simulation.engines.{engine}", lambda *given: None)
    monkeypatch.setattr("driftwise.simulation.memory_budget.find_devices", lambda name: find_devices(None))
    write_starter(Path("mine.toml"))
    Path("results").mkdir()
    for folder in ("before", "after"):
        make_folder(Path("results", folder))


def check_promises(name: str, text: str, found: Any, printed: str) -> None:
    """Check what a page promises of the names that its code leaves behind, and of what it prints."""
    match name:
        case "README.md":
            assert len(blocks(text, "python")[0].splitlines()) <= 10
            assert found.result.cumulative_regret.shape == (2, 3, 8, 200)
            assert found.result.axes == ("radius", "rate", "run", "episode")
            assert found.best.num_runs == 6
            assert found.decision.arm in range(3)
            assert isinstance(found.agent.forgetting, dw.forgetting.ExponentialWeights)
            assert found.variation == found.env.variation(1000).total > 0
            assert found.mine.spec == dw.Spec(num_states=2, num_actions=2, dim=4, horizon=1)
        case "docs/clock-time.md":
            assert found.bandit.summary().samples == 4
            assert found.sampler.summary().rewards == 1
        case "docs/gymnasium.md":
            assert found.regret > 0
        case "docs/interop.md":
            ends = [256, 512, 600]
            means = {end: found.result.cumulative_regret[:, end - 1].mean() for end in ends}
            lines = [f"episode {end}: regret {mean:.1f}" for end, mean in means.items()]
            assert printed.splitlines()[:3] == lines
            scalars = [call.args for call in found.writer.add_scalar.call_args_list]
            assert scalars[:3] == [("regret", pytest.approx(mean), end) for end, mean in means.items()]
            labels = EXPERIMENTS["quickstart"].agents
            assert [tag for tag, *_ in scalars[3:]] == [f"combination_lock/{label}/0" for label in labels]
            metrics = [(*call.args, call.kwargs["step"]) for call in found.mlflow.log_metric.call_args_list]
            assert metrics == scalars[:3]
            reported = [[call.args[1] for call in trial.report.call_args_list] for trial in found.trials]
            assert reported == [ends, ends[:2]]
            assert [*found.trials.values()] == [pytest.approx(means[600]), None]
        case "docs/named-arms.md":
            assert found.decision.arm in ("red", "blue")
            assert found.best == ["red"]
            assert found.found.rows == 20
            np.testing.assert_allclose(found.features[0, 1:3], [0, 0.5])  # four terms
            assert np.linalg.norm(found.features, axis=1).max() <= 1
            assert found.hybrid.arms == ["red", "blue"]
            (schema,) = blocks(text, "toml")
            Path("schema.toml").write_text(schema, encoding="utf-8")
            encoder = Encoder.from_toml("schema.toml")
            assert encoder == Encoder.from_table(tomllib.loads(schema))
            encoded = encoder({"age": 90, "hour": 23, "country": "ES", "city": None})
            values = dict(zip(encoder.names, encoded, strict=True))
            assert values["country is unknown"] == pytest.approx(6**-0.5)
            assert f"at most {MOST_WORDS:,} of them" in text
        case "docs/notebooks.md":
            assert found.again.table().rows == found.study.table().rows
            assert found.found.mean > 0
            assert Path("mine.html").stat().st_size > 100_000
            (shown,) = re.findall(r"```\n<(.*)…>\n", text)
            assert f"<{shown}"[:60] in repr(found.one)
            assert all("<img" in figure._repr_html_() for figure in (found.result, found.best))
            for owner, kind in (("result", dw.Result), ("study", FinishedStudy)):
                for method in re.findall(rf"`{owner}\.(\w+)\(", text):
                    assert callable(getattr(kind, method)), method
        case "docs/online-bandits.md":
            assert found.restored.summary().pending == found.bandit.summary().pending - 1 == 0
            with pytest.raises(ValueError, match="was rewarded already"):
                found.bandit.learn(found.waiting[1].id, 0.3)
            assert (LARGEST_FEATURE, LARGEST_REWARD) == (1e6, 1e100)
            assert "Features beyond ±1e6 and rewards beyond ±1e100 are refused" in text
            bandit = Bandit("greedy", dim=2)
            for _ in range(10_001):
                bandit.decide([[1.0, 0.0]])
            assert bandit.summary().pending == 10_000
        case "docs/online-episodes.md":
            assert found.result.returns[-20:].mean() > 0.9
        case "docs/production.md":
            service, restarted = found.service.bandit, found.restarted.bandit
            assert bits(service.state) == bits(restarted.state)
            assert service.pending() == restarted.pending()
            assert service.summary().decisions == 120
            assert load(found.service.path).summary().decisions == 81
            cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
            assert set(re.findall(r"`(\w+)`", " ".join(cells))) == {field.name for field in fields(Summary)}
        case "docs/replay.md":
            assert found.fast.differences["logged"]["running"].low >= -1
            assert replay(DecisionLog("decisions.jsonl"), {"uniform": {}}).rows == 1
            (options,) = blocks(text, "toml")
            Path("replay.toml").write_text(options, encoding="utf-8")
            columns = "--action article --reward click --features age,y --propensity chance"
            assert main(["replay", "log.csv", *columns.split(), "--options", "replay.toml"]) == 0
            assert f"`dim` is at most {MAX_WEIGHTS}" in text
            assert f"at a level of {INDEPENDENCE_LEVEL:g}" in text
        case "docs/robust.md":
            (table,) = blocks(text, "toml")
            environment: Any = make_environment("environment", tomllib.loads(table)["environment"], 50)
            assert environment.corruption == WrongUnit(0.01, -1.0)
        case "docs/scenarios.md":
            assert printed.endswith("(166, 333)\n")
            assert len(found.mine.values) == len(found.played.values) == found.scenario.rounds
            assert all(contestants.policy_named("mine", kind) for kind in contestants.POLICY_SETS)
            assert len(found.swum.values) == found.river.rounds
        case "docs/scikit-learn.md":
            assert found.found["forgetting"] != 1.0
            assert found.mean.shape == found.std.shape == (5,)
            assert found.arms.tolist() == [2, 0]


@pytest.mark.parametrize("name", WITH_BASH)
def test_shells_and_the_command_line_take_the_commands_of_a_page(name):
    for block in blocks(PAGES[name], "bash"):
        subprocess.run(["bash", "-n"], input=block, text=True, check=True)
        for words in command_lines(block):
            parse(words)


@pytest.mark.parametrize("name", WITH_TOML)
def test_tables_of_a_page_are_those_of_an_experiment(name, tmp_path):
    for block in blocks(PAGES[name], "toml"):
        given = tomllib.loads(block)
        kind = "combination_lock" if "drift" in given.get("environment", {}) else "russac_abrupt"
        whole = copy.deepcopy(EXPERIMENT) | {"environment": {"type": kind}}
        for key, value in given.items():
            whole[key] = whole.get(key, {}) | value if isinstance(value, dict) else value
        (tmp_path / "whole.toml").write_text(tomli_w.dumps(whole), encoding="utf-8")
        assert prepare(load_experiment(tmp_path / "whole.toml")).groups


def test_the_cluster_of_a_page_is_yaml_with_a_head_and_workers():
    yaml = pytest.importorskip("yaml", reason="Ray brings it")
    (block,) = blocks(PAGES["docs/scale-out.md"], "yaml")
    cluster = yaml.safe_load(block)["spec"]["rayClusterSpec"]
    assert {"headGroupSpec", "workerGroupSpecs"} < {*cluster}


def test_examples_that_pages_start_are_there():
    started = [word for page in PAGES.values() for word in page.split() if word.startswith("examples/")]
    for path in (word for word in started if word.endswith(".py")):
        assert (ROOT / path).is_file(), path


def test_links_between_pages_reach_a_page_and_a_heading():
    for page in (*DOCS.glob("**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("examples/**/README.md")):
        for link, anchor in re.findall(r"\]\(((?!http)[^)#\s]*)#?([^)\s]*)\)", page.read_text("utf-8")):
            target = (page.parent / link) if link else page
            assert target.exists(), (page.name, link)
            if anchor:
                lines = target.read_text("utf-8").splitlines()
                anchors = [heading_anchor(line) for line in lines if line.startswith("#")]
                assert anchor in anchors, (page.name, anchor)


def heading_anchor(line: str) -> str:
    return re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")


def test_the_page_of_algorithms_says_which_bounds_are_about_another_clip_than_the_default():
    ((named, bounds, default),) = re.findall(
        r"^Bounds of (.*?)\s+are about `clip=\"(\w+)\"`; the default is the papers' `clip=\"(\w+)\"`",
        PAGES["docs/algorithms.md"],
        re.MULTILINE | re.DOTALL,
    )
    bounded = [own for own in ALGORITHMS.values() if own.problem == "linear MDP" and own.bound != "none"]
    parameters = {own.name: inspect.signature(own.recipe).parameters for own in bounded}
    clips = {name: own["clip"].default for name, own in parameters.items() if "clip" in own}
    assert {*re.findall(r"`(\w+)`", named)} == {name for name in clips if clips[name] == default}
    options = [bound.options for bound in BOUNDS.values() if "clip" in bound.options]
    assert {option["clip"] for option in options} == {bounds}


def test_drifts_commands_algorithms_and_pictures_of_the_readme_exist():
    readme = PAGES["README.md"]
    for name in ("Constant", "Abrupt", "Gradual", "Periodic", "RandomWalk"):
        assert f"`{name}`" in readme
        assert isinstance(getattr(dw.drift, name), type)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", readme, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    rows = re.findall(r"^\| ([\w ]+) \| (`.*?) \| \[", readme, re.MULTILINE)
    assert {name for _, cell in rows for name in re.findall(r"`(\w+)`", cell)} <= {*ALGORITHMS}
    families = {algorithm.problem for algorithm in ALGORITHMS.values()}
    assert families <= {problem for problem, _ in rows} | {"any"}
    pictures = re.findall(r'src(?:set)?="([^"]+)"', readme)
    stems = [f"{name}-{theme}" for name in ("regret", "control") for theme in ("dark", "light")]
    assert sorted(Path(picture).stem for picture in pictures) == sorted(stems)
    assert all((ROOT / picture).read_text(encoding="utf-8").startswith("<?xml") for picture in pictures)


def test_every_tutorial_is_in_the_index():
    index = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\(([\w-]+\.md)\)", index)) == [page.name for page in TUTORIALS]


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_in_an_empty_folder_and_ends_with_a_figure(page, tmp_path, monkeypatch):
    jupytext = pytest.importorskip("jupytext", reason="needs `docs`")
    nbclient = pytest.importorskip("nbclient", reason="needs `docs`")
    commands = Path(sys.executable).parent  # where `driftwise` is
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    notebook = jupytext.read(page)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
    assert any("image/png" in output.get("data", {}) for output in last.outputs)


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


COMPLETED = {"ru": ["run"], "run qu": ["quickstart"], "validate quick": ["quickstart"]}
COMPLETED["list al"] = ["algorithms"]
COMPLETED |= {"show opt_w": ["opt_wlsvi", "opt_wlsvi_borl"], "run --ep": ["--episodes"]}
COMPLETED |= {"run mine.t": [""]}  # files are left to the shell


@pytest.mark.parametrize("words", COMPLETED)
def test_shells_complete_commands_options_and_names(words, capsys, monkeypatch):
    monkeypatch.setenv("_DRIFTWISE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"driftwise {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    with pytest.raises(SystemExit, match="0"):
        main([])
    assert capsys.readouterr().out.removesuffix("\n").split("\n") == COMPLETED[words]
