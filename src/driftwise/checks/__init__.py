"""Contract checks for agents, environments and parts, also for those of your own.

```python
import driftwise as dw

dw.checks.check_drift(my_drift)
dw.checks.check_environment(my_environment)
dw.checks.check_forgetting(my_forgetting)
dw.checks.check_agent(my_agent, my_environment)
```

A violated contract raises a `ContractError` with one sentence.
"""

from __future__ import annotations

from driftwise.checks.agent_contract import check_agent
from driftwise.checks.contract import ContractError
from driftwise.checks.environment_contract import check_environment
from driftwise.checks.part_contracts import check_detector, check_drift, check_exploration, check_forgetting

__all__ = [
    "ContractError",
    "check_agent",
    "check_detector",
    "check_drift",
    "check_environment",
    "check_exploration",
    "check_forgetting",
]
