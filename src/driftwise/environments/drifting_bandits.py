"""Makers of drifting linear bandits: prices, news, published ones, and the instance behind a lower bound."""

from __future__ import annotations

import itertools
import math

import numpy as np

from driftwise.base.resources import count_bytes, require_memory
from driftwise.base.schema import AtLeastTwo, Count, Positive, Seed
from driftwise.base.validation import ArgumentError, require_array, require_count, require_number
from driftwise.environments.arms import Arms, ContextArms, FixedArms, FreshArms, orthogonal_arms, require_arms
from driftwise.environments.drift.curves import Drift, require_drift
from driftwise.environments.environment import register_environment
from driftwise.environments.models.linear_bandit import BanditRewards, Corruption, LinearBandit
from driftwise.environments.paths import Mixture, ParameterPath, Rotation, Sinusoid, abrupt_path
from driftwise.parts.links import LinkName


@register_environment
def linear_bandit(
    *,
    arms: Arms,
    path: ParameterPath,
    rewards: BanditRewards = "gaussian",
    noise_scale: float = 1.0,
    link: LinkName = "identity",
    corruption: Corruption | None = None,
) -> LinearBandit:
    """Arms of `dw.arms`, a path of `dw.paths` for their parameter, a link, and noise, coins or counts."""
    return LinearBandit(arms, path, rewards, noise_scale, link=link, corruption=corruption)


@register_environment
def dynamic_pricing(
    *,
    num_prices: AtLeastTwo = 20,
    highest: Positive = 1.0,
    demands: tuple[tuple[float, float], ...] = ((1.0, 0.5), (1.0, 0.95)),
    drift: Drift | None = None,
    noise_scale: float = 0.1,
) -> LinearBandit:
    """A price from a grid, a demand that is linear in it: the reward is the revenue.

    Each of `demands` is an anchor `(a, b)`: at the price p the demand is `a − bp`, and the revenue `ap − bp²`
    linear in the features `(p, −p²)` over the longest. Parameters may be longer than 1: see `norm_bound`.
    """
    anchors = require_array("demands", demands, (None, 2))
    drift = require_drift(drift, len(anchors), "one for each of demands")
    require_arms(num_prices, 2)
    prices = np.linspace(0, highest, num_prices + 1)[1:]
    if (lowest := (anchors[:, :1] - anchors[:, 1:] * prices).min()) < 0:
        raise ArgumentError("demands", "stay at least 0 up to the highest price", lowest, f"{lowest:.6g}")
    features = np.stack([prices, -np.square(prices)], axis=1)
    unit = np.linalg.norm(features, axis=1).max()
    path = Mixture(anchors[: drift.num_anchors] * unit, drift)
    return LinearBandit(FixedArms(features / unit), path, "gaussian", noise_scale)


@register_environment
def news(
    *,
    num_articles: AtLeastTwo = 20,
    num_topics: AtLeastTwo = 5,
    num_pages: Count = 30,
    drift: Drift | None = None,
    seed: Seed = 0,
) -> LinearBandit:
    """A page of articles a round, a click or none: which topics readers like drifts.

    A page is one of `num_pages` selections of at least half of `num_articles` articles; an article is a
    mixture of topics (drawn from `seed`), and the probability of a click is the mixture of the topics'
    appeals, between 0.02 and 0.3. Every anchor of the drift has other favourites.
    """
    drift = require_drift(drift)
    require_arms(num_pages, num_articles, num_topics)
    require_arms(drift.num_anchors, num_topics)
    rng = np.random.default_rng(seed)
    articles = rng.dirichlet(np.full(num_topics, 0.4), size=num_articles)
    pages = np.zeros((num_pages, num_articles, num_topics))
    for page in pages:
        size = int(rng.integers(-(-num_articles // 2), num_articles, endpoint=True))
        page[:size] = articles[rng.choice(num_articles, size, replace=False)]
    appeal = rng.uniform(0.02, 0.3, size=(drift.num_anchors, num_topics))
    return LinearBandit(ContextArms(pages), Mixture(appeal, drift), "bernoulli")


@register_environment
def cheung_two_armed(
    *, num_rounds: Count = 10_000, budget: Positive = 1.0, noise_scale: float = 0.1
) -> LinearBandit:
    """Two arms without anything in common, whose means swing against each other.

    `θ(t) = 0.5 ± 0.3 sin(5Bπt/T)` at the rounds `t = 1, 2, …, T`, of length `3√2 B`; B is the `budget`.
    Reference: Cheung, Simchi-Levi & Zhu, "Learning to Optimize under Non-Stationarity", AISTATS 2019.
    """
    period = 2 * num_rounds / (5 * budget)
    first = 2 * math.pi / period  # paths count rounds from 0
    swing = Sinusoid(centre=(0.5, 0.5), amplitude=(0.3, -0.3), phase=(first, first), period=period)
    return LinearBandit(orthogonal_arms(2), swing, "gaussian", noise_scale)


@register_environment
def russac_abrupt(*, num_rounds: int = 6000, noise_scale: float = 1.0) -> LinearBandit:
    """Fifty fresh arms of the plane a round; the parameter jumps at 1/6, 1/3 and 1/2 of the rounds.

    `θ = (1, 0)`, `(−1, 0)`, `(0, 1)`, `(0, −1)`: a variation of `4 + √2`. Reference: Russac, Vernade & Cappé,
    "Weighted Linear Bandits for Non-Stationary Environments", NeurIPS 2019 (6000 rounds, noise 1).
    """
    num_rounds = require_count("num_rounds", num_rounds, at_least=6)
    at = tuple(num_rounds * share // 6 for share in (1, 2, 3))
    path = abrupt_path(((1, 0), (-1, 0), (0, 1), (0, -1)), at)
    return LinearBandit(FreshArms(num_arms=50, dim=2), path, "gaussian", noise_scale)


@register_environment
def russac_smooth(*, num_rounds: AtLeastTwo = 6000, noise_scale: float = 1.0) -> LinearBandit:
    """Fifty fresh arms of the plane a round; the parameter turns by 90° in the first half, then rests.

    In steps of `90°/(T/2)`, from 0° in the first round on, as in the authors' code. Reference: as
    `russac_abrupt`.
    """
    turn = Rotation(start=0.0, end=math.pi / 2, rounds=num_rounds // 2)
    return LinearBandit(FreshArms(num_arms=50, dim=2), turn, "gaussian", noise_scale)


@register_environment
def wang_logistic(
    *, num_rounds: Count = 6000, norm_bound: Positive = 1.0, num_arms: AtLeastTwo = 50, seed: Seed = 0
) -> LinearBandit:
    """Fifty fixed arms of the plane, clicks, and a parameter that turns once around a circle.

    Arms are N(0, I), drawn from `seed`, each scaled to length one; `‖θ‖ = norm_bound` in every round.
    Reference: Wang, Zhao & Zhou, "Revisiting Weighted Strategy for Non-stationary Parametric Bandits",
    AISTATS 2023 (6000 rounds, a `norm_bound` of 1 and of 5).
    """
    require_arms(num_arms, 2)
    arms = np.random.default_rng(seed).normal(size=(num_arms, 2))
    arms /= np.linalg.norm(arms, axis=-1, keepdims=True)
    turn = Rotation(start=0.0, end=2 * math.pi, rounds=num_rounds, radius=norm_bound)
    return LinearBandit(FixedArms(arms), turn, "bernoulli", link="logistic")


@register_environment
def russac_logistic(*, num_rounds: int = 8000, norm_bound: Positive = 6.0) -> LinearBandit:
    """Fifty fresh arms of the plane a round, clicks, and a parameter that jumps once, half-way.

    From the angle 2π/3 to 4π/3, at length `norm_bound`. Reference: Russac, Faury, Cappé & Garivier,
    "Self-Concordant Analysis of Generalized Linear Bandits with Forgetting", AISTATS 2021 (8000 rounds, a
    `norm_bound` of 6 and of 7). Arms on the unit circle are ours.
    """
    num_rounds = require_count("num_rounds", num_rounds, at_least=2)
    angles = (2 * math.pi / 3, 4 * math.pi / 3)
    values = tuple((norm_bound * math.cos(angle), norm_bound * math.sin(angle)) for angle in angles)
    path = abrupt_path(values, (num_rounds // 2,))
    return LinearBandit(FreshArms(50, 2, "sphere"), path, "bernoulli", link="logistic")


@register_environment
def hard_bandit(
    *,
    dim: Count = 4,
    num_rounds: Count = 6000,
    segments: Count = 4,
    gap: float | None = None,
    noise_scale: float = 1.0,
    seed: Seed = 0,
) -> LinearBandit:
    """`θ = ±gap` in every coordinate, signs redrawn in each segment; arms are the corners `±1/√d`.

    The `gap` is at most `1/√d`, and unless given `√(d/n)/4` with `n` rounds in a segment: too few to find all
    signs under noise of deviation 1, which makes the lower bound `d^(2/3) Δ^(1/3) K^(2/3)`.
    Reference: Cheung, Simchi-Levi & Zhu 2019, Theorem 1.
    """
    if dim > 10:
        raise ArgumentError("dim", "be at most 10 (there are 2^dim arms)", dim)
    if segments > num_rounds:
        raise ArgumentError("segments", f"be at most num_rounds = {num_rounds}", segments)
    largest, usual = 1 / math.sqrt(dim), math.sqrt(dim / (num_rounds / segments)) / 4
    wanted = min(usual, largest) if gap is None else gap
    gap = require_number("gap", wanted, above=0, at_most=largest)
    require_memory("segments", 5 * count_bytes((segments, dim)), f"segments = {segments}")
    rng = np.random.default_rng(seed)
    signs = rng.choice((-1.0, 1.0), (segments, dim))
    for before, after in itertools.pairwise(signs):
        if (before == after).all():
            after[rng.integers(dim)] *= -1
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=dim))) / math.sqrt(dim)
    at = tuple(num_rounds * segment // segments for segment in range(1, segments))
    return LinearBandit(FixedArms(corners), abrupt_path(gap * signs, at), "gaussian", noise_scale)
