"""Episodic agents in the wild: whatever is passed to them, and the numbers to watch them by."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from driftwise.base import AnchorMeasures
from driftwise.online import EpisodicAgent
from driftwise.online.features import Custom, Fourier, PerAction
from tests.examples import PARAMETERS, SPEC, make
from tests.online.streams import bits
from tests.online.test_episodic import drawn_episodes, fitting_environment, led_through, online
from tests.online.test_episodic_memory import mapped

SUPPOSED = st.one_of(  # states and rewards that people may pass
    st.integers(-2, SPEC.num_states + 1),
    st.floats(),
    st.sampled_from([None, "1", True, 1j, np.int64(3), np.float32(0.5), np.array(2), [1, 2], {}, 10**400]),
    arrays.arrays(
        st.sampled_from([np.float64, np.int32, np.bool_, object]),
        arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3),
    ),
    st.just(np.zeros((2, 4))[:, ::2]),
)
CALLS = st.one_of(
    st.tuples(st.just("begin"), SUPPOSED),
    st.tuples(st.just("begin"), st.integers(0, SPEC.num_states - 1)),
    st.tuples(st.just("act")),
    st.tuples(st.just("observe"), SUPPOSED, SUPPOSED),
    st.tuples(st.just("observe"), st.floats(0, 1), st.integers(0, SPEC.num_states - 1)),
    st.tuples(st.just("end")),
)


def tried(call: Callable[..., Any], *arguments: Any) -> tuple[Any, str | None]:
    """What came of a call, and why it was refused, if it was."""
    try:
        return call(*arguments), None
    except (ValueError, RuntimeError) as error:
        return None, str(error)


def advance(learner: EpisodicAgent) -> int | None:
    """Whatever is due next; the action, if it is to act."""
    if not learner.under_way:
        return learner.begin(1)
    action, refused = tried(learner.act)
    if refused is not None:
        learner.observe(0.5, 2)
    return action


def counted() -> EpisodicAgent:
    return online("opt_wlsvi", make())


def on_a_line() -> EpisodicAgent:
    features = PerAction(Fourier((0.0,), (5.0,), order=2), 2)
    return EpisodicAgent("change_detection", features=features, horizon=2, memory=5, **META)


META = PARAMETERS["change_detection"]


@pytest.mark.parametrize("fresh", [counted, on_a_line])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(calls=st.lists(CALLS, min_size=1, max_size=25))
def test_whatever_is_refused_is_as_if_it_had_never_been_asked(fresh, calls):
    learner, twin = fresh(), fresh()
    for name, *arguments in calls:
        done, refused = tried(getattr(learner, name), *arguments)
        if refused is None:
            assert getattr(twin, name)(*arguments) == done
        else:
            assert " must " in refused
        assert advance(learner) == advance(twin)
    assert bits(learner.state) == bits(twin.state)
    assert learner.summary() == twin.summary()


ROWS = arrays.arrays(
    st.sampled_from([np.float64, np.float32, np.int8, np.bool_, np.complex128]),
    arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=ROWS, turned=st.booleans())
def test_whatever_a_feature_map_returns_it_is_rows_in_the_unit_ball_or_refused(rows, turned):
    here = {"rows": np.eye(2)}
    features = Custom(lambda _: here["rows"], num_actions=2, dim=2)
    learner = EpisodicAgent("opt_wlsvi", features=features, horizon=2, rate=0.9, radius=0.4, memory=4)
    learner.begin("first")
    learner.act()
    here["rows"] = rows.T if turned else rows
    fits = rows.shape == (2, 2) and rows.dtype.kind in "iuf" and np.isfinite(rows).all()
    with np.errstate(over="ignore"):
        fits = fits and np.square(here["rows"].astype(np.float64)).sum(axis=1).max() <= 1
    _, refused = tried(learner.observe, 0.5, "second")
    assert fits == (refused is None)
    if refused is None:
        learner.act()
        learner.observe(0.25, "third")
        assert learner.num_episodes == 1
        assert np.isfinite(learner.state.ring.ahead).all()
    else:
        assert refused.startswith("features")


def test_a_state_that_is_changed_afterwards_is_not_changed_here():
    rows = np.eye(2)
    features = Custom(lambda _: rows, num_actions=2, dim=2)
    learner = EpisodicAgent("opt_wlsvi", features=features, horizon=1, rate=0.9, radius=0.4, memory=4)
    learner.begin("first")
    rows[:] = 0.0
    learner.act()
    learner.observe(0.5, "second")
    assert learner.state.ring.features[0, 0].sum() == 1.0


def test_an_update_that_fails_leaves_the_step_to_be_observed_again(monkeypatch):
    learner, one = counted(), drawn_episodes(1)[0]
    learner.begin(0)
    for h in range(SPEC.horizon - 1):
        learner.act()
        learner.observe(one.rewards[h], int(one.successors[h]))
    learner.act()
    before = bits(learner.state)

    def fails(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(type(learner.agent), "update", fails)
        with pytest.raises(MemoryError):
            learner.observe(0.5, 0)
    assert learner.under_way
    assert bits(learner.state) == before
    learner.observe(0.5, 0)
    assert learner.num_episodes == 1


@pytest.mark.parametrize("make_learner", [lambda: online("opt_wlsvi", make()), lambda: mapped("opt_wlsvi")])
def test_how_numpy_treats_floating_point_errors_does_not_matter(make_learner):
    usual, strict = make_learner(), make_learner()
    for one in drawn_episodes(6):
        one = one._replace(rewards=one.rewards * 1e-310)  # products with features are rounded to less
        led_through(usual, one)
        with np.errstate(all="raise"):
            led_through(strict, one)
    assert bits(strict.state) == bits(usual.state)
    assert strict.summary() == usual.summary()


def test_the_order_in_memory_of_what_it_is_given_does_not_matter_to_files(tmp_path):
    environment = fitting_environment("oppo")
    file, features = tmp_path / "agent.safetensors", np.asfortranarray(environment.features)
    measures = np.asfortranarray(
        environment.to_arrays(needs=(AnchorMeasures,)).table.get(AnchorMeasures).array
    )
    learner = online("oppo", environment, features=features, known=dict(measures=measures))
    learner.save(file)
    assert bits(EpisodicAgent.load(file).state) == bits(learner.state)


def test_a_summary_says_what_was_learnt():
    learner = online("lsvi_ucb", make())
    fresh = learner.summary()
    assert (fresh.episodes, fresh.effective_samples, fresh.condition, fresh.drift) == (0, 0, 1, 0)
    errors, bonuses = [], []
    for one in drawn_episodes(9):
        taken = led_through(learner, one)
        at = np.arange(SPEC.horizon), one.states, taken
        plan = learner.plan
        ahead = [*plan.values[[1, 2], one.successors[:2]], 0.0]
        errors.append(np.abs(one.rewards + ahead - (plan.q[at] - plan.bonus[at])).mean())
        bonuses.append(plan.bonus[at].mean())
    summary = learner.summary()
    eigenvalues = np.linalg.eigvalsh(learner.state.gram)
    assert summary.effective_samples == 9
    assert summary.condition == pytest.approx((eigenvalues[:, -1] / eigenvalues[:, 0]).max())
    assert summary.recent_error == pytest.approx(np.mean(errors))
    assert summary.recent_bonus == pytest.approx(np.mean(bonuses))
