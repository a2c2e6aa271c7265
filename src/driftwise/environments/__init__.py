"""Environments: paths of linear MDPs, each checked when it is made."""

from __future__ import annotations

from collections.abc import Callable

from driftwise.environments.combination_lock import combination_lock
from driftwise.environments.latent_chains import latent_chains
from driftwise.environments.linear_mdp import LinearMdp
from driftwise.environments.random_linear_mdp import random_linear_mdp

ENVIRONMENTS: dict[str, Callable[..., LinearMdp]] = {
    maker.__name__: maker for maker in (random_linear_mdp, latent_chains, combination_lock)
}

__all__ = ["ENVIRONMENTS", "LinearMdp", "combination_lock", "latent_chains", "random_linear_mdp"]
