"""A manifest that was changed, or never was one, is refused in one sentence."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from driftwise.__main__ import main
from driftwise.experiments.results_folder import read_manifest
from tests.report_folders import make_folder, write

WRONG: dict[str, list[Any]] = {
    "experiment": [3, ["a"]],
    "seed": ["seven", 7.5, None, True],
    "num_runs": [[]],
    "config": [[], None],
    "config.episodes": ["many"],
    "config.runs": [None],
    "config.summary": [{}],
    "config.name": [None],
    "config.agents": [{"A": {"rate": [0.5, None]}}],
    "versions": ["0.1.0", None],
    "environments": [[], 3],
    "environments.lock": ["combination_lock"],
    "agents": [{}, "plain"],
    "agents.0": [None, "plain"],
    "agents.0.label": [3],
    "agents.0.environment": [None],
    "agents.0.point": [[0.9], {"rate": [0.9]}],
    "agents.0.parameters": [0.5],
    "agents.0.seconds": ["long"],
    "random_regret": [0.5, {"lock": "high"}],
}
OF_ANOTHER_KIND = [(path, value) for path, values in WRONG.items() for value in values]


def changed(facts: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(facts)
    *keys, last = (int(key) if key.isdigit() else key for key in path.split("."))
    table: Any = made
    for key in keys:
        table = table[key]
    table[last] = value
    return made


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(("path", "value"), OF_ANOTHER_KIND)
def test_a_manifest_of_another_kind_is_one_sentence_whoever_sealed_it(path, value, whole, tmp_path, capsys):
    facts = json.loads((whole / "manifest.json").read_text())
    write(tmp_path, changed(facts, path, value), pq.read_table(whole / "results.parquet"))
    for command in (["report", str(tmp_path)], ["compare", str(whole), str(tmp_path)]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"driftwise: error: {tmp_path / 'manifest.json'} is damaged: {path}")
        assert " must be " in said
        assert said.index("\n") == len(said) - 1


@pytest.mark.parametrize(
    "text", ["null", "3", '"format"', "[1]", '{"format": true}', '{"format": "3"}', "[" * 9**5]
)
def test_what_is_no_manifest_at_all_is_one_sentence(text, tmp_path):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ValueError, match=r"manifest\.json is damaged: it (has no format|is not JSON)"):
        read_manifest(tmp_path)


def test_every_flipped_bit_of_a_manifest_is_noticed(whole, tmp_path):
    content = (whole / "manifest.json").read_bytes()
    (tmp_path / "manifest.json").write_bytes(content)
    assert read_manifest(tmp_path)["seed"] == 7
    for place in np.random.default_rng(0).choice(8 * len(content), size=500, replace=False):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        (tmp_path / "manifest.json").write_bytes(flipped)
        with pytest.raises(ValueError, match=r"manifest\.json (is damaged|has format)"):
            read_manifest(tmp_path)


@pytest.mark.parametrize(("old", "new"), [(b'"seed": 7', b'"seed": 8'), (b'"format": 3', b'"format": 2')])
def test_another_seed_or_format_does_not_pass(old, new, whole, tmp_path):
    content = (whole / "manifest.json").read_bytes()
    assert content.count(old) == 1
    (tmp_path / "manifest.json").write_bytes(content.replace(old, new))
    with pytest.raises(ValueError, match="its content is not what it was written with"):
        read_manifest(tmp_path)


def test_folders_of_earlier_formats_are_read_without_the_seal(whole, tmp_path):
    facts = json.loads((whole / "manifest.json").read_text())
    (tmp_path / "results.parquet").write_bytes((whole / "results.parquet").read_bytes())
    for format, seals in ((2, {"results.parquet": facts["sha256"]["results.parquet"]}), (1, None)):
        older = {**facts, "format": format, "sha256": seals}
        if seals is None:
            del older["sha256"]
        (tmp_path / "manifest.json").write_text(json.dumps(older))
        assert main(["report", str(tmp_path), "--format", "csv"]) == 0
