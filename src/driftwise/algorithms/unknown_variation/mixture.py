"""A mixture of memories: agents that forget differently learn from all data, and are weighed."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from driftwise.base.agent import Forecaster, Wrapper
from driftwise.base.arrays import map_tree, namespace, over_stacked
from driftwise.base.part import choice, member, part
from driftwise.base.random import choose, fold, uniform
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Plan
from driftwise.base.validation import ArgumentError
from driftwise.parts.fixed_share import FixedShare
from driftwise.parts.regression import linear

DRAW = 1  # where a memory is drawn, below the key of an episode's plan; the agents' own draws are at the key


class MixtureState(NamedTuple):
    """States of all memories, and their weights."""

    base: Any  # each leaf `[J, ...]`
    log_weights: Array  # [J], or [H, J] with weights of each step
    tick: Array  # episodes learnt from
    origin: Array  # [d] weights that rewards are counted from


@part
class MixtureOfMemories(Wrapper):
    r"""Agents alike but for what they forget, weighed by how well they forecast.

    They are stacked in `base`: its numbers are tuples over them. All learn from every episode, whoever chose
    its actions. Before they do, each scores its forecast of the targets $y_h = r_h + \bar V_{h+1}(s_{h+1})$,
    with $\bar V = \sum_j w_jV_j$ as the mixture planned: one target for all, so that scores compare.

    `decision="heaviest"` acts on the index of the heaviest memory, `"mixture"` on $\sum_j w_j Q_j$, and
    `"variance"` on the mean of the mixture with the root of its total variance,
    $\bar m + \sqrt{\sum_j w_j(b_j^2 + (m_j - \bar m)^2)}$; `"draw"` draws a memory with its weight.
    `weighing="together"` adds the scores of all steps into one weight; `"per_step"` has a weight each.

    `origin="first"` counts the rewards of a bandit from the first one, if there are features that are 1 for
    all arms then: a constant in the rewards is no more shrunk by the ridge, and changes no decision.
    """

    base: Forecaster = member(Forecaster, stacked=True)
    sharing: FixedShare = member(FixedShare)
    decision: Literal["heaviest", "mixture", "variance", "draw"] = choice(
        "heaviest", "mixture", "variance", "draw", default="heaviest"
    )
    weighing: Literal["together", "per_step"] = choice("together", "per_step", default="together")
    origin: Literal["zero", "first"] = choice("zero", "first", default="zero")

    def __post_init__(self) -> None:
        if self.origin == "first" and self.spec.horizon > 1:
            raise ArgumentError("origin", "be 'zero' where episodes have several steps", self.origin)

    def init(self, features: FeatureTable) -> MixtureState:
        xp, like = namespace(features.values), features.values
        base = over_stacked(lambda agent, _: agent.init(features), self.base, None, like)
        num = len(over_stacked(lambda agent, _: like[0, 0], self.base, None, like))
        shape = (self.spec.horizon, num) if self.weighing == "per_step" else (num,)
        prior = xp.zeros(shape, dtype=like.dtype)
        prior = prior + self.sharing.prior(prior)
        origin = xp.zeros(like.shape[-1], dtype=like.dtype)
        return MixtureState(base, xp.log(prior), xp.asarray(0, dtype=xp.int64), origin)

    def plan(self, state: MixtureState, features: FeatureTable, key: Key) -> Plan:
        xp, like = namespace(features.values), features.values
        plans: Plan = over_stacked(
            lambda agent, each: agent.plan(each, features, key)._replace(drawn=None),
            self.base,
            state.base,
            like,
        )
        weights = self._deciding(state.log_weights, key)  # [J] or [H, J]
        rows = xp.broadcast_to(weights, (self.spec.horizon, weights.shape[-1])).T  # [J, H]

        def mixed(arrays: Array) -> Array:
            """The weighted sum over memories: `[H, ...]` from `[J, H, ...]`."""
            factors = xp.reshape(rows, (*rows.shape, *[1] * (arrays.ndim - 2)))
            return xp.sum(factors * xp.where(factors > 0, arrays, xp.zeros_like(arrays)), axis=0)

        q, bonus = mixed(plans.q), mixed(plans.bonus)
        if self.decision == "variance":
            means = xp.where(plans.q > -xp.inf, plans.q - plans.bonus, xp.zeros_like(plans.q))
            mean = mixed(means)
            bonus = xp.sqrt(mixed(plans.bonus**2 + (means - mean) ** 2))
            q = xp.where(q > -xp.inf, mean + bonus, q)
        if self.origin == "zero":
            return Plan(mixed(plans.weights), bonus, q, self.base.policy(q), mixed(plans.values))
        q = q + xp.reshape(linear(features, state.origin), q.shape)
        return Plan(mixed(plans.weights) + state.origin, bonus, q, self.base.policy(q), xp.max(q, axis=-1))

    def update(
        self, state: MixtureState, features: FeatureTable, plan: Plan, episode: Episode
    ) -> MixtureState:
        xp, like = namespace(features.values), features.values
        origin = state.origin
        if self.origin == "first":
            origin = xp.where(state.tick == 0, constant_weights(features, episode.rewards[0]), origin)
        episode = episode._replace(rewards=episode.rewards - episode.features @ origin)

        def learn(agent: Forecaster, each: Any) -> tuple[Array, Any]:
            return agent.score(each, features, plan, episode), agent.update(each, features, plan, episode)

        scores, base = over_stacked(learn, self.base, state.base, like)
        scores = xp.sum(scores, axis=-1) if self.weighing == "together" else scores.T
        tick = state.tick + 1
        return MixtureState(base, self.sharing.update(state.log_weights, scores, tick), tick, origin)

    def _deciding(self, log_weights: Array, key: Key) -> Array:
        """The weights that a decision takes: all, or one of 1 for the heaviest or the drawn memory."""
        xp = namespace(log_weights)
        weights = xp.exp(log_weights)
        if self.decision in ("mixture", "variance"):
            return weights
        if self.decision == "heaviest":
            chosen = xp.argmax(weights, axis=-1, keepdims=True)
        else:
            chance = uniform(fold(key, DRAW), 1, weights.dtype)[0]
            chosen = choose(xp.cumulative_sum(weights, axis=-1), chance)[..., None]
        return xp.astype(xp.arange(weights.shape[-1]) == chosen, weights.dtype)

    def diagnostics(self, state: MixtureState) -> dict[str, Array]:
        """Weights of the memories, how many episodes count, `Σ_j w_j Σω_j`, and the noise `√Σ_j w_j s_j²`."""
        xp = namespace(state.log_weights)
        weights = xp.mean(xp.reshape(xp.exp(state.log_weights), (-1, state.log_weights.shape[-1])), axis=0)
        memory, variance = over_stacked(
            lambda agent, each: (agent.memory(each), agent.noise_variance(each)),
            self.base,
            state.base,
            weights,
        )
        named = {f"weight.{j}": weights[j] for j in range(weights.shape[-1])}
        return {
            **named,
            "memory": xp.sum(weights * memory),
            "noise": xp.sqrt(xp.sum(weights * xp.mean(variance, axis=-1))),
        }

    def moments(self, state: MixtureState) -> Moments | None:
        """Those of the heaviest memory."""
        weights = namespace(state.log_weights).reshape(state.log_weights, (-1, state.log_weights.shape[-1]))
        heaviest = weights.sum(axis=0).argmax()
        return self.base.moments(map_tree(lambda leaf: leaf[heaviest], state.base))


def constant_weights(features: FeatureTable, reward: Array) -> Array:
    """Weights `[d]` that explain a reward by the features that are 1 for all arms; 0 if there are none."""
    xp, constant = namespace(features.values), features.values == 1
    if features.present is not None:
        constant = constant | ~features.present[:, None]
    constant = xp.astype(xp.all(constant, axis=0), features.values.dtype)
    return constant * reward / xp.maximum(xp.sum(constant), xp.ones_like(constant[0]))
