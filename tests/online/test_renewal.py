"""Weights that begin anew leave what others know as it is."""

from typing import Any

import numpy as np
import pytest

from driftwise.base import Moments, Sample
from driftwise.online import Bandit, Outcome, load
from driftwise.online.renewal import renew_state
from driftwise.parts import SlidingWindow
from driftwise.parts.regression import empty_moments
from tests.online.streams import BANDITS, KNOWN, bits
from tests.reference.named_arms import EveryArm

SHARED, OWN, SLOTS, RIDGE = 2, 2, 3, 0.7
DIM = SHARED + SLOTS * OWN
SAMPLES_KEPT = {"sw_lin_ucb", "sw_lsvi_ucb", "bob", "adaptive", "glb_weight_ucb", "sc_d_glucb"}


def row(shared: np.ndarray, own: np.ndarray, slot: int) -> np.ndarray:
    blocks = np.zeros((SLOTS, OWN))
    blocks[slot] = own
    return np.concatenate([shared, blocks.ravel()])


def block(slot: int) -> np.ndarray:
    return SHARED + OWN * slot + np.arange(OWN)


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(-1, 1, size=SHARED) / 2, rng.uniform(-1, 1, size=OWN) / 2


def prediction(bandit: Bandit, features: np.ndarray) -> tuple[float, float]:
    """Estimate and width; the radius is 1."""
    decision = bandit.decide(features[None])
    return decision.index - decision.bonus, decision.bonus


@pytest.mark.parametrize("norm", ["single", "sandwich"])
def test_under_exponential_weights_it_is_exact_at_that_moment_and_never_narrower_later(norm):
    rng, rate, reference = np.random.default_rng(1), 0.9, EveryArm(SHARED, OWN, RIDGE)
    name = {"single": "weight_ucb", "sandwich": "d_lin_ucb"}[norm]
    bandit = Bandit(name, dim=DIM, radius=1.0, ridge=RIDGE, rate=rate)
    for _ in range(30):
        slot, (shared, own), reward = int(rng.integers(SLOTS)), drawn(rng), float(rng.normal())
        bandit.learn_from(row(shared, own, slot), reward)
        reference.learn(shared, own, f"arm {slot}", reward)
    bandit.renew(block(1))
    probes = [(slot, drawn(rng)) for slot in (0, 2, 1) for _ in range(4)]

    def compare() -> np.ndarray:
        """Estimates and widths, found and expected: `[probes, 2, 2]`."""
        made = []
        for slot, (shared, own) in probes:
            estimate, single, sandwich = reference.prediction(
                shared, own, f"arm {slot}" if slot != 1 else "", rate
            )
            expected = estimate, {"single": single, "sandwich": sandwich}[norm]
            made.append((prediction(bandit, row(shared, own, slot)), expected))
        return np.array(made)

    found = compare()
    np.testing.assert_allclose(found[:, 0], found[:, 1], rtol=0, atol=1e-10)
    for _ in range(8):
        slot, (shared, own), reward = int(rng.choice([0, 2])), drawn(rng), float(rng.normal())
        bandit.learn_from(row(shared, own, slot), reward)
        reference.learn(shared, own, f"arm {slot}", reward)
        if norm == "single":
            widths = compare()[:, :, 1]
            assert (widths[:, 0] >= widths[:, 1] - 1e-12).all()
            assert (widths[:, 0] > widths[:, 1] + 1e-6).any()


def made(name: str, seed: int, *, shared: bool) -> Bandit:
    """A bandit that has learnt from arms in slots, with shared features or without."""
    rng = np.random.default_rng(seed)
    bandit = Bandit(name, dim=DIM, seed=3, **KNOWN[name])
    for _ in range(12):
        common, own = drawn(rng)
        features = row(np.abs(common) * shared, np.abs(own), int(rng.integers(SLOTS)))
        bandit.learn(bandit.decide(features[None]).id, float(rng.uniform()))
    return bandit


def regressions(state: Any) -> list[Moments]:
    """All moments of a state that are of features."""
    if isinstance(state, Moments):
        return [state] if state.gram.shape[-1] == DIM else []
    return [each for part in state for each in regressions(part)] if isinstance(state, tuple) else []


def known(moments: Moments) -> dict[str, np.ndarray]:
    """What is known of all weights but those of slot 1: estimates, and the matrices of both norms."""
    rest, inverse = np.setdiff1d(np.arange(DIM), block(1)), np.linalg.inv(moments.gram)
    gram_sq = moments.gram if moments.gram_sq is None else moments.gram_sq
    return {
        "estimate": (inverse @ moments.cross)[..., rest, :],
        "single": inverse[..., rest[:, None], rest],
        "sandwich": (inverse @ gram_sq @ inverse)[..., rest[:, None], rest],
    }


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("name", BANDITS)
def test_what_an_algorithm_knows_of_other_weights_stays_or_it_is_refused(name, shared):
    """Those that keep samples can begin a block anew that stands alone in all of them."""
    bandit = made(name, 4, shared=shared)
    before = bandit.state
    if shared and name in SAMPLES_KEPT:
        with pytest.raises(ValueError, match=r"^algorithm must keep sums that weights can be removed from, "):
            bandit.renew(block(1))
        assert bits(bandit.state) == bits(before)
        return
    bandit.renew(block(1))
    empty = Bandit(name, dim=DIM, seed=3, **KNOWN[name]).state
    for old, new, none in zip(*map(regressions, (before, bandit.state, empty)), strict=True):
        for each, expected in known(old).items():
            np.testing.assert_allclose(known(new)[each], expected, rtol=0, atol=1e-11, err_msg=each)
        for each in ("gram", "gram_sq", "cross"):
            found, expected = getattr(new, each), getattr(none, each)
            if found is not None:
                np.testing.assert_array_equal(found[..., block(1), :], expected[..., block(1), :])
    others = row(np.full(SHARED, 0.2 * shared), np.array([0.5, 0.1]), 0)
    for _ in range(20):  # and goes on: what leaves a window leaves nothing behind
        bandit.learn(bandit.decide(others[None]).id, 0.5)
    for moments in regressions(bandit.state):
        np.testing.assert_array_equal(moments.cross[..., block(1), :], 0)
        assert np.linalg.eigvalsh(moments.gram).min() > 0


def test_what_a_window_has_of_cautious_samples_begins_anew_in_all_its_sums():
    window, one, share = SlidingWindow(4), np.ones(1), np.full(1, 0.5)
    rows = (row(np.zeros(SHARED), np.ones(OWN), slot)[None] for slot in (0, 1))
    other, own = (Sample(features, one, np.zeros(1, int), one, share) for features in rows)
    moments = window.init(empty_moments(own, 0, RIDGE, gram_sq=True), own)
    for sample in (own, other, own):
        moments = window.update(moments, sample)
    moments = window.update(renew_state(moments, block(1)), other)  # the sums since the last renewal are all
    for gram in (moments.gram, np.asarray(moments.gram_sq)):
        np.testing.assert_array_equal(gram[0][block(1)], RIDGE * np.eye(DIM)[block(1)])
        assert (gram[0][block(0)[0], block(0)] != [RIDGE, 0]).all()


def test_waiting_decisions_that_use_the_coordinates_expire_and_others_wait_on(tmp_path):
    bandit = Bandit("d_lin_ucb", dim=DIM, radius=1.0, rate=0.9)
    rows = [row(np.ones(SHARED) / 2, np.ones(OWN) / 2, slot) for slot in (0, 1, 2)]
    ids = [bandit.decide(each[None]).id for each in rows]
    assert bandit.renew(block(1)) == 1
    assert [each.id for each in bandit.pending()] == [ids[0], ids[2]]
    assert bandit.learn(ids[1], 1.0, strict=False) is Outcome.EXPIRED
    assert bandit.learn(ids[2], 1.0) is Outcome.LEARNT
    assert (bandit.summary().expired, bandit.summary().rewards) == (1, 1)
    bandit.save(tmp_path / "bandit.safetensors")
    restored = load(tmp_path / "bandit.safetensors")
    assert bits(restored.state) == bits(bandit.state)
    assert restored.learn(ids[1], 1.0, strict=False) is Outcome.EXPIRED


@pytest.mark.parametrize("given", [[], [DIM], [-1], [0.5], ["a"], None])
def test_coordinates_that_are_none_are_refused(given):
    bandit = Bandit("lin_ucb", dim=DIM, radius=1.0)
    with pytest.raises(ValueError, match=f"^coordinates must be integers from 0 to {DIM - 1}, got"):
        bandit.renew(given)


def test_a_state_that_nobody_knows_is_refused():
    state = made("lin_ucb", 0, shared=True).state
    with pytest.raises(ValueError, match="got one with a tuple, which is not known"):
        renew_state((state,), block(0))
    kept = state._replace(memory=np.zeros((1, 5, DIM)))
    with pytest.raises(ValueError, match="got one that keeps samples"):
        renew_state(kept, block(0))
    before = bits(state)
    renew_state(state, block(0))
    assert bits(state) == before  # which is not changed in place
