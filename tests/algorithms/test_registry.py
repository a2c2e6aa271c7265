"""The registry: signatures of recipes and of their tuned forms."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

import ast
import inspect
import pickle
import pydoc
from typing import Annotated, Any, TypedDict, Unpack

import pytest

from driftwise.algorithms import ALGORITHMS, build, d_lin_ucb, lsvi_ucb, opt_wlsvi, swucrl2_cw, ucbvi, uniform
from driftwise.algorithms.algorithm import register
from driftwise.base import Agent, Spec
from driftwise.base.schema import add_defaults, format_call, get_signature
from tests.examples import BANDIT, BANDIT_PARAMETERS, CONTINUING_PARAMETERS, PARAMETERS, SPEC, agent, refused


class Group(TypedDict, total=False):
    size: Annotated[int, 3]
    kind: Annotated[str | None, None]


def takes_a_group(spec: Any, *, own: float, **group: Unpack[Group]) -> dict[str, Any]:
    return add_defaults(Group, group)


def test_a_group_of_keywords_is_part_of_the_signature_with_its_defaults():
    _, _, size, kind = get_signature(takes_a_group).parameters.values()
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
    names = "spec num_episodes variation delta beta_scale mu_bound ridge clip"
    assert list(inspect.signature(lsvi_ucb.tuned).parameters) == names.split()
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
        format_call("opt_wlsvi", opt_wlsvi),
        "Optimistic weighted least-squares value iteration.",
        format_call("opt_wlsvi.tuned", opt_wlsvi.tuned),
        "The rate of Corollary 1",
    ):
        assert piece in text


# arguments of recipes, the others as in tests/examples.py, and what each has to be
OUTSIDE = """
a number of at least 0: q_ucb.scale=-0.1 restart_q_ucb.drift_bonus=-1 q_ucb_bernstein.variance_scale=-1
a number of at least 0: ucbvi.scale=-1 oppo.step_size=-1.0 oppo.radius=-1.0 opt_rlsvi.scale=-1.0
a number of at least 0: opt_rlsvi.upper=-0.5 lsvi_ucb_plus_plus.lower_radius=-1.0 cw_oful.corruption=-1.0
a number of at least 0: cw_oful.noise_scale=-0.5 dynamic_lin_ucb.noise_scale=-1 d_lin_ucb.noise_scale=-1
a number of at least 0: d_lin_ucb.radius=-1 d_lin_ucb.radius_scale=-2 d_lin_ts.scale=-1
a number above 0: q_ucb.log_term=0 ucbvi.log_term=0 kernel_ucbvi.bandwidth=0 kernel_ucbvi.bandwidth=-0.5
a number above 0: online_q_reps.learning_rate=0.0 online_q_reps.softness=-1.0 online_q_reps.ridge=0.0
a number above 0: cw_oful.alpha=0.0 d_glb_omd.norm_bound=0
a number in (0, 1]: d_lin_ucb.rate=1.5 robust_weight_ucb.rate=0.0 d_glb_omd.rate=1.1 ucrl2.delta=0.0
a number in (0, 1]: online_q_reps.exploration=0 dynamic_lin_ucb.delta=0 dynamic_lin_ucb.badness_delta=2
a number in [0, 1]: dynamic_lin_ucb.admit_share=1.5 random_restart.probability=2 covering_restart.forcing=2
a number in [0, 1]: detect_and_restart.forcing=2
a number in (0, 1): master.delta=1
a number above 0: master.regret_scale=0 master_lsvi_ucb.beta_scale=0 lin_ucb.tuned.ridge=-2.0
a number above 0: cw_oful.tuned.noise_scale=0.0 opt_rlsvi.tuned.upper_scale=0
a number of at least 0: master.test_scale=-1 oppo.tuned.beta_scale=-1
a number of at least 0 where no radius is given: d_lin_ucb.noise_scale=None lin_ucb.noise_scale=None
a positive integer: borl.num_episodes=0 borl.block_length=0 opt_wlsvi_borl.num_episodes=0
a positive integer: ada_lsvi_ucb_restart.block_length=paper detect_and_restart.num_episodes=0
a positive integer: covering_restart.num_episodes=0 ucrl_vtr.tuned.num_kernels=0
a list of steps: sw_ucrl.tuned.changes=3
an integer of at least 1: restart_q_ucb.period=0 restart_q_ucb_freedman.reference_after=0 sw_lin_ucb.length=0
an integer of at least 1: restart_lin_ucb.period=0 sw_lin_ucb.num_episodes=0 restart_lin_ucb.num_episodes=0
an integer of at least 1: dynamic_lin_ucb.window=0 ucrl_vtr_plus.period=0
an integer of at least 0: oppo.policy_period=-1 online_q_reps.period=-1 master.first_order=0.5
a positive integer: dynamic_lin_ucb.capacity=0 ucrl2.max_iterations=0 oracle_restart.changes=(3,0)
one of hoeffding, bernstein: ucbvi.bonus=freedman
one of uniform, published: sw_lin_ucb.confidence=publishd restart_lin_ucb.confidence=paper
one of count, determinant: lin_ucb.information=det restart_lin_ucb.information=det
one of folded, signed: d_rand_lin_ucb.sign=+
one of exact, resampled: online_q_reps.covariance=guess
one of identity, logistic, log: d_glb_omd.link=probit
one of published, corrected, orthogonal: d_lin_ucb.tuned.tuning=papr
one of none, exponential, window, restart: opt_rlsvi.tuned.forgetting=rate
one of unknown, known: lsvi_ucb_restart.tuned.local_variation=know
one of ours, paper_r1, paper_r2: kernel_ucbvi.tuned.tuning=mine
"""
# what tuned forms need besides the argument in question
RUN: dict[str, Any] = dict(num_episodes=100, variation=4.0, noise_scale=0.3, num_kernels=2, diameter=2.0)


CASES = [line.split(": ") for line in OUTSIDE.strip().splitlines()]


@pytest.mark.parametrize(("expected", "case"), [(kind, case) for kind, row in CASES for case in row.split()])
def test_arguments_outside_their_range_are_refused_by_name(expected, case):
    (name, *tuned, argument), text = case[: case.index("=")].split("."), case[case.index("=") + 1 :]
    value = ast.literal_eval(text) if text[-1].isdigit() or text[0] == "(" or text == "None" else text
    spec, known = agent(name).spec, (BANDIT_PARAMETERS | CONTINUING_PARAMETERS | PARAMETERS)[name]
    message = f"{argument} must be {expected}, got {0 if value == (3, 0) else value!r}"
    with refused(message):
        if tuned:
            taken = inspect.signature(ALGORITHMS[name].tuned).parameters
            run = {key: given for key, given in RUN.items() if key in taken}
            ALGORITHMS[name].tuned(spec, **{**run, argument: value})
        else:
            build(spec, name, **{**known, argument: value})
