"""UCBVI and Q-learning as their papers print them, line by line."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from driftwise.base import Episode, Spec
from tests.reference.plain import Planned, Weight, remember, steps


def ucbvi(
    history: Sequence[Episode],
    spec: Spec,
    *,
    scale: float,
    log_term: float,
    bonus: str,
    shared: bool,
    ceilings: Sequence[float],
    rewards: np.ndarray | None = None,
    previous: np.ndarray | None = None,
    weight: Weight = remember,
) -> Planned:
    """Azar, Osband & Munos 2017, Algorithms 2 to 4: the plan of the next episode.

    In print steps are `shared`, rewards `[H, S, A]` are told, Q is at most the `previous` one, and all
    ceilings are H.
    """
    horizon, num_states, num_actions, t = spec.horizon, spec.num_states, spec.num_actions, len(history)
    q, estimates = np.zeros((2, horizon, num_states, num_actions))
    value = np.zeros(num_states)  # V_{h+1}
    for h in reversed(range(horizon)):
        for s, a in np.ndindex(num_states, num_actions):
            met = [  # (weight, reward, successor) of the visits
                (weight(t, tau), episode.rewards[step], int(episode.successors[step]))
                for tau, episode in enumerate(history)
                for step in range(horizon)
                if (shared or step == h) and (episode.states[step], episode.actions[step]) == (s, a)
            ]
            count = sum(w for w, _, _ in met)
            q[h, s, a] = ceilings[h]
            if count > 0:
                kernel = np.array([sum(w for w, _, y in met if y == to) / count for to in range(num_states)])
                learnt = sum(w * r for w, r, _ in met) / count
                estimates[h, s, a] = kernel @ value + (learnt if rewards is None else rewards[h, s, a])
                if bonus == "hoeffding":
                    b = 7 * horizon * log_term * math.sqrt(1 / count)
                else:
                    variance = kernel @ (value - kernel @ value) ** 2
                    b = math.sqrt(8 * log_term * variance / count) + 14 * horizon * log_term / (3 * count)
                    if h + 1 < horizon:  # nothing is uncertain after the last step
                        spread = 100**2 * horizon**3 * num_states**2 * num_actions * log_term**2
                        later = [
                            (weight(t, tau), episode.states[h + 1]) for tau, episode in enumerate(history)
                        ]
                        reached = [sum(w for w, x in later if x == y) for y in range(num_states)]  # N'
                        gaps = [min(spread / n, horizon**2) if n > 0 else horizon**2 for n in reached]
                        b += math.sqrt(8 / count * (kernel @ gaps))
                    if rewards is None:
                        b += math.sqrt(8 * log_term * learnt * (1 - learnt) / count)
                q[h, s, a] = min(ceilings[h], estimates[h, s, a] + scale * b)
            if previous is not None:
                q[h, s, a] = min(previous[h, s, a], q[h, s, a])
        value = q[h].max(axis=-1)
    return Planned(q, q.max(axis=-1), q - estimates)


def tables(spec: Spec, most: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Q `[H, S, A]` and V `[H, S]` that are `most` in each step."""
    column = np.array(most, dtype=float)[:, None]
    return np.tile(column[..., None], (1, spec.num_states, spec.num_actions)), np.tile(
        column, (1, spec.num_states)
    )


def q_ucb(
    played: Iterable[Episode],
    spec: Spec,
    *,
    scale: float,
    log_term: float,
    tight: bool = False,
    variance_scale: float | None = None,
) -> Iterator[Planned]:
    """Jin, Allen-Zhu, Bubeck & Jordan 2018, Algorithm 1; with a scale of the variance Algorithm 2."""
    horizon = spec.horizon
    most = [horizon - h if tight else horizon for h in range(horizon)]
    q, v = tables(spec, most)
    met: dict[tuple[int, int, int], list[float]] = defaultdict(list)
    beta: dict[tuple[int, int, int], float] = defaultdict(float)
    for episode in played:
        yield Planned(q.copy(), v.copy())
        for at, reward, _, ahead in steps(episode, v):
            met[at].append(ahead)
            t = len(met[at])
            alpha = (horizon + 1) / (horizon + t)
            bonus = scale * math.sqrt(horizon**3 * log_term / t)
            if variance_scale is not None:
                variance = float(np.var(met[at]))
                rest = math.sqrt(horizon**7 * spec.num_states * spec.num_actions) * log_term / t
                bernstein = math.sqrt(horizon * (variance + horizon) * log_term / t) + rest
                last, beta[at] = beta[at], min(variance_scale * bernstein, bonus)
                bonus = (beta[at] - (1 - alpha) * last) / (2 * alpha)
            q[at] = (1 - alpha) * q[at] + alpha * (reward + ahead + bonus)
            v[at[:2]] = min(most[at[0]], max(q[at[:2]]))


def ends_of_stages(horizon: int, up_to: int) -> set[int]:
    """`L`: the numbers of visits `e_1 + … + e_j` at which stages end."""
    ends, length, total = set(), horizon, 0
    while total <= up_to:
        total += length
        ends.add(total)
        length = math.floor((1 + 1 / horizon) * length + 1e-9)  # (1 + 1/H) e is a whole number for e = H
    return ends


def restart_q_ucb(
    played: Iterable[Episode],
    spec: Spec,
    *,
    period: int,
    scale: float,
    log_term: float,
    drift_bonus: float = 0.0,
    reference_after: int | None = None,
) -> Iterator[Planned]:
    """Mao, Zhang, Zhu, Simchi-Levi & Başar 2021, Algorithm 1; with reference values Algorithm 2.

    It keeps the numbers that the paper keeps sums of.
    """
    horizon, iota = spec.horizon, log_term
    ends = ends_of_stages(horizon, 10**4)
    q = v = v_ref = np.zeros(0)
    references, rewards, values, advantages = (defaultdict(list) for _ in range(4))
    arrivals = defaultdict(int)
    for k, episode in enumerate(played):
        if k % period == 0:  # a new epoch
            q, v = tables(spec, range(horizon, 0, -1))
            v_ref = np.full_like(v, horizon)
            for table in (references, rewards, values, advantages, arrivals):
                table.clear()
        yield Planned(q.copy(), v.copy())
        for at, reward, s_next, ahead in steps(episode, v):
            h, s, _ = at
            reference = v_ref[h + 1, s_next] if h + 1 < horizon else 0.0
            references[at].append(reference)
            rewards[at].append(reward)
            values[at].append(ahead)
            advantages[at].append(ahead - reference)
            n, n_stage = len(references[at]), len(values[at])
            if n in ends:
                plain = math.sqrt(horizon**2 * iota / n_stage) + math.sqrt(iota / n_stage)
                mean = np.mean(rewards[at])
                q[at] = min(q[at], mean + np.mean(values[at]) + scale * plain + 2 * drift_bonus)
                if reference_after is not None:
                    width = (
                        2 * math.sqrt(np.var(references[at]) * iota / n)
                        + 2 * math.sqrt(np.var(advantages[at]) * iota / n_stage)
                        + 5 * horizon * iota / n
                        + 5 * horizon * iota / n_stage
                        + 5 * horizon * iota ** (3 / 4) / n ** (3 / 4)
                        + 5 * horizon * iota ** (3 / 4) / n_stage ** (3 / 4)
                        + math.sqrt(iota / n_stage)
                    )
                    split = mean + np.mean(references[at]) + np.mean(advantages[at])
                    q[at] = min(q[at], split + 2 * scale * width + 4 * drift_bonus)
                v[h, s] = max(q[h, s])
                for table in (rewards, values, advantages):
                    table[at] = []
            arrivals[h, s] += 1
            if arrivals[h, s] == reference_after:
                v_ref[h, s] = v[h, s]
