"""Contracts: what every agent, environment and part keeps, for your own tests of your own.

```python
import driftwise as dw

dw.checks.check_drift(my_drift)
dw.checks.check_environment(my_environment)
dw.checks.check_forgetting(my_forgetting)
dw.checks.check_agent(my_agent, my_environment)
```

A broken contract is a `ContractError` that says which, in one sentence.
"""

from __future__ import annotations

from driftwise.checks.agents import check_agent
from driftwise.checks.contract import ContractError
from driftwise.checks.detectors import check_detector
from driftwise.checks.drifts import check_drift
from driftwise.checks.environments import check_environment
from driftwise.checks.exploration import check_exploration
from driftwise.checks.forgetting import check_forgetting

__all__ = [
    "ContractError",
    "check_agent",
    "check_detector",
    "check_drift",
    "check_environment",
    "check_exploration",
    "check_forgetting",
]
