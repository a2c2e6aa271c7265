"""Scenarios: problems with all usual kinds of drift, feedback that is late, lost or wrong, and restarts."""

from driftwise.scenarios.contestants import (
    MdpPolicy,
    ScenarioPolicy,
    bandit_policy,
    mdp_policy,
    register_policy,
)
from driftwise.scenarios.playing import ScenarioRun, play_policy
from driftwise.scenarios.rounds import Context, MdpContext, Reward, Trajectory
from driftwise.scenarios.scenario import SUITES, Scenario, find_scenario, suite

__all__ = ["SUITES", "Context", "MdpContext", "MdpPolicy", "Reward", "Scenario", "ScenarioPolicy"]
__all__ += ["ScenarioRun", "Trajectory", "bandit_policy", "find_scenario", "mdp_policy", "play_policy"]
__all__ += ["register_policy", "suite"]
