"""A mixture of memories: agents that forget differently learn from all data, and are weighed."""

from dataclasses import replace
from operator import attrgetter
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from driftwise.base import Forecaster, Moments, Numeric, Spec, Wrapper
from driftwise.base.arrays import compute_after, expand_like, map_stacked, map_tree, namespace
from driftwise.base.part import choice, index_part, member, number, numeric_values, part
from driftwise.base.random import choose_index, draw_uniform, fold
from driftwise.base.types import Array, Episode, FeatureTable, Forecast, Key, Plan, WaitingDecisions
from driftwise.base.validation import ArgumentError
from driftwise.parts import ClockWeights, ExponentialWeights, FixedShare, LearntNoise
from driftwise.parts.noise import ErrorSums, NoiseSums

Decision = Literal["heaviest", "draw"]
Origin = Literal["zero", "learnt"]
CONSTANT = 10.0  # the feature whose weight is the origin; the ridge hardly shrinks what is so large
_ALARM = 2.0  # times the least weight, and times the episodes of the heaviest memory
_LEAST_SAMPLES = 5  # for each dimension, that a memory needs before its forecasts can raise an alarm
FIRST_CLIPPED, EARLY = 3, 100.0  # the first reward that can be an outlier; how slowly its limit comes down
_DRAW = 1  # where a memory is drawn, below the key of an episode's plan; the agents' own draws are at the key


class MixtureState(NamedTuple):
    base: Any  # each leaf `[J, ...]`
    log_weights: Array  # [J]
    tick: Array  # episodes learnt from
    origin: Array  # the first reward, which the others are counted from
    unit: Array  # of features, by which all are divided
    noise: NoiseSums  # of the forecasts of all memories together


@part
class MixtureOfMemories(Wrapper):
    r"""Agents alike but for what they forget, weighed by how well they forecast.

    They are stacked in `base`: its numbers are tuples over them. Before they learn from an episode, each
    forecasts the targets $y_h = r_h + \bar V_{h+1}(s_{h+1})$, with the values $\bar V$ of the memory that
    decided. The noise is one for all, learnt from $\sum_j w_j\,e_j^2/(1+v_j)$ under a forgetting of its own.

    `decision="heaviest"` acts on the index of the heaviest memory, `"draw"` on that of one that is drawn with
    its weight. The scores of all steps add up.

    `origin="learnt"` regresses the rewards of a bandit on its features and a constant, so that no decision
    depends on an amount that is added to all rewards: they are counted from the first one, features are
    divided by the length of the first, between 0.01 and 1, and bases have one dimension more. With bases of
    `prior="learnt"`, a reward that comes after $k \ge 3$ others is moved to `outlier` $(1 + 100/k)$ standard
    deviations from the heaviest memory's forecast if it is farther.

    `fresh="at_alarm"` restarts the last memory from a copy of the heaviest when its weight falls below twice
    its reallocation share, and below half of its prior, while it holds more than twice the episodes of the
    heaviest, and at least five for each dimension: with fewer its forecasts are bad though nothing changed.
    This takes exponential weights that differ in their rates alone, the last the largest.
    """

    base: Forecaster = member(Forecaster, stacked=True)
    sharing: FixedShare = member(FixedShare)
    noise: LearntNoise = member(LearntNoise)
    noise_forgetting: ExponentialWeights = member(ExponentialWeights)
    decision: Decision = choice(*get_args(Decision), default="heaviest")
    origin: Origin = choice("zero", "learnt", default="zero")
    fresh: Literal["at_alarm", "never"] = choice("at_alarm", "never", default="at_alarm")
    outlier: Numeric = number(at_least=0, default=0.0)

    def __post_init__(self) -> None:
        if self.origin == "learnt" and (self.base.spec.horizon > 1 or self.base.spec.dim < 2):
            raise ArgumentError("origin", "be 'zero' unless bases are bandits with dim ≥ 2", self.origin)
        if np.any(self.outlier) and not self.base.counts_waiting:
            raise ArgumentError("outlier", "be 0 unless bases have prior='learnt'", self.outlier)
        if self.fresh == "at_alarm" and not can_be_copied(self.base):
            expected = "be 'never' unless memories differ in exponential rates alone, the last the largest"
            raise ArgumentError("fresh", expected, self.fresh)

    @property
    def spec(self) -> Spec:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The sizes of the problem; bases have one dimension more where the origin is learnt."""
        spec = self.base.spec
        return replace(spec, dim=spec.dim - 1) if self.origin == "learnt" else spec

    counts_waiting = property(attrgetter("base.counts_waiting"))  # pyright: ignore[reportAssignmentType]
    takes_counts = property(attrgetter("base.takes_counts"))  # pyright: ignore[reportAssignmentType]

    @property
    def num_memories(self) -> int:
        """Return J."""
        return len(next(numeric_values(self.base)).value)

    def init(self, features: FeatureTable) -> MixtureState:
        table = self.extend_table(features, namespace(features.values).ones_like(features.values[0, 0]))
        base = map_stacked(lambda agent, _: agent.init(table), self.base, None, table.values)
        return self.initial_state(base, features.values)

    def extend_table(self, features: FeatureTable, unit: Array) -> FeatureTable:
        """Return the table that bases see."""
        waiting, dim = features.find(WaitingDecisions), features.values.shape[-1]
        if self.origin == "zero":
            own = [] if waiting is None else [WaitingDecisions(waiting.gram[:dim, :dim])]
            return features.with_extras(*own)
        table = FeatureTable(self.extend(features.values, unit), features.present)
        if waiting is None:
            return table
        scale = self.extend(namespace(unit).ones_like(features.values[0]), unit)
        return table.with_extras(WaitingDecisions(scale[:, None] * scale * waiting.gram))

    def extend(self, features: Array, unit: Array) -> Array:
        """Return features `[..., d + 1]` in their unit, with the constant as the last."""
        constant = namespace(features).full_like(features[..., :1], CONSTANT)
        return namespace(features).concat([features / unit, constant], axis=-1)

    def planning_unit(self, state: MixtureState, features: FeatureTable) -> Array:
        """Return the unit of features in a plan: the length of the longest before any are learnt from."""
        xp, squares = namespace(features.values), (features.values**2).sum(axis=-1)
        if features.present is not None:
            squares = xp.where(features.present, squares, 0.0)
        return xp.where(state.tick == 0, feature_unit(xp.sqrt(xp.max(squares))), state.unit)

    def reward_unit(self, state: MixtureState) -> Array:
        """Return the deviation of the noise, 1 if it is 0."""
        xp, deviation = namespace(state.unit), self.noise.deviation(state.noise.errors)[0]
        return xp.where(deviation > 0, deviation, xp.ones_like(deviation))

    def set_origin(self, state: MixtureState, features: Array, reward: Array) -> MixtureState:
        """Return the state with the origin and the unit that the first sample gives it."""
        xp, first = namespace(features), state.tick == 0
        unit = xp.where(first, feature_unit(xp.sqrt(xp.sum(features * features))), state.unit)
        return state._replace(origin=xp.where(first, reward, state.origin), unit=unit)

    def initial_state(self, base: Any, like: Array) -> MixtureState:
        """The state before the first episode, with states of the memories and features `[..., d]`."""
        xp, num = namespace(like), self.num_memories
        prior = self.sharing.prior(xp.zeros(num, dtype=like.dtype))
        origin, unit = (xp.asarray(value, dtype=like.dtype) for value in (0.0, 1.0))
        noise = self.noise.init(self.noise_forgetting, xp.zeros(self.spec.horizon, dtype=like.dtype))
        return MixtureState(base, xp.log(prior), xp.asarray(0, dtype=xp.int64), origin, unit, noise)

    def plan(self, state: MixtureState, features: FeatureTable, key: Key) -> Plan:
        features = self.extend_table(features, self.planning_unit(state, features))
        chosen = self.choose_memory(state.log_weights, key)  # no other has to plan
        agent = index_part(self.base, chosen)
        plan = agent.plan(map_tree(lambda leaf: leaf[chosen], state.base), features, key)
        weights, bonus, q, _, values, _ = plan
        if self.origin == "zero":
            return Plan(weights, bonus, q, agent.policy(q), values)
        policy = agent.policy(q / self.reward_unit(state))  # ties do not depend on the unit or the origin
        return Plan(weights, bonus, q + state.origin, policy, values + state.origin)

    def update(
        self, state: MixtureState, features: FeatureTable, plan: Plan, episode: Episode
    ) -> MixtureState:
        xp, like = namespace(features.values), features.values
        if self.origin == "learnt":
            state = self.set_origin(state, episode.features[0], episode.rewards[0])
            features = self.extend_table(features, state.unit)
            extended = self.extend(episode.features, state.unit)
            episode = episode._replace(features=extended, rewards=episode.rewards - state.origin)
        if self.base.counts_waiting:
            episode = self._clip(state, features, plan, episode)

        # The same values for each memory: with one for all, XLA would copy all memories to multiply.
        values = xp.broadcast_to(plan.values, (state.log_weights.shape[-1], *plan.values.shape))

        def learn(agent: Forecaster, inputs: tuple[Any, Array]) -> tuple[Forecast, Any, Array]:
            before, ahead = inputs
            forecast, learnt = agent.learn(before, features, plan._replace(values=ahead), episode)
            return forecast, learnt, agent.memory(learnt)

        learnt = map_stacked(learn, self.base, (state.base, values), like)
        return self.absorb_forecasts(state, *learnt)

    def _clip(self, state: MixtureState, features: FeatureTable, plan: Plan, episode: Episode) -> Episode:
        """Return the episode of a bandit with a reward that is no outlier."""
        heaviest = state.log_weights.argmax()
        agent, base = index_part(self.base, heaviest), map_tree(lambda leaf: leaf[heaviest], state.base)
        error, variance = agent.forecast(base, features, plan, episode)
        excess = self.excess(state.noise.errors, error, variance)
        if episode.counts is not None:  # √n times the mean of n rewards is what was forecast
            excess = excess / namespace(excess).sqrt(episode.counts)
        later = compute_after(episode.features, excess[:, None])
        return episode._replace(features=later, rewards=episode.rewards + excess)

    def excess(self, errors: ErrorSums, error: Array, variance: Array) -> Array:
        """Return what to add to a reward with this error so that it is no outlier; mostly 0."""
        xp, spread = namespace(error), self.noise.variance(errors)
        early = 1 + EARLY / xp.asarray(xp.maximum(errors.count, 1), dtype=spread.dtype)
        limit = self.outlier * early * xp.sqrt(spread * (1 + variance))
        is_known = (self.outlier > 0) & (errors.count >= FIRST_CLIPPED) & (spread > 0)
        return is_known * (xp.minimum(xp.maximum(error, -limit), limit) - error)

    def absorb_forecasts(
        self, state: MixtureState, forecast: Forecast, base: Any, sizes: Array
    ) -> MixtureState:
        """The state after forecasts `[J, H]`, with the memories' new states; they hold `[J]` episodes."""
        xp, tick = namespace(sizes), state.tick + 1
        scores = self.noise.relative_score(state.noise.errors, forecast)  # [J, H]
        log_weights = self.sharing.update(state.log_weights, xp.sum(scores, axis=-1), tick)
        if self.fresh == "at_alarm":
            weights = xp.exp(log_weights)
            heaviest, prior = weights.argmax(), self.sharing.prior(weights)[-1]
            alarm = self.alarm(weights[-1], prior, sizes[-1], sizes[heaviest], tick)
            last = xp.arange(len(weights)) == len(weights) - 1
            is_reset = alarm & last  # a mask: XLA writes rows in a loop
            base = map_tree(lambda leaf: xp.where(expand_like(is_reset, leaf), leaf[heaviest], leaf), base)
        squares = xp.sum(xp.exp(state.log_weights)[:, None] * forecast.squares, axis=0)
        noise = self.noise.update(self.noise_forgetting, state.noise, squares)
        return MixtureState(base, log_weights, tick, state.origin, state.unit, noise)

    def alarm(self, weight: Array, prior: Array, size: Array, heaviest_size: Array, tick: Array) -> Array:
        """Whether the last memory, of this weight and prior and with so many episodes, is to restart."""
        is_low = (weight <= _ALARM * self.sharing.share_at(tick) * prior) & (weight <= prior / _ALARM)
        return is_low & (size > _ALARM * heaviest_size) & (size >= _LEAST_SAMPLES * self.spec.dim)

    def choose_memory(self, log_weights: Array, key: Key) -> Array:
        """Return the heaviest or the drawn memory, or one for each key if there are many."""
        xp, weights = namespace(log_weights), namespace(log_weights).exp(log_weights)
        if self.decision == "heaviest":
            return xp.argmax(weights)
        chance = draw_uniform(fold(key, _DRAW), 1, weights.dtype)[..., 0]
        return choose_index(xp.cumulative_sum(weights), chance)

    def diagnostics(self, state: MixtureState) -> dict[str, Array]:
        """Weights of the memories, how many episodes count, `Σ_j w_j Σω_j`, and the noise `s`."""
        xp, weights = namespace(state.log_weights), namespace(state.log_weights).exp(state.log_weights)
        sizes = map_stacked(lambda agent, state: agent.memory(state), self.base, state.base, weights)
        named = {f"weight.{j}": weights[j] for j in range(len(weights))}
        noise = xp.sqrt(xp.mean(self.noise.variance(state.noise.errors)))
        return {**named, "memory": xp.sum(weights * sizes), "noise": noise}

    def moments(self, state: MixtureState) -> Moments | None:
        """Return the moments of the heaviest memory."""
        heaviest = state.log_weights.argmax()
        return self.base.moments(map_tree(lambda leaf: leaf[heaviest], state.base))


def can_be_copied(base: Any) -> bool:
    """Whether agents that are stacked are exponential weights alike but for their rates, the last largest."""
    forgetting = base.forgetting
    if not isinstance(forgetting, ExponentialWeights | ClockWeights):
        return False
    by_rounds = isinstance(forgetting, ExponentialWeights)
    lengths: Any = forgetting.rate if by_rounds else forgetting.half_life
    others = (number.value for number in numeric_values(base) if number.value is not lengths)
    return all(len(set(values)) == 1 for values in others) and lengths[-1] == max(lengths)


def feature_unit(length: Array) -> Array:
    """Return the unit of features whose first have this length: a longer one may be an exception."""
    return namespace(length).where(length > 0, length.clip(0.01, 1.0), 1.0)
