"""The registry: signatures of recipes and of their tuned forms."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import inspect
import pickle
import pydoc
from typing import Annotated, Any, TypedDict, Unpack

import pytest

from driftwise.algorithms import ALGORITHMS, d_lin_ucb, lsvi_ucb, opt_wlsvi, swucrl2_cw, ucbvi, uniform
from driftwise.algorithms.registry import register
from driftwise.base.agent import Agent
from driftwise.base.arguments import call_text, signature, with_defaults
from driftwise.base.types import Spec
from tests.examples import BANDIT, SPEC


class Group(TypedDict, total=False):
    size: Annotated[int, 3]
    kind: Annotated[str | None, None]


def takes_a_group(spec: Any, *, own: float, **group: Unpack[Group]) -> dict[str, Any]:
    return with_defaults(Group, group)


def test_a_group_of_keywords_is_part_of_the_signature_with_its_defaults():
    _, _, size, kind = signature(takes_a_group).parameters.values()
    assert (str(size), str(kind)) == ("size: int = 3", "kind: str | None = None")
    assert takes_a_group(None, own=1.0, kind="x") == {"size": 3, "kind": "x"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_signatures_name_every_keyword_of_a_recipe_and_of_its_tuned_form(name):
    algorithm = ALGORITHMS[name]
    for maker in (algorithm, algorithm.recipe, algorithm.tuned):
        first, *options = inspect.signature(maker).parameters.values()
        assert first.name in ("spec", "base")
        assert {each.kind for each in options} <= {inspect.Parameter.KEYWORD_ONLY}
    tuned = inspect.signature(algorithm.tuned).parameters
    assert list(tuned)[1:3] == ["num_episodes", "variation"]
    assert pickle.loads(pickle.dumps(algorithm)) is algorithm


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if not ALGORITHMS[name].wraps])
def test_every_tuned_form_refuses_what_is_no_run(name):
    tuned = ALGORITHMS[name].tuned
    needed = {
        each.name: None
        for each in inspect.signature(tuned).parameters.values()
        if each.default is each.empty and each.name not in ("spec", "num_episodes", "variation")
    }
    spec = BANDIT if ALGORITHMS[name].problem == "linear bandit" else SPEC
    with pytest.raises(ValueError, match=r"^num_episodes must be a positive integer, got 0$"):
        tuned(spec, num_episodes=0, variation=1.0, **needed)
    with pytest.raises(ValueError, match=r"^variation must be a number of at least 0, got -1"):
        tuned(spec, num_episodes=9, variation=-1.0, **needed)


def test_a_tuned_form_takes_the_keywords_of_the_tuning_and_the_options_it_leaves_open():
    assert list(inspect.signature(lsvi_ucb.tuned).parameters) == [
        "spec",
        "num_episodes",
        "variation",
        "delta",
        "beta_scale",
        "mu_bound",
        "ridge",
        "clip",
    ]
    assert lsvi_ucb.tuned(SPEC, num_episodes=9, ridge=2.0, clip="tight").ridge == 2.0
    parameters = inspect.signature(d_lin_ucb.tuned).parameters
    assert (parameters["tuning"].default, parameters["ridge"].default) == ("corrected", "one")
    assert (parameters["delta"].default, parameters["noise_scale"].default) == (0.05, None)
    assert "rate" not in parameters
    assert "confidence" not in parameters


def test_what_tuning_and_recipe_both_take_is_given_to_both():
    agent = ucbvi.tuned(SPEC, num_episodes=9, bonus="bernstein", steps="shared")
    assert (agent.bonus, agent.steps) == ("bernstein", "shared")
    assert inspect.signature(swucrl2_cw.tuned).parameters["num_episodes"].default is inspect.Parameter.empty


def test_mistaken_calls_name_the_form_that_was_called():
    with pytest.raises(TypeError, match=r"^d_lin_ucb\(\) got an unexpected keyword argument 'rte'$"):
        d_lin_ucb(BANDIT, rate=0.9, rte=0.9)
    missing = r"missing a required (keyword-only )?argument: 'num_episodes'$"  # Python's words differ
    with pytest.raises(TypeError, match=rf"^d_lin_ucb\.tuned\(\) {missing}"):
        d_lin_ucb.tuned(BANDIT, variation=1.0)
    with pytest.raises(ValueError, match=r"^spec must be a Spec, got 3$"):
        uniform.tuned(3)


def mine(spec: Spec, *, radius: float) -> Agent:
    return lsvi_ucb(spec, radius=radius)


def test_an_algorithm_may_be_registered_from_anywhere(monkeypatch):
    monkeypatch.setattr(mine, "__module__", "__main__")
    row = dict(forgetting="none", exploration="bonus", bound="none", paper="none")
    with pytest.raises(ValueError, match=r"^problem must be given for mine, which is in no family"):
        register(**row)(mine)
    try:
        assert register(**row, problem="linear MDP")(mine)(SPEC, radius=1.0) == lsvi_ucb(SPEC, radius=1.0)
    finally:
        ALGORITHMS.pop("mine", None)


def test_help_shows_the_signatures_of_both_forms_and_what_they_do() -> None:
    text = pydoc.plain(pydoc.render_doc(opt_wlsvi))
    for piece in (
        call_text("opt_wlsvi", opt_wlsvi),
        "Optimistic weighted least-squares value iteration.",
        call_text("opt_wlsvi.tuned", opt_wlsvi.tuned),
        "The rate of Corollary 1",
    ):
        assert piece in text
