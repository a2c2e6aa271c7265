"""Environments: paths of linear MDPs, each checked when it is made."""

from __future__ import annotations

from driftwise.environments.combination_lock import combination_lock
from driftwise.environments.latent_chains import latent_chains
from driftwise.environments.linear_mdp import LinearMdp
from driftwise.environments.random_linear_mdp import random_linear_mdp
from driftwise.environments.registry import ENVIRONMENTS

__all__ = ["ENVIRONMENTS", "LinearMdp", "combination_lock", "latent_chains", "random_linear_mdp"]
