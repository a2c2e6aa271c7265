"""Contract checks, also for agents, environments and parts of your own; a violation is a `ContractError`."""

from driftwise.checks.part_contracts import (
    ContractError,
    check_detector,
    check_drift,
    check_exploration,
    check_forgetting,
)
from driftwise.checks.run_contracts import check_agent, check_environment

__all__ = ["ContractError", "check_agent", "check_detector", "check_drift", "check_environment"]
__all__ += ["check_exploration", "check_forgetting"]
