"""A world that an agent has met: its transitions, memories of several lengths, and a plan."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.online.control.kernel import KernelFeatures, StateFeatures
from driftwise.online.control.shared_steps import Plan, Range, Regression, plan_discounted, plan_horizon
from driftwise.online.control.transitions import (
    SAMPLES,
    ControlOptions,
    Memories,
    Transitions,
    student_density,
)
from driftwise.online.tensors import Tensors, to_tensors

_FAVOUR = 1.0  # of a memory over the next shorter one, in logarithms
_REFRESHED = 1500  # least number of widths that a plan computes again
_MOST_HELD_OUT = 3000  # transitions that forecasts are tried on after a fit
_KEPT = 0.8  # of the transitions where the capacity is reached
_NEXT_FIT = 8  # episodes of another world after which its features are chosen anew
COUNTERS = "number", "clock", "next_fit", "num_fitted", "leader"  # in files
_UNCERTAIN = 0.1  # of the variance of outputs, that forecasts to look ahead by may leave
_DOUBT = 0.1  # of the misfit of values, in the bonus
_SWEEPS = 30  # of value iteration in a plan, at the most: with a kernel it need not contract
_TOLERANCE = 1e-4  # of the range of values, for plans


class World:
    """What an agent knows of one world.

    Memories are regressions of the outputs on the features, on the same transitions with other weights. They
    are weighed by their forecasts of episodes, which depend on no plan; the heaviest plans.
    """

    def __init__(
        self, options: ControlOptions, number: int, features: StateFeatures, num_numbers: int
    ) -> None:
        self.options, self.number, self.features = options, number, features
        self.kept = Transitions.none(num_numbers)
        self.times = np.zeros(0, dtype=np.int64)  # [n] of the transitions, by the clock
        self.clock, self.next_fit = 0, 1  # episodes that were learnt, and when to choose features again
        self.num_fitted = 0  # transitions that were there when features were chosen
        self.leader = (num := len(options.memories)) - 1  # the memory that plans
        self.memories = Memories.empty(num, options.num_actions, features.num, num_numbers + 1)
        self.plan = Plan(np.zeros(0), np.zeros(3), np.zeros((0, options.num_actions)))
        self.refresh()

    def copy_features(self, number: int) -> "World":
        """Return an empty world with these features."""
        world = World(self.options, number, self.features, self.kept.states.shape[1])
        world.next_fit = _NEXT_FIT
        return world

    def tensors(self, prefix: str) -> Tensors:
        """Return the arrays of a file."""
        parts = {"kept": self.kept, "memories": self.memories, "plan": self.plan}
        if isinstance(self.features, KernelFeatures):
            parts["features"] = self.features
        tensors = {f"{prefix}times": self.times.copy()}
        for name, part in parts.items():
            tensors |= to_tensors(f"{prefix}{name}", part)
        return tensors

    def restored(self, counters: Mapping[str, int], tensors: Tensors, prefix: str) -> "World":
        """Return the world of a file, as this one but for its numbers."""

        def read(name: str, kind: Any) -> Any:
            arrays = (tensors[f"{prefix}{name}.{i}"] for i in range(len(kind._fields)))
            return kind(*(array.copy() for array in arrays))

        features = self.features
        if isinstance(features, KernelFeatures):
            features = read("features", KernelFeatures)
        world = World(self.options, counters["number"], features, self.kept.states.shape[1])
        for name in COUNTERS:
            setattr(world, name, counters[name])
        world.kept, world.memories = read("kept", Transitions), read("memories", Memories)
        world.plan, world.times = read("plan", Plan), tensors[f"{prefix}times"].copy()
        world.refresh()
        return world

    def refresh(self) -> None:
        """Compute what follows from what is saved, in the same pieces as before, for the same last digits."""
        ends = np.flatnonzero(np.diff(self.times, append=-1)) + 1
        pieces = np.unique([0, self.num_fitted, *ends[ends > self.num_fitted]])
        parts = [self.kept.take(slice(*piece)) for piece in itertools.pairwise(pieces.tolist())]
        none = np.zeros((0, self.features.num))
        self._rows = np.concatenate([none, *(self.features(part.states) for part in parts)])
        self._next_rows = np.concatenate([none, *(self.features(part.next_states) for part in parts)])
        self._invert()

    def _invert(self) -> None:
        identity = self.options.ridge * np.eye(self.features.num)
        self._inverses = np.linalg.inv(self.memories.grams + identity)
        self._forecasts = self._inverses @ self.memories.crosses
        try:
            factors = np.linalg.cholesky(self._inverses[self.leader])
            self._factors = np.ascontiguousarray(np.swapaxes(factors, 1, 2))
        except np.linalg.LinAlgError:  # the rounding of an inverse is squared by its condition number
            self._factors = np.linalg.inv(np.linalg.cholesky(self.memories.grams[self.leader] + identity))
        self._is_certain = False
        if isinstance(self.features, KernelFeatures) and len(self.kept):
            _, _, errors, counts, _ = self.memories
            left = errors[self.leader] / max(float(counts[self.leader]), 1.0)
            self._is_certain = bool((left <= _UNCERTAIN * self._spread())[:-1].all())

    @property
    def has_plan(self) -> bool:
        return bool(self.plan.weights.size)

    def index(self, state: np.ndarray, step: int) -> np.ndarray:
        r"""Return the indices `[A]` of the actions in a state `[k]`, by the plan.

        Where the next state can be forecast, as $\hat s'$, and the reward as $\hat r$, the index looks a step
        ahead: $\hat r + \gamma V(\hat s')$ and the bonus. So one function compares all actions; the errors of
        a regression for each do not cancel. Elsewhere, and with a horizon, the index is the regression's.
        """
        row, plan, options = self.features(state), self.plan, self.options
        widths = self._widths(row[None])[0]
        if options.horizon is not None or not self._is_certain:
            weights = plan.weights if plan.weights.ndim == 2 else plan.weights[step]
            return row @ weights + plan.bonus(widths) + plan.prior
        outputs = row @ self._forecasts[self.leader]  # [A, m]
        ahead = self.features(state + outputs[:, :-1])
        values = ahead @ plan.weights + plan.bonus(self._widths(ahead)) + plan.prior
        low, high = self._reward_range()
        steps = 1 / (1 - options.discount)
        values = np.clip(values.max(axis=1), steps * low, steps * high)
        return np.clip(outputs[:, -1], low, high) + options.discount * values + plan.bonus(widths)

    def _widths(self, rows: np.ndarray) -> np.ndarray:
        """Return the widths `[n, A]` of the leader's estimates at features `[n, d]`."""
        squares = np.square(self._factors @ rows.T).sum(axis=1).T
        return np.sqrt(squares + self.features.unexplained(rows)[:, None] / self.options.ridge)

    def _reward_range(self) -> Range:
        """Return the least and the largest reward: where none was seen but 0, as if 1 could be earned."""
        if self.options.reward_range is not None:
            low, high = self.options.reward_range
            return min(low, 0.0), max(high, 0.0)  # what follows the end of an episode is 0
        low, high = min(float(self.kept.rewards.min()), 0.0), max(float(self.kept.rewards.max()), 0.0)
        return (0.0, 1.0) if low == high else (low, high)

    def learn(self, episode: Transitions) -> None:
        """Learn from an episode: weigh the memories by their forecasts, then add it to their sums."""
        if self.clock > 1:
            forecasts = self._forecast_errors(episode, slice(None))
            self.memories = self.memories.weigh(*forecasts, self._spread())
        rng, options = self.random(), self.options
        episode = episode.take(slice(-options.capacity, None))
        num, room = len(self.kept), options.capacity - len(episode)
        overflows = num > room
        if overflows:
            stay = np.sort(rng.choice(num, min(num, int(_KEPT * room)), replace=False))
            self.kept, self.times = self.kept.take(stay), self.times[stay]
        self.kept = Transitions(*map(np.concatenate, zip(self.kept, episode, strict=True)))
        self.times = np.append(self.times, np.full(len(episode), self.clock))
        self.clock += 1
        is_due = isinstance(self.features, KernelFeatures) and self.clock >= self.next_fit
        if overflows or is_due:
            self._fit(rng)
        else:
            self._absorb(episode)
        leader = int(np.argmax(self.memories.scores + _FAVOUR * np.arange(len(options.memories))))
        if leader != self.leader:
            self.leader, self.plan = leader, self.plan._replace(widths=np.full_like(self.plan.widths, np.nan))
        self._invert()

    def random(self) -> np.random.Generator:
        """Return the random numbers of this episode."""
        return np.random.default_rng([self.options.seed, self.number, self.clock])

    def _absorb(self, episode: Transitions) -> None:
        rows, next_rows = self.features(episode.states), self.features(episode.next_states)
        self.memories.absorb(rows, episode, self.options)
        self._rows, self._next_rows = np.append(self._rows, rows, 0), np.append(self._next_rows, next_rows, 0)
        unknown = np.full((len(episode), self.options.num_actions), np.nan)
        self.plan = self.plan._replace(widths=np.append(self.plan.widths, unknown, 0))

    def _fit(self, rng: np.random.Generator) -> None:
        """Choose features for the transitions that are kept, and compute all sums again."""
        old, options, kept = self.features, self.options, self.kept
        if isinstance(old, KernelFeatures):
            seen = np.concatenate([kept.states, kept.next_states])
            ends = np.array([seen.min(axis=0), seen.max(axis=0)])
            self.features = KernelFeatures.fit(kept.states, ends, options.num_features, rng)
        self.next_fit, self.num_fitted = max(self.next_fit, 2 * self.clock), len(kept)
        self._rows, self._next_rows = self.features(kept.states), self.features(kept.next_states)
        ages = self.clock - 1 - self.times
        sums = Memories.of(self._rows, kept, ages, options)
        self.memories = sums._replace(scores=self.memories.scores)
        self.memories.errors[:] = SAMPLES * self._held_out_errors(rng)
        self.memories.counts[:] = SAMPLES
        weights = self.plan.weights
        if weights.ndim == 3:  # with a horizon: the next plan is made at once
            weights = np.zeros(0)
        elif weights.ndim == 2:  # the old plan in the new features
            gram = self._rows.T @ self._rows + options.ridge * np.eye(self.features.num)
            weights = np.linalg.solve(gram, self._rows.T @ (old(kept.states) @ weights))
        widths = np.full((len(kept), options.num_actions), np.nan)
        self.plan = self.plan._replace(weights=weights, widths=widths)

    def _held_out_errors(self, rng: np.random.Generator) -> np.ndarray:
        """Return mean squared errors `[m]` of forecasts from one half of the transitions for the other."""
        num, ridge = len(self.kept), self.options.ridge * np.eye(self.features.num)
        rows = np.sort(rng.choice(num, min(num, _MOST_HELD_OUT), replace=False))
        features, outputs, actions = self._rows[rows], self.kept.outputs()[rows], self.kept.actions[rows]
        total = np.zeros(outputs.shape[1])
        for half in (0, 1):
            for action in range(self.options.num_actions):
                is_held = (rows % 2 == half) & (actions == action)
                used = (rows % 2 != half) & (actions == action)
                gram = features[used].T @ features[used] + ridge
                estimate = np.linalg.solve(gram, features[used].T @ outputs[used])
                total += ((features[is_held] @ estimate - outputs[is_held]) ** 2).sum(axis=0)
        return total / len(rows)

    def _spread(self) -> np.ndarray:
        """Return the variance `[m]` of each output, and at least a hundredth of its size squared."""
        outputs = self.kept.outputs()
        return np.maximum(outputs.var(axis=0), 1e-4 * np.square(outputs).mean(axis=0) + 1e-12)

    def _forecast_errors(self, episode: Transitions, memories: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return errors `[J, n, m]` of forecasts and their variances `[J, n]` in units of the noise."""
        rows, outputs = self.features(episode.states), episode.outputs()
        inverses, forecasts = self._inverses[memories], self._forecasts[memories]
        errors = np.empty((len(inverses), *outputs.shape))
        variances = np.empty(errors.shape[:-1])
        for action in range(self.options.num_actions):
            at = episode.actions == action
            chosen = rows[at]
            errors[:, at] = chosen @ forecasts[:, action] - outputs[at]
            variances[:, at] = np.vecdot(chosen @ inverses[:, action], chosen)
        return errors, variances

    def likelihood(self, episode: Transitions) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-likelihood `[n]` of transitions by the leader's forecasts, and their variances."""
        errors, variances = self._forecast_errors(episode, slice(self.leader, self.leader + 1))
        noise = self.memories.noise(self._spread())[self.leader]
        return student_density(errors[0] ** 2, noise * (1 + variances[0][:, None])), variances[0]

    def base_likelihood(self, episode: Transitions) -> np.ndarray:
        """Return the log-likelihood `[n]` of transitions by means and variances of the outputs alone."""
        mean = self.kept.outputs().mean(axis=0)
        return student_density((episode.outputs() - mean) ** 2, self._spread())

    def make_plan(self) -> None:
        """Plan with the leading memory."""
        options, kept = self.options, self.kept
        low, high = self._reward_range()
        steps = options.horizon or 1 / (1 - options.discount)
        unit = options.bonus * steps * (high - low)
        plan = self.plan._replace(widths=self._refreshed_widths(self.random()))
        plan = plan._replace(numbers=np.array([unit, plan.numbers[1], 0.0]))
        shares = np.zeros((len(kept), options.num_actions))
        ages = self.clock - 1 - self.times
        shares[np.arange(len(kept)), kept.actions] = options.rates[self.leader] ** ages
        discounts = (1.0 if options.horizon else options.discount) * ~kept.ended
        bonus, inverse = plan.bonus(plan.widths), self._inverses[self.leader]
        rows = self._rows, self._next_rows
        regression = Regression(*rows, bonus, kept.rewards, discounts, shares, inverse)
        if options.horizon is not None:
            self.plan = plan._replace(weights=plan_horizon(regression, (low, high), options.horizon))
            return
        values = steps * low, steps * high
        start = plan.weights if self.has_plan else np.zeros((self.features.num, options.num_actions))
        tolerance = _TOLERANCE * steps * (high - low)
        weights, misfit = plan_discounted(regression, start, values, _SWEEPS, tolerance)
        self.plan = plan._replace(weights=weights, numbers=np.array([unit, _DOUBT * misfit, values[1]]))

    def _refreshed_widths(self, rng: np.random.Generator) -> np.ndarray:
        """Return widths `[n, A]` at the next states: of all that are unknown, and of some others, anew."""
        widths, num = self.plan.widths.copy(), len(self.kept)
        stale = np.flatnonzero(np.isnan(widths[:, 0]))
        if num <= _REFRESHED:
            stale = np.arange(num)
        elif len(stale) < _REFRESHED:
            stale = np.union1d(stale, rng.integers(num, size=_REFRESHED - len(stale)))
        widths[stale] = self._widths(self._next_rows[stale])
        return widths
