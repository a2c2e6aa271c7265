"""What the README says is true."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import driftwise as dw
from driftwise.algorithms import ALGORITHMS
from driftwise.theory.bounds.catalogue import BOUNDS
from tests.documented import blocks

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
ALL_ALGORITHMS = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")


def test_examples_run_in_order_and_give_what_their_comments_say() -> None:
    names: dict[str, Any] = {}
    shapes = []
    first, *others = blocks(README, "python")
    assert len(first.splitlines()) <= 10
    for block in (first, *others):
        exec(block, names)
        shapes.append(names["result"].cumulative_regret.shape)
    assert shapes == [(8, 1000)] + [(2, 3, 8, 200)] * 3
    assert names["result"].axes == ("radius", "rate", "run", "episode")
    assert names["best"].num_runs == 6
    assert names["decision"].arm in range(3)
    assert isinstance(names["agent"].forgetting, dw.forgetting.ExponentialWeights)
    assert names["variation"] == names["env"].variation(1000).total > 0
    assert names["mine"].spec == dw.Spec(num_states=2, num_actions=2, dim=4, horizon=1)


def test_the_page_of_algorithms_says_which_bounds_are_about_another_clip_than_the_default() -> None:
    ((named, bounds, default),) = re.findall(
        r"^Bounds of (.*?)\s+are about `clip=\"(\w+)\"`; the default is the papers' `clip=\"(\w+)\"`",
        ALL_ALGORITHMS,
        re.MULTILINE | re.DOTALL,
    )
    clips = {
        name: parameters["clip"].default
        for name, algorithm in ALGORITHMS.items()
        if "clip" in (parameters := inspect.signature(algorithm.recipe).parameters)
        and (algorithm.problem, algorithm.bound != "none") == ("linear MDP", True)
    }
    assert {*re.findall(r"`(\w+)`", named)} == {name for name in clips if clips[name] == default}
    options = [each.options for each in BOUNDS.values() if "clip" in each.options]
    assert {each["clip"] for each in options} == {bounds}


def test_drifts_and_commands_it_names_exist() -> None:
    for name in ("Constant", "Abrupt", "Gradual", "Periodic", "RandomWalk"):
        assert f"`{name}`" in README
        assert isinstance(getattr(dw.drift, name), type)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for link in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / link).exists(), link


def test_algorithms_of_its_short_table_exist_and_every_family_is_there() -> None:
    rows = re.findall(r"^\| ([\w ]+) \| (`.*?) \| \[", README, re.MULTILINE)
    named = {name for _, cell in rows for name in re.findall(r"`(\w+)`", cell)}
    assert named <= {*ALGORITHMS}
    assert {each.problem for each in ALGORITHMS.values()} <= {problem for problem, _ in rows} | {"any"}


def test_its_pictures_are_there_for_light_and_dark_pages() -> None:
    pictures = re.findall(r'src(?:set)?="([^"]+)"', README)
    assert [Path(each).stem for each in pictures] == ["regret-dark", "regret-light"]
    assert all((ROOT / each).read_text(encoding="utf-8").startswith("<?xml") for each in pictures)
