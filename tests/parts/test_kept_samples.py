"""A window keeps no more of a sample than it is made of."""

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms.algorithm import build
from driftwise.base import FeatureTable, Positions
from driftwise.base.types import Catalogue
from tests.examples import NUM_EPISODES, PARAMETERS, SPEC, agent, bandit_agent, make, make_bandit

NUMBER, PLACE = np.dtype(np.float64).itemsize, np.dtype(np.int32).itemsize


def slot_bytes(samples: tuple[np.ndarray | None, ...]) -> int:
    """Bytes that the ring takes for one sample."""
    return sum(array[0].nbytes for array in samples if array is not None)


@pytest.mark.parametrize(
    ("learner", "environment"),
    [(agent("sw_lsvi_ucb"), make()), (bandit_agent("sw_lin_ucb"), make_bandit())],
    ids=["states", "contexts"],
)
def test_numbers_of_rows_give_the_same_moments_as_features_kept_in_full(learner, environment):
    run = list(dw.play(learner, environment, NUM_EPISODES))
    in_full: Any = None
    for played in run:
        extras = (extra for extra in played.features.extras if not isinstance(extra, Catalogue))
        table = played.features._replace(extras=tuple(extras))
        in_full = learner.init(table) if in_full is None else in_full
        in_full = learner.update(in_full, table, played.plan, played.episode)
        for name in ("gram", "cross", "weight"):
            np.testing.assert_array_equal(getattr(played.carry.state, name), getattr(in_full, name))
    spec, kept = environment.spec, slot_bytes(run[-1].carry.state.memory.samples)
    assert kept == spec.horizon * (PLACE + NUMBER + PLACE) + NUMBER  # row, reward, successor; one count
    assert slot_bytes(in_full.memory.samples) == kept + spec.horizon * (spec.dim * NUMBER - PLACE)


def test_rows_of_a_catalogue_are_those_of_the_table_in_every_round_and_fresh_arms_have_none():
    tables = [played.features for played in dw.play(bandit_agent("uniform"), make_bandit(), 8)]
    assert len({table.values.tobytes() for table in tables}) > 1
    for table in tables:
        catalogue = table.get(Catalogue)
        np.testing.assert_array_equal(catalogue.rows[catalogue.numbers], table.values)
    assert dw.arms.FreshArms(4, 3).sampler(np.float64).draw(np.zeros(2, np.uint32)).find(Catalogue) is None


@pytest.mark.parametrize(
    ("name", "numbers"), [("ucbvi", 2), ("kernel_ucbvi", 1)]
)  # state and action, the pair
def test_windows_over_visits_do_not_grow_with_states_or_actions(name, numbers):
    options = {key: value for key, value in PARAMETERS[name].items() if key != "rate"}
    learner = build(SPEC, name, length=5, **options)
    size = SPEC.num_states * SPEC.num_actions
    table = FeatureTable(np.zeros((size, SPEC.dim)), extras=(Positions(np.zeros((size, 2))),))
    samples = learner.init(table).moments.memory.samples
    assert slot_bytes(samples) == SPEC.horizon * (numbers * PLACE + NUMBER + PLACE)
