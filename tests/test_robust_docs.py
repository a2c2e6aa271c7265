"""The examples of docs/robust.md run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from driftwise.environments.corruption import WrongUnit
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.experiments.building import make_environment

PAGE = (Path(__file__).parent.parent / "docs" / "robust.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_run():
    (python,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(python, {})
    (table,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    environment = make_environment("environment", tomllib.loads(table)["environment"], 50)
    assert isinstance(environment, LinearBandit)
    assert environment.corruption == WrongUnit(0.01, -1.0)
