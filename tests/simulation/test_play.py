"""The step-by-step engine: states that stay as they were, and arguments that are checked at once."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false

import copy
import re

import numpy as np
import pytest

import driftwise as dw
from driftwise.base.arrays import map_tree
from tests.examples import SPEC, agent, bandit_agent, make, make_bandit


@pytest.mark.parametrize("name", ["sw_lin_ucb", "dynamic_lin_ucb", "master_lin_ucb", "d_lin_ucb"])
def test_states_of_earlier_episodes_stay_as_they_were(name):
    carried, kept = [], []
    for played in dw.play(bandit_agent(name), make_bandit(), num_episodes=12):
        carried.append(copy.deepcopy(played.carry.state))
        kept.append((played.before, played.carry.state))
    for then, (_, own), (before, _) in zip(carried[:-1], kept[:-1], kept[1:], strict=True):
        map_tree(np.testing.assert_array_equal, then, own)
        map_tree(np.testing.assert_array_equal, then, before)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(num_episodes=0), "num_episodes must be a positive integer, got 0"),
        (dict(num_episodes=3, seed=-1), "seed must be an integer of at least 0, got -1"),
        (dict(num_episodes=3, agent="LinUCB"), "agent must be built by one of driftwise.algorithms"),
        (dict(num_episodes=3, agent=bandit_agent("lin_ucb")), f"agent must be built for {SPEC}"),
        (
            dict(num_episodes=3, agent=dw.algorithms.lsvi_ucb(SPEC, radius=(0.1, 0.2))),
            "radius must be a single number, got a grid, [0.1, 0.2]",
        ),
    ],
)
def test_bad_arguments_are_refused_before_the_first_episode(given, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        dw.play(**{"agent": agent("lsvi_ucb"), "environment": make(), **given})
