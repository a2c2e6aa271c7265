"""Scenarios: worlds that drift in all the usual ways, feedback that is late, lost or wrong, and restarts."""

from __future__ import annotations

from driftwise.scenarios.contestants import register_policy
from driftwise.scenarios.playing import Played, play_policy
from driftwise.scenarios.policies import bandit_policy, mdp_policy
from driftwise.scenarios.protocols import Context, MdpContext, MdpPolicy, Policy, Reward, Trajectory
from driftwise.scenarios.scenario import SUITES, Scenario, find_scenario, suite

__all__ = [
    "SUITES",
    "Context",
    "MdpContext",
    "MdpPolicy",
    "Played",
    "Policy",
    "Reward",
    "Scenario",
    "Trajectory",
    "bandit_policy",
    "find_scenario",
    "mdp_policy",
    "play_policy",
    "register_policy",
    "suite",
]
