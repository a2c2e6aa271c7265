"""Articles for readers whose taste drifts."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Count, Seed, Several
from driftwise.environments.arms import ContextArms, require_arms
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.paths import Mixture
from driftwise.environments.registry import register


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
