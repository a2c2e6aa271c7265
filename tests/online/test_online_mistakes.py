"""Whatever comes in: it is taken, or refused in one sentence, and then nothing has changed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_np

from driftwise.base import ArgumentError, resources
from driftwise.online import Bandit, EpisodicAgent
from tests.online.streams import bits, lead, make, numbered

DIM = 3
NAMES = ["d_lin_ucb", "sw_lin_ucb", "d_lin_ts", "borl", "change_detection"]  # each way through a decider


def everything(bandit: Bandit) -> Any:
    """All that a mistake could have changed."""
    return bits(bandit.state), bandit.summary(), sorted(bandit._pending.waiting)


def attempt(bandit: Bandit, call: Any, *arguments: Any) -> bool:
    """Whether it went through; if not, all is as before and the sentence begins with the argument's name."""
    before = everything(bandit)
    try:
        call(*arguments)
    except (ValueError, FloatingPointError) as error:
        sentence = str(error)
    else:
        return True
    assert sentence.startswith(("features must ", "reward must ", "id must ", "agent: "))
    assert everything(bandit) == before
    return False


shapes = st_np.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
numbers = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1e-300, 1e-8, 1e5, 1e308])
arrays = st.one_of(
    st_np.arrays(np.float64, shapes, elements=numbers),
    st_np.arrays(np.float64, st.tuples(st.integers(0, 4), st.just(DIM)), elements=numbers),
    st_np.arrays(np.float32, st.tuples(st.integers(1, 4), st.just(DIM)), elements=st.floats(-1, 1, width=32)),
    st_np.arrays(np.int64, st.tuples(st.integers(1, 4), st.just(DIM))),
    st_np.arrays(np.bool, st.tuples(st.integers(1, 4), st.just(DIM))),
)
rewards = numbers | st.integers() | st.none() | st.text(max_size=3) | st.booleans()
ids = st.integers(-2, 12) | st.floats(0, 9) | st.none() | st.text(max_size=2)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None)
@given(steps=st.lists(st.tuples(arrays, ids, rewards), min_size=1, max_size=6))
def test_what_is_refused_changes_nothing_and_what_is_taken_can_be_gone_on_with(name, steps):
    bandit = make(name, max_pending=4, expire_after=6)
    lead(bandit, 5, seed=0)
    for features, number, reward in steps:
        attempt(bandit, numbered, bandit, features)
        attempt(bandit, bandit.learn, number, reward)
    summary = bandit.summary()
    assert np.isfinite([summary.recent_error, summary.recent_bonus, summary.drift]).all()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(scale=st.sampled_from([1e-160, 1e-12, 1e-3, 1.0, 1e3, 1e6]), seed=st.integers(0, 99))
def test_any_scale_of_features_gives_a_decision_or_a_sentence(name, scale, seed):
    bandit, rng = make(name), np.random.default_rng(seed)
    for _ in range(4):
        features = scale * rng.uniform(-1, 1, size=(4, DIM))
        if attempt(bandit, numbered, bandit, features):
            bandit.learn(bandit.summary().decisions - 1, float(rng.normal()))


@pytest.mark.parametrize("name", [*NAMES, "adaptive_lin_ucb"])
def test_the_layout_and_type_of_an_array_make_no_difference(name):
    features = np.random.default_rng(0).integers(-3, 4, size=(4, DIM))
    as_given = [
        features.astype(np.float64),
        features,
        features.astype(np.float32),
        np.asfortranarray(features, dtype=np.float64),
        np.repeat(features.astype(np.float64), 2, axis=1)[:, ::2],
        features.astype(np.float64)[::-1][::-1],
        features.astype(">f8"),
        np.frombuffer(b"." + features.astype(float).tobytes(), np.uint8)[1:].view(float).reshape(4, 3),
        features.tolist(),
    ]
    decisions, states = [], []
    for each in as_given:
        bandit = make(name)
        decisions.append(numbered(bandit, each))
        bandit.learn(decisions[-1].id, 0.5)
        states.append(bits(bandit.state))
    assert all(each == decisions[0] for each in decisions)
    assert all(each == states[0] for each in states)


def test_numbers_of_numpy_and_booleans_are_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"price": [0.5, 0.25], "kind": ["a", "b"]})
    dummies = pandas.get_dummies(frame)  # a column of numbers and two of booleans
    plain, typed = make(), make()
    usual: Any = (dummies.to_numpy(float), np.eye(DIM), 7, (1.0, 0.5, 0.0))
    others: Any = (dummies, np.eye(DIM, dtype=bool), np.int64(7), (True, np.float32(0.5), np.bool_(False)))
    for bandit, (features, more, id, rewards) in ((plain, usual), (typed, others)):
        for arms, number, reward in zip((features, more, more), (id, id + 1, id + 2), rewards, strict=True):
            bandit.decide(arms, id=number)
            bandit.learn(number, reward)
    assert bits(plain.state) == bits(typed.state)


EPISODIC: dict[str, Any] = dict(features=np.eye(4).reshape(2, 2, 4), horizon=5, radius=1.0)


@pytest.mark.parametrize(
    ("make_large", "named"),
    [
        (lambda: Bandit("sw_lin_ucb", noise_scale=0.1, dim=5, length=10**12), "length=1000000000000"),
        (lambda: Bandit("d_lin_ucb", noise_scale=0.1, dim=10**7, rate=0.9), "dim=10000000"),
        (lambda: EpisodicAgent("sw_lsvi_ucb", length=10**12, **EPISODIC), "length=1000000000000"),
    ],
)
def test_an_agent_that_does_not_fit_into_memory_is_refused(make_large: Any, named: str) -> None:
    with pytest.raises(ArgumentError, match=f"agent must fit into the .* that are free, got .*{named}"):
        make_large()


def test_a_state_of_zeros_has_to_fit_before_it_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "free_memory", lambda: 1000)
    with pytest.raises(ArgumentError, match=r"agent must fit into the 1000 bytes .* got .* KiB for LeastSq"):
        Bandit("sw_lin_ucb", dim=5, length=100, noise_scale=0.1)


def test_clicks_and_counts_have_the_range_of_their_link():
    clicks, counts = (
        Bandit("d_glb_omd", dim=2, norm_bound=1.0, rate=0.9, link=link) for link in ("logistic", "log")
    )
    first, second = clicks.decide(np.eye(2)), counts.decide(np.eye(2))
    with pytest.raises(ValueError, match=r"^reward must lie in reward_range, from 0 to 1, got 7\.0$"):
        clicks.learn(first.id, 7.0)
    with pytest.raises(ValueError, match=r"^reward must lie in reward_range, from 0 to"):
        counts.learn(second.id, -1.0)
    assert (clicks.learn(first.id, 1.0), counts.learn(second.id, 7.0)) == ("learnt", "learnt")
    clipped = Bandit("d_glb_omd", dim=2, norm_bound=1.0, rate=0.9, outside="clip")
    clipped.learn(clipped.decide(np.eye(2)).id, 7.0)
    assert clipped.summary().outside == 1


def test_a_save_into_a_folder_that_is_not_there_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        Bandit(dim=2).save(tmp_path / "nowhere" / "agent.safetensors")
    assert raised.value.filename == str(tmp_path / "nowhere" / "agent.safetensors")


@pytest.mark.parametrize("algorithm", ["adaptive_lin_ucb", "adaptive_glb_omd"])
def test_a_wrong_radius_of_an_adaptive_bandit_is_named_as_it_was_given(algorithm):
    with pytest.raises(ValueError, match=r"^radius must be a number of at least 0, got -1$"):
        Bandit(algorithm, dim=2, radius=-1)
