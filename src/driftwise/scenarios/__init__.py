"""Scenarios: worlds that drift in all the usual ways, feedback that is late, lost or wrong, and restarts."""

from __future__ import annotations

from driftwise.scenarios.contestants import register_policy
from driftwise.scenarios.feedback import Reward
from driftwise.scenarios.playing import Context, Played, Policy, bandit_policy, play_policy
from driftwise.scenarios.scenario import SUITES, Scenario, find_scenario, suite

__all__ = [
    "SUITES",
    "Context",
    "Played",
    "Policy",
    "Reward",
    "Scenario",
    "bandit_policy",
    "find_scenario",
    "play_policy",
    "register_policy",
    "suite",
]
