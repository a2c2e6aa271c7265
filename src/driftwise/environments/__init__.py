"""Environments: paths of linear MDPs and of linear bandits, each checked when it is made."""

from __future__ import annotations

from driftwise.environments.bandits.cheung_two_armed import cheung_two_armed
from driftwise.environments.bandits.dynamic_pricing import dynamic_pricing
from driftwise.environments.bandits.hard_bandit import hard_bandit
from driftwise.environments.bandits.linear_bandit import linear_bandit
from driftwise.environments.bandits.news import news
from driftwise.environments.bandits.russac import russac_abrupt, russac_smooth
from driftwise.environments.combination_lock import combination_lock
from driftwise.environments.environment import Environment
from driftwise.environments.latent_chains import latent_chains
from driftwise.environments.linear_bandit import LinearBandit
from driftwise.environments.linear_mdp import LinearMdp
from driftwise.environments.random_linear_mdp import random_linear_mdp
from driftwise.environments.registry import ENVIRONMENTS

__all__ = [
    "ENVIRONMENTS",
    "Environment",
    "LinearBandit",
    "LinearMdp",
    "cheung_two_armed",
    "combination_lock",
    "dynamic_pricing",
    "hard_bandit",
    "latent_chains",
    "linear_bandit",
    "news",
    "random_linear_mdp",
    "russac_abrupt",
    "russac_smooth",
]
