"""Environments: paths of linear MDPs, bandits and MDPs without episodes, each checked when it is made."""

from __future__ import annotations

from driftwise.environments.average_reward.continuing_river_swim import continuing_river_swim
from driftwise.environments.average_reward.random_communicating_mdp import random_communicating_mdp
from driftwise.environments.average_reward.two_state_switch import two_state_switch
from driftwise.environments.bandits.cheung_two_armed import cheung_two_armed
from driftwise.environments.bandits.dynamic_pricing import dynamic_pricing
from driftwise.environments.bandits.hard_bandit import hard_bandit
from driftwise.environments.bandits.linear_bandit import linear_bandit
from driftwise.environments.bandits.news import news
from driftwise.environments.bandits.russac import russac_abrupt, russac_smooth
from driftwise.environments.environment import Environment
from driftwise.environments.mdps.admission_control import admission_control
from driftwise.environments.mdps.combination_lock import combination_lock
from driftwise.environments.mdps.deep_sea import deep_sea
from driftwise.environments.mdps.four_rooms import four_rooms
from driftwise.environments.mdps.hard_instance import hard_instance
from driftwise.environments.mdps.inventory import inventory
from driftwise.environments.mdps.latent_chains import latent_chains
from driftwise.environments.mdps.machine_replacement import machine_replacement
from driftwise.environments.mdps.oil_discovery import oil_discovery
from driftwise.environments.mdps.random_linear_mdp import random_linear_mdp
from driftwise.environments.mdps.river_swim import river_swim
from driftwise.environments.models.continuing_mdp import ContinuingMdp, continuing_mdp
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.models.linear_mdp import LinearMdp
from driftwise.environments.registry import ENVIRONMENTS

__all__ = [
    "ENVIRONMENTS",
    "ContinuingMdp",
    "Environment",
    "LinearBandit",
    "LinearMdp",
    "admission_control",
    "cheung_two_armed",
    "combination_lock",
    "continuing_mdp",
    "continuing_river_swim",
    "deep_sea",
    "dynamic_pricing",
    "four_rooms",
    "hard_bandit",
    "hard_instance",
    "inventory",
    "latent_chains",
    "linear_bandit",
    "machine_replacement",
    "news",
    "oil_discovery",
    "random_communicating_mdp",
    "random_linear_mdp",
    "river_swim",
    "russac_abrupt",
    "russac_smooth",
    "two_state_switch",
]
