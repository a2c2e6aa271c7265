"""A mixture of feature maps: the same bandit on features as given, with products, with Fourier features."""

import functools
import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.base import Agent, Array, Episode, FeatureTable, Key, Moments, Plan, Spec
from driftwise.base.arrays import map_tree, namespace
from driftwise.base.part import count, index_part, member, part
from driftwise.base.random import draw_normal, draw_uniform, fold, key
from driftwise.base.types import WaitingDecisions
from driftwise.base.validation import ArgumentError
from driftwise.parts import FixedShare

Expand = Literal["no", "auto", "products", "fourier"]
MapName = Literal["fourier", "products", "linear"]
MAX_PRODUCTS = 500  # features of a map with products
NUM_FREQUENCIES = 25  # random ones, each with a cosine and a sine
_SHORTEST, _LONGEST = 0.5, 2.0  # frequencies, in units of a standard normal vector
_PRODUCT_SCALE = 0.5  # all four were chosen on half of the streams of benchmarks/expand.py


class MapsState(NamedTuple):
    maps: tuple[MixtureState, ...]  # of the candidates
    log_weights: Array  # [M]
    tick: Array  # episodes learnt from


@functools.cache
def product_pairs(dim: int, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of coordinates that are multiplied, `i ≤ j` of one block."""
    size = dim // blocks
    first, second = np.triu_indices(size)
    starts = size * np.arange(blocks)[:, None]
    return (starts + first).ravel(), (starts + second).ravel()


@functools.cache
def random_frequencies(dim: int) -> np.ndarray:
    """Return random frequencies `[F, d]`, always the same: normal directions of lengths at all scales."""
    root = fold(key(0), dim)
    directions = draw_normal(fold(root, 0), NUM_FREQUENCIES * dim, np.float64).reshape(-1, dim)
    lengths = _SHORTEST * (_LONGEST / _SHORTEST) ** draw_uniform(fold(root, 1), NUM_FREQUENCIES, np.float64)
    return directions * lengths[:, None]


def map_features(name: MapName, features: Array, blocks: int = 1) -> Array:
    r"""Return features `[..., D]` of features `[..., d]`, which come first.

    `"products"` appends $x_i^2/2$ and $x_ix_j/\sqrt2$, whose inner product is $(x^\top y)^2/4$; `"fourier"`
    $(\cos\omega_k^\top x, \sin\omega_k^\top x)/\sqrt F$ for $F$ random $\omega_k$ (Rahimi & Recht 2007).
    """
    xp = namespace(features)
    if name == "products":
        first, second = product_pairs(features.shape[-1], blocks)
        scale = xp.asarray(_PRODUCT_SCALE * np.where(first == second, 1, math.sqrt(2)), dtype=features.dtype)
        return xp.concat([features, scale * features[..., first] * features[..., second]], axis=-1)
    if name == "fourier":
        frequencies = xp.asarray(random_frequencies(features.shape[-1]), dtype=features.dtype)
        phases, scale = features @ frequencies.T, 1 / math.sqrt(len(frequencies))
        return xp.concat([features, scale * xp.cos(phases), scale * xp.sin(phases)], axis=-1)
    return features


def mapped_dim(name: MapName, dim: int, blocks: int = 1) -> int:
    """Return the number of features that a map has."""
    size = dim // blocks
    added = {"products": blocks * size * (size + 1) // 2, "fourier": 2 * NUM_FREQUENCIES, "linear": 0}
    return dim + added[name]


def score_episode(
    agent: MixtureOfMemories, state: MixtureState, features: FeatureTable, plan: Plan, episode: Episode
) -> Array:
    """Return the logarithm of the density that the heaviest memory forecasts for a bandit's episode."""
    if agent.origin == "learnt":
        state = agent.set_origin(state, episode.features[0], episode.rewards[0])
        features = agent.extend_table(features, state.unit)
        extended = agent.extend(episode.features, state.unit)
        episode = episode._replace(features=extended, rewards=episode.rewards - state.origin)
    heaviest = state.log_weights.argmax()
    memory, base = index_part(agent.base, heaviest), map_tree(lambda leaf: leaf[heaviest], state.base)
    return agent.noise.score(state.noise.errors, memory.forecast(base, features, plan, episode))[0]


@part
class MixtureOfMaps(Agent):
    r"""Mixtures of memories on several maps of the features, weighed by how well they forecast.

    All learn from every reward. Before that, each map is scored by the logarithm of the density that its
    heaviest memory forecasts for the reward, Student's t with the noise that the map has learnt. The heaviest
    map decides. Maps that are None are left out; the weights are in the order of the fields.
    """

    spec: Spec = member(Spec)
    fourier: MixtureOfMemories | None = member(MixtureOfMemories, default=None)
    products: MixtureOfMemories | None = member(MixtureOfMemories, default=None)
    linear: MixtureOfMemories | None = member(MixtureOfMemories, default=None)
    sharing: FixedShare = member(FixedShare, default=FixedShare(favour=0.5))
    blocks: int = count(default=1)

    def __post_init__(self) -> None:
        if not self.maps:
            raise ArgumentError("linear", "be a mixture of memories where there is no other map", None)
        for name, agent in self.maps.items():
            if agent.spec.dim != (size := mapped_dim(name, self.spec.dim, self.blocks)):
                raise ArgumentError(name, f"have dim={size}", agent)

    @functools.cached_property
    def maps(self) -> dict[MapName, MixtureOfMemories]:
        """The mixtures by the names of their maps."""
        named = ((name, getattr(self, name)) for name in get_args(MapName))
        return {name: agent for name, agent in named if agent is not None}

    @property
    def counts_waiting(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return all(agent.counts_waiting for agent in self.maps.values())

    @property
    def takes_counts(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return all(agent.takes_counts for agent in self.maps.values())

    def expand(self, features: Array) -> Array:
        """Return the features of all maps, one behind the other."""
        xp = namespace(features)
        return xp.concat([map_features(name, features, self.blocks) for name in self.maps], axis=-1)

    @functools.cached_property
    def _slices(self) -> dict[str, slice]:
        """The places of the maps' features in those of `expand`."""
        sizes = [mapped_dim(name, self.spec.dim, self.blocks) for name in self.maps]
        pairs = zip(self.maps, sizes, np.cumsum(sizes).tolist(), strict=True)
        return {name: slice(end - size, end) for name, size, end in pairs}

    def waiting_of(self, name: MapName, gram: Array) -> Array:
        """Return the sums over waiting decisions `[D + 1, D + 1]` of one map, from those of all."""
        xp, own = namespace(gram), self._slices[name]
        rows = xp.concat([gram[own], gram[-1:]], axis=0)
        return xp.concat([rows[:, own], rows[:, -1:]], axis=1)

    def coordinates(self, name: MapName, block: np.ndarray) -> np.ndarray:
        """Return the coordinates of a map's features that depend on some coordinates of the features."""
        dim = self.spec.dim
        if name == "products":
            pairs = np.isin(product_pairs(dim, self.blocks), block).any(axis=0)
            return np.append(block, dim + np.flatnonzero(pairs))
        return block if name == "linear" else np.append(block, np.arange(dim, self.maps[name].spec.dim))

    def map_table(self, name: MapName, features: FeatureTable) -> FeatureTable:
        """Return the table that one map sees."""
        waiting = features.find(WaitingDecisions)
        table = FeatureTable(map_features(name, features.values, self.blocks), features.present)
        own = () if waiting is None else (WaitingDecisions(self.waiting_of(name, waiting.gram)),)
        return table.with_extras(*own)

    def init(self, features: FeatureTable) -> MapsState:
        xp, dtype = namespace(features.values), features.values.dtype
        states = tuple(agent.init(self.map_table(name, features)) for name, agent in self.maps.items())
        prior = self.sharing.prior(xp.zeros(len(states), dtype=dtype))
        return MapsState(states, xp.log(prior), xp.asarray(0, dtype=xp.int64))

    def plan(self, state: MapsState, features: FeatureTable, key: Key) -> Plan:
        xp, pairs = namespace(features.values), zip(self.maps.items(), state.maps, strict=True)
        plans = [agent.plan(inner, self.map_table(name, features), key) for (name, agent), inner in pairs]
        chosen, size = xp.argmax(state.log_weights), max(plan.weights.shape[-1] for plan in plans)

        def pad(weights: Array) -> Array:
            missing = size - weights.shape[-1]
            return xp.concat(
                [weights, xp.zeros((*weights.shape[:-1], missing), dtype=weights.dtype)], axis=-1
            )

        plans = [plan._replace(weights=pad(plan.weights)) for plan in plans]
        return map_tree(lambda *leaves: xp.stack(leaves)[chosen], *plans)

    def update(self, state: MapsState, features: FeatureTable, plan: Plan, episode: Episode) -> MapsState:
        xp, scores, learnt = namespace(features.values), [], []
        for (name, agent), inner in zip(self.maps.items(), state.maps, strict=True):
            table = self.map_table(name, features)
            own = episode._replace(features=map_features(name, episode.features, self.blocks))
            scores.append(score_episode(agent, inner, table, plan, own))
            learnt.append(agent.update(inner, table, plan, own))
        return MapsState(tuple(learnt), *self.weigh(state.log_weights, xp.stack(scores), state.tick))

    def weigh(self, log_weights: Array, scores: Array, tick: Array) -> tuple[Array, Array]:
        """Return the weights after the scores of one more episode, and the number of episodes."""
        known = tick > 1  # the unit of rewards is not known before
        return self.sharing.update(log_weights, known * scores, tick + 1), tick + 1

    def heaviest(self, state: MapsState) -> tuple[Any, MixtureOfMemories, MixtureState]:
        """Return the map that decides; for NumPy."""
        pairs = zip(self.maps.items(), state.maps, strict=True)
        return [(name, agent, inner) for (name, agent), inner in pairs][int(np.argmax(state.log_weights))]

    def diagnostics(self, state: MapsState) -> dict[str, Array]:
        """Weights of the maps."""
        weights = namespace(state.log_weights).exp(state.log_weights)
        return {f"weight.{name}": weights[i] for i, name in enumerate(self.maps)}

    def moments(self, state: MapsState) -> Moments | None:
        """Return the moments of the heaviest map; for NumPy."""
        _, agent, inner = self.heaviest(state)
        return agent.moments(inner)
