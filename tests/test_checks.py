"""The public contract checks: all that is registered keeps them."""

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import driftwise as dw
from driftwise.algorithms import ALGORITHMS, build
from driftwise.checks import ContractError, check_agent, check_environment
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, Environment, LinearMdp
from tests.examples import (
    BANDIT,
    BANDIT_PARAMETERS,
    DRIFTS,
    NUM_RUNS,
    PARAMETERS,
    SPEC,
    STATIONARY,
    agent,
    bandit_agent,
    fitting,
    make,
    make_bandit,
    nestings,
    wrapped,
)

# radii in units of theory's, small enough that the clip at H does not hide all
OPTIMISTIC = dict.fromkeys(("lsvi_ucb", "lsvi_ucb_restart", "sw_lsvi_ucb"), 0.03)
OPTIMISTIC |= {"matrix_rl": 0.07, "opt_wlsvi": 0.025}
STILL = dw.drift.Abrupt((10**9,), num_anchors=2)
OPTIMISTIC_BANDITS = ("d_lin_ucb", "lin_ucb", "oracle_restart", "restart_lin_ucb", "sw_lin_ucb", "weight_ucb")
NOISY = make_bandit(noise_scale=0.3)
BARE: dict[str, Any] = {  # where a maker has no defaults
    "linear_bandit": dict(arms=dw.arms.FreshArms(5, 3, fewest=2), path=dw.paths.Rotation(0.0, 1.0, 10, dim=3))
}
MOVING: dict[str, Any] = dict(drift=dw.drift.Abrupt((6,)), num_rounds=12)  # wherever a maker takes them


@functools.cache
def default(name: str) -> Environment:
    """With little but defaults, and a change within the first rounds."""
    taken = inspect.signature(ENVIRONMENTS[name]).parameters
    moving = {option: value for option, value in MOVING.items() if option in taken}
    return ENVIRONMENTS[name](**moving, **BARE.get(name, {}))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_keeps_its_contract(name):
    check_environment(default(name))


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_environments_keep_it_under_every_drift(drift):
    check_environment(make(drift=drift))
    check_environment(make_bandit(drift))


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_agent_keeps_its_contract(name):
    check_agent(agent(name), make(fitting(agent(name))[0]), num_runs=NUM_RUNS)


@pytest.mark.parametrize("name", BANDIT_PARAMETERS)
def test_every_agent_of_bandits_keeps_its_contract(name):
    check_agent(bandit_agent(name), NOISY, num_runs=NUM_RUNS)


def check_optimism(name: str, scale: float) -> None:
    if name in OPTIMISTIC:
        sizes: dict[str, Any] = dict(num_episodes=300, variation=0.0)
        tuned = ALGORITHMS[name].tuned(SPEC, **sizes, beta_scale=scale)
        still = make("latent_chains", STATIONARY)
    else:
        sizes = dict(num_episodes=60, variation=0.0, noise_scale=0.3, radius_scale=scale)
        known = dict(changes=()) if name == "oracle_restart" else {}
        tuned, still = ALGORITHMS[name].tuned(BANDIT, **sizes, **known), make_bandit(STILL, noise_scale=0.3)
    check_agent(tuned, still, optimistic=True, num_episodes=sizes["num_episodes"], num_runs=NUM_RUNS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scale"), [*OPTIMISTIC.items(), *((name, 0.5) for name in OPTIMISTIC_BANDITS)]
)
def test_optimism_is_kept_with_a_share_of_the_radius_of_theory(name, scale):
    check_optimism(name, scale)
    with pytest.raises(ContractError, match=r"^the value must be at least V\*"):
        check_optimism(name, scale / 10)


def test_optimism_that_shows_nothing_is_told_so():
    with pytest.raises(ContractError, match=r"^some value must be below H = 3 .*, got none below 3.0$"):
        check_optimism("lsvi_ucb", 1.0)


def pairs() -> Iterator[tuple[str, str]]:
    """Every algorithm and every environment that it is for."""
    for name, algorithm in ALGORITHMS.items():
        for environment in ENVIRONMENTS:
            here = default(environment)
            if isinstance(here, ContinuingMdp):
                continue  # in tests/test_average_reward.py
            bandit = not isinstance(here, LinearMdp)
            kinds = ("linear bandit",) if bandit else ("linear MDP", "tabular MDP", "metric MDP")
            if algorithm.problem in ("any", *kinds):
                yield name, environment


@pytest.mark.slow
@pytest.mark.parametrize(("name", "environment"), list(pairs()))
def test_every_agent_keeps_its_contract_everywhere(name, environment):
    here = default(environment)
    bandit = not isinstance(here, LinearMdp)
    given = (BANDIT_PARAMETERS if bandit else PARAMETERS)[name]
    made = build(here.spec, name, **given)
    try:
        here.to_arrays(needs=made.needs)
    except ValueError:
        with pytest.raises(ValueError, match="which the agent needs"):
            check_agent(made, here)
    else:
        check_agent(made, here, num_episodes=12)


@pytest.mark.slow
@pytest.mark.parametrize(("meta", "base"), nestings(ALGORITHMS))
def test_agents_in_agents_keep_the_contract(meta, base):
    if base in BANDIT_PARAMETERS:
        inner = build(BANDIT, meta, **wrapped(meta, base, BANDIT_PARAMETERS[base]))
        check_agent(inner, NOISY, num_episodes=20)
    if base in PARAMETERS:
        inner = build(SPEC, meta, **wrapped(meta, base, PARAMETERS[base]))
        check_agent(inner, make(fitting(inner)[0]), num_episodes=20)
