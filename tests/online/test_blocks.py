"""Features in blocks are learnt from as blocks, with the numbers of full matrices."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from driftwise.online import Bandit
from driftwise.online.deciders import PlannedDecider, RoundDraws, compiled_mixture
from driftwise.online.deciders.blocks import FeatureBlocks
from driftwise.online.deciders.compiled_mixture import KERNEL, CompiledMixture
from tests.online.streams import bits

pytestmark = pytest.mark.skipif(KERNEL is None, reason="nothing was compiled when driftwise was installed")

Rng = np.random.Generator
ARMS, INNER = 4, 5  # of features in blocks


def one_hot(rng: Rng, num: int) -> np.ndarray:
    return np.eye(num)[rng.integers(num)]


def constant_and_category(rng: Rng) -> np.ndarray:
    """Return `[1, one-hot]` in a block for each arm."""
    return np.kron(np.eye(ARMS), np.append(1.0, one_hot(rng, INNER - 1)))


def two_categories(rng: Rng) -> np.ndarray:
    return np.kron(np.eye(2), np.concatenate([one_hot(rng, 6), one_hot(rng, 4)]))


def shared_and_own(rng: Rng) -> np.ndarray:
    """Return columns that all arms share, in front of a block for each, of which some are zero."""
    own = np.kron(np.eye(ARMS), rng.normal(size=INNER - 1) * (rng.uniform(size=INNER - 1) < 0.5))
    return np.column_stack([rng.normal(size=(ARMS, ARMS)), own])


def some_duplicates(rng: Rng) -> np.ndarray:
    """Return some of the arms, one of them twice, and an arm of zeros."""
    arms = np.kron(np.eye(ARMS), rng.normal(size=INNER))
    return np.vstack([arms[rng.permutation(ARMS)[[0, 0, 1]]], np.zeros(ARMS * INNER)])


def sometimes_dense(rng: Rng) -> np.ndarray:
    """Return blocks, and now and then an arm that joins two of them, or all."""
    arms = np.kron(np.eye(ARMS), rng.normal(size=INNER))
    if rng.uniform() < 0.2:
        arms[0] += arms[rng.integers(ARMS)]
    if rng.uniform() < 0.03:
        arms[1] = rng.normal(size=arms.shape[1])
    return arms


KINDS: dict[str, Callable[[Rng], np.ndarray]] = {
    "blocks": lambda rng: np.kron(np.eye(ARMS), rng.normal(size=INNER)),
    "one-hot columns": lambda rng: np.eye(ARMS * INNER)[rng.permutation(ARMS * INNER)[:ARMS]],
    "constant and category": constant_and_category,
    "two categories": two_categories,
    "shared and own": shared_and_own,
    "some, duplicates and zeros": some_duplicates,
    "sometimes dense": sometimes_dense,
}


@pytest.fixture(autouse=True)
def few_dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let blocks be kept in few dimensions, whatever they cost."""
    monkeypatch.setattr(compiled_mixture, "MIN_BLOCKS_DIM", 2)
    monkeypatch.setattr(compiled_mixture, "largest_cost", lambda dim: dim**3)


def pair(name: str, **options: Any) -> tuple[Bandit, Bandit]:
    """Return a bandit that keeps blocks, and one by the definition."""
    fast, slow = (Bandit(name, dim=ARMS * INNER, seed=3, shortest=4, longest=64, **options) for _ in range(2))
    slow._decider = PlannedDecider(slow.agent, RoundDraws(3), options.get("num_draws", 1))
    return fast, slow


def lead(bandits: tuple[Bandit, ...], kind: str, num: int, seed: int, *, late: bool, noise: float) -> None:
    """Lead bandits through the same rounds, and compare all that they say."""
    rng, theta, waiting = np.random.default_rng(seed), np.linspace(-3, 3, ARMS * INNER), list[Any]()
    first = bandits[0]._pending.num_decisions
    for t in range(first, first + num):
        arms = KINDS[kind](rng)
        decisions = [bandit.decide(arms, id=f"{seed}.{t}") for bandit in bandits]
        for decision in decisions:
            assert decision.arm == decisions[0].arm
            for field in ("scores", "probabilities"):
                given = (getattr(each, field) for each in (decision, decisions[0]))
                np.testing.assert_allclose(*given, rtol=1e-9, atol=1e-9)
        drift = -1 if t - first > num / 2 else 1
        reward = float(drift * arms[decisions[0].arm] @ theta + noise * rng.normal())
        waiting.append((decisions[0].id, reward))
        if late and t % 4 == 0:
            continue
        id, reward = waiting.pop(int(rng.integers(len(waiting)))) if late else waiting.pop()
        for bandit in bandits:
            bandit.learn(id, reward)


def keeps_blocks(bandit: Bandit) -> bool:
    mixture: Any = bandit._decider
    return isinstance(mixture._mixture, CompiledMixture) and mixture._mixture.blocks is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize("name", ["adaptive_lin_ucb", "adaptive_lin_ts"])
def test_blocks_decide_as_the_definition(name: str, late: bool, kind: str) -> None:
    """Through resets of weights, and with hardly any noise, so that the learnt prior is the wider one."""
    bandits = pair(name)
    for seed, noise in enumerate((1.0, 1e-3)):
        lead(bandits, kind, 60, seed, late=late, noise=noise)
        expired = {bandit.renew(np.arange(INNER, 2 * INNER)) for bandit in bandits}
        assert len(expired) == 1
    assert keeps_blocks(bandits[0])


@pytest.mark.parametrize("kind", KINDS)
def test_looking_changes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, alone = (pair("adaptive_lin_ucb")[0] for _ in range(2))

    def look(*given: Any, decide: Callable[..., Any] = seen.decide, **options: Any) -> Any:
        seen.scores(np.ones((2, ARMS * INNER)))
        assert bits(seen.state) == bits(Bandit.from_bytes(seen.to_bytes()).state)
        return decide(*given, **options)

    monkeypatch.setattr(seen, "decide", look)
    lead((seen, alone), kind, 60, 0, late=True, noise=0.1)
    assert bits(seen.state) == bits(alone.state)


@pytest.mark.parametrize("draws", [dict(num_draws=5), {}], ids=["many draws", "one draw"])
def test_blocks_that_cost_too_much_become_full_matrices(draws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_mixture, "largest_cost", lambda dim: 2 * dim)
    fast, slow = pair("adaptive_lin_ts", **draws)
    assert keeps_blocks(fast)
    lead((fast, slow), "blocks", 40, 0, late=True, noise=0.1)
    assert not keeps_blocks(fast)


def test_blocks_of_arms_and_of_categories_are_found() -> None:
    """Costs are of the blocks, in the order of the sizes of which they are made."""
    rng, num, size = np.random.default_rng(0), 20, 12
    dim = num * size + 1
    found: dict[str, FeatureBlocks] = {}
    for name in ("arms", "categories"):
        blocks, changes = FeatureBlocks(np.eye(dim, dtype=bool)), 0
        for _ in range(40 * num):
            features = np.ones(dim)
            first = size * rng.integers(num)
            inner = rng.normal(size=size) if name == "arms" else np.append(1.0, one_hot(rng, size - 1))
            features[:-1], features[first : first + size] = 0.0, inner
            if not blocks.covers(features):
                blocks, changes = blocks.extended(), changes + 1
        assert changes <= 7 * num
        found[name] = blocks
    assert found["arms"].cost < num * (size + 1) ** 3 / 5
    assert found["categories"].cost < 6 * dim


def test_any_relation_has_blocks_that_cover_it() -> None:
    rng = np.random.default_rng(1)
    for density, in_order in itertools.product((0.0, 0.02, 0.1, 0.3, 1.0), (False, True)):
        for dim in (1, 2, 7, 30):
            met = np.tril(rng.uniform(size=(dim, dim)) < density)
            met = met | met.T | np.eye(dim, dtype=bool)
            blocks = FeatureBlocks(met, in_order=in_order)
            assert blocks.covers_all(met)
            assert sorted(blocks.layout[0]) == [*range(dim)]
            KERNEL(
                *[np.ones(1)] * 3,
                np.eye(dim)[None],
                None,
                np.zeros((1, dim)),
                np.zeros((6, 1)),
                np.zeros(1),
                blocks.layout,
                1.0,
            )
