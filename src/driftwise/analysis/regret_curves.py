"""Regret over time in an environment: the curves, who leads when, two figures of them, and the drift."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis.figures import Axis, Curve, Figure, Shade, mean_curve
from driftwise.analysis.statistics import (
    average_ranks,
    mean_interval,
    rounded_difference,
    simultaneous_test,
    trailing_mean,
)
from driftwise.environments.environment import Environment
from driftwise.environments.models.continuing_mdp import ContinuingMdp
from driftwise.environments.models.linear_mdp import LinearMdp
from driftwise.simulation.results import Result

MAX_POINTS = 400  # of a curve: about as many as a screen shows
FEWEST_RUNS = 6  # with fewer, a sign-flip test cannot reach 5 %
LEVEL = 0.05
_FAR = 1.5  # times the highest curve, beyond which the level of random actions is out of sight
_FEW_POINTS = 60  # of a curve in the background


class RegretCurves(NamedTuple):
    """Results of all agents in an environment, and what they are read against."""

    environment: str
    results: Mapping[str, Result]  # by the agent's label; all of one shape
    changes: Sequence[int] = ()  # the episodes, from 0, at which the environment jumps
    drift: np.ndarray | None = None  # [points] how far the model is from the first, 0 to 1; None: it stays
    random: float = math.nan  # mean regret of an episode with random actions
    others: Mapping[str, Sequence[Result]] = {}  # the other points of agents that are grids
    quantity: str = "regret"  # the word for what the curves are


class View(NamedTuple):
    """Curves `[runs, points]` of a result, and the pieces that they are drawn in."""

    name: str
    heading: str
    curves: Callable[[Result], np.ndarray]
    pieces: Sequence[np.ndarray]  # points, in order; as many together as a screen shows


def views(result: Result, changes: Sequence[int], quantity: str = "regret") -> tuple[View, View]:
    """Return cumulative regret, and that of an episode, for results of this shape.

    Regret of an episode is a mean over the last fiftieth of the points, and of none before the last change.
    """
    points = np.arange(len(result.lengths))
    borders = np.searchsorted(result.episodes, changes, side="right")
    pieces = [piece for piece in np.split(points, borders) if len(piece)]
    seen = [piece[thinned(len(piece), MAX_POINTS // len(pieces))] for piece in pieces]
    width = smoothing(len(points))

    def smooth(other: Result) -> np.ndarray:
        parts = [trailing_mean(other.regret[:, part], width, lengths=other.lengths[part]) for part in pieces]
        return np.concatenate(parts, axis=-1)

    total = [thinned(len(points))]
    return (
        View("cumulative", f"Cumulative {quantity}", lambda other: other.cumulative_regret, total),
        View("per-episode", f"{quantity.capitalize()} of an episode", smooth, seen),
    )


def smoothing(num_points: int) -> int:
    """Return the number of points that the regret of an episode is averaged over."""
    return max(1, num_points // 50)


def thinned(size: int, limit: int = MAX_POINTS) -> np.ndarray:
    """Return at most `limit` places from the first to the last."""
    return np.unique(np.linspace(0, size - 1, min(size, max(limit, 2))).round().astype(int))


def rank_agents(environments: Iterable[Mapping[str, Result]]) -> list[str]:
    """Return agents from the lowest to the highest rank by mean final regret, averaged over environments."""
    ranks: dict[str, list[float]] = {}
    for results in environments:
        finals = [result.cumulative_regret[:, -1].mean() for result in results.values()]
        for label, rank in zip(results, average_ranks(np.array(finals)), strict=True):
            ranks.setdefault(label, []).append(float(rank))
    return sorted(ranks, key=lambda label: float(np.mean(ranks[label])))


def find_lead_ranges(curves: Mapping[str, np.ndarray], leader: str) -> list[tuple[int, int]]:
    """Return the first and last points of curves `[runs, points]` at which the leader is below all others.

    Every other agent is compared with it by a `simultaneous_test` over all points. All of them have to
    differ, so that no correction for their number is due. Agents equal to the leader are left out.
    """
    best = curves[leader]
    differences = [rounded_difference(curve, best) for label, curve in curves.items() if label != leader]
    rivals = [rival for rival in differences if rival.any()]
    below = [(simultaneous_test(rival) <= LEVEL) & (rival.mean(axis=0) > 0) for rival in rivals]
    borders = np.flatnonzero(np.diff([False, *(np.all(below, axis=0) if below else ()), False]))
    return [(int(first), int(last) - 1) for first, last in borders.reshape(-1, 2)]


def lead_spans(results: Mapping[str, Result], view: View) -> list[tuple[int, int]]:
    """Return the first and last episodes in which the best agent is significantly below all others."""
    first = next(iter(results.values()))
    if len(first.returns) < FEWEST_RUNS or len(results) < 2:
        return []
    points = np.concatenate(view.pieces)
    curves = {label: view.curves(result)[:, points] for label, result in results.items()}
    spans = find_lead_ranges(curves, rank_agents([results])[0])
    return [(int(first.episodes[points[start]]), int(first.episodes[points[stop]])) for start, stop in spans]


def regret_figures(curves: RegretCurves, numbers: Mapping[str, int | None]) -> list[Figure]:
    """Return the figures of cumulative regret and of that of an episode, with the drift below.

    `numbers` has the colours and dashes of agents by label; without one an agent is grey, with no interval.
    """
    first = next(iter(curves.results.values()))
    episodes, last = first.episodes.astype(float), int(first.episodes[-1])
    leader, thin = rank_agents([curves.results])[0], thinned(len(episodes))
    strip = None if curves.drift is None else (first.episodes[thin], curves.drift[thin])
    figures = []
    for view in views(first, curves.changes, curves.quantity):
        places, gaps = np.concatenate(view.pieces), np.cumsum([len(piece) for piece in view.pieces])[:-1]
        means, highest = [], 0.0
        for label, number in numbers.items():
            if label in curves.results:
                mean, half_width = mean_interval(view.curves(curves.results[label])[:, places])
                band = number is not None and len(first.returns) > 1
                widths = (np.insert(half_width, gaps, np.nan),) if band else ()
                means.append(mean_curve(label, number, np.insert(mean, gaps, np.nan), *widths))
                highest = max(highest, float(np.max(mean + np.nan_to_num(half_width) * band)))
        axes = Axis("episode", limits=(0, last), integer=True), Axis(from_zero=True)
        text, about = f"{view.heading} of every agent over episodes", dict[str, Any](strip=strip)
        drawn = _background(curves, view, numbers, places, highest)
        if math.isfinite(curves.random) and curves.random > 0 and highest > 0:  # the level of random actions
            ends, is_ray = np.array([0.0, last]), view.name == "cumulative"
            unit = curves.random * last if is_ray else curves.random
            is_far = unit > _FAR * highest  # a ray ends where it leaves the figure, a level is out of sight
            ends = ends * 1.05 * highest / unit if is_far and is_ray else ends
            level = curves.random * ends if is_ray else np.full(2, math.nan if is_far else curves.random)
            drawn.append(Curve("random actions", level, x=ends, kind="reference"))
            about |= dict(unit=unit, unit_label="of random actions")
        about["x"] = np.insert(episodes[places], gaps, np.nan)
        about["marks"] = [change + 0.5 for change in curves.changes]  # after as many episodes, counted from 1
        about["shades"] = [Shade(*span, numbers[leader]) for span in lead_spans(curves.results, view)]
        figures.append(Figure(view.name, [*drawn, *means], *axes, text, view.heading, **about))
    return figures


def _background(
    curves: RegretCurves, view: View, numbers: Mapping[str, int | None], places: np.ndarray, highest: float
) -> list[Curve]:
    """Return the other points of every grid as one curve, as far as they leave room for the rest."""
    first = next(iter(curves.results.values()))
    few, faint = places[thinned(len(places), _FEW_POINTS)], []
    for label, others in curves.others.items():
        if others:
            means = np.stack([view.curves(other)[:, few].mean(axis=0) for other in others])
            y = np.where(means > _FAR * highest, np.nan, means)
            y = np.pad(y, ((0, 0), (0, 1)), constant_values=np.nan).ravel()
            x = np.tile(np.append(first.episodes[few].astype(float), np.nan), len(means))
            faint.append(Curve(label, y, numbers[label], x=x, kind="background", agent=label))
    return faint


def model_paths(environment: Environment, episodes: np.ndarray) -> dict[str, np.ndarray]:
    """Return points `[T, n]` with the distances of the models of the episodes; those of rewards first."""
    environment = environment.tables if isinstance(environment, ContinuingMdp) else environment
    if not isinstance(environment, LinearMdp):
        return {"parameter θ": environment.at(episodes)}
    mixture, paths = environment.at(episodes), {}
    for name, anchors in {"rewards θ": environment.theta, "transitions μ": environment.mu}.items():
        # the anchors in the space that they span, [J, J] at most, with the same distances
        left, sizes, _ = np.linalg.svd(anchors.reshape(len(anchors), -1), full_matrices=False)
        paths[name] = mixture @ (left * sizes)
    return paths


def relative_distances(environment: Environment, episodes: np.ndarray) -> np.ndarray | None:
    """Return the larger distance of rewards and transitions, each over its largest; `None` if constant."""
    paths = model_paths(environment, episodes).values()
    distances = [np.linalg.norm(path - path[0], axis=-1) for path in paths]
    shares = [distance / distance.max() for distance in distances if distance.max() > 0]
    return np.max(shares, axis=0) if shares else None
