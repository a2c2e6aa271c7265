"""Contract checks for agents, environments and parts, also for those of your own.

A violated contract raises a `ContractError` with one sentence.
"""

from __future__ import annotations

from driftwise.checks.contract import ContractError
from driftwise.checks.part_contracts import check_detector, check_drift, check_exploration, check_forgetting
from driftwise.checks.run_contracts import check_agent, check_environment

__all__ = [
    "ContractError",
    "check_agent",
    "check_detector",
    "check_drift",
    "check_environment",
    "check_exploration",
    "check_forgetting",
]
