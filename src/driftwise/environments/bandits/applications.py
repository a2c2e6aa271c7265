"""Bandits after applications: prices under a drifting demand, articles for readers whose taste drifts."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Count, Positive, Seed, Several
from driftwise.base.validation import ArgumentError, require_array
from driftwise.environments.arms import ContextArms, FixedArms
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.paths import Mixture
from driftwise.environments.registry import register


@register
def dynamic_pricing(
    *,
    num_prices: Several = 20,
    highest: Positive = 1.0,
    demands: tuple[tuple[float, float], ...] = ((1.0, 0.5), (1.0, 0.95)),
    drift: Drift | None = None,
    noise_scale: float = 0.1,
) -> LinearBandit:
    """A price from a grid, a demand that is linear in it: the reward is the revenue.

    At the price p the demand is `a − bp`, so the revenue `ap − bp²` is linear in the features `(p, −p²)`;
    both are divided by the longest of them, and the parameter multiplied, so that features stay in the unit
    ball. The parameter may be longer than 1, which recipes assume unless told: see `norm_bound` of the
    environment. Each of `demands` is a pair `(a, b)`, an anchor of the drift; a drift with fewer anchors
    takes the first ones, and without a `drift` the first demand stays.
    """
    anchors = require_array("demands", demands, (None, 2))
    drift = checked_drift(drift, len(anchors), "one for each of demands")
    prices = np.linspace(0, highest, num_prices + 1)[1:]
    lowest = (anchors[:, :1] - anchors[:, 1:] * prices).min()
    if lowest < 0:
        raise ArgumentError("demands", "stay at least 0 up to the highest price", lowest, f"{lowest:.6g}")
    features = np.stack([prices, -np.square(prices)], axis=1)
    unit = np.linalg.norm(features, axis=1).max()
    path = Mixture(anchors[: drift.num_anchors] * unit, drift)
    return LinearBandit(FixedArms(features / unit), path, "gaussian", noise_scale)


@register
def news(
    *,
    num_articles: Several = 20,
    num_topics: Several = 5,
    num_pages: Count = 30,
    drift: Drift | None = None,
    seed: Seed = 0,
) -> LinearBandit:
    """A page of articles a round, a click or none: which topics readers like drifts.

    A page is one of `num_pages` selections of at least half of `num_articles` articles; an article is a
    mixture of topics (drawn from `seed`), and the probability of a click is the mixture of the topics'
    appeals, between 0.02 and 0.3. Every anchor of the drift has other favourites; without
    a `drift` tastes stay as they are.
    """
    drift = checked_drift(drift)
    rng = np.random.default_rng(seed)
    articles = rng.dirichlet(np.full(num_topics, 0.4), size=num_articles)
    pages = np.zeros((num_pages, num_articles, num_topics))
    for page in pages:
        size = int(rng.integers(-(-num_articles // 2), num_articles, endpoint=True))
        page[:size] = articles[rng.choice(num_articles, size, replace=False)]
    appeal = rng.uniform(0.02, 0.3, size=(drift.num_anchors, num_topics))
    return LinearBandit(ContextArms(pages), Mixture(appeal, drift), "bernoulli")
