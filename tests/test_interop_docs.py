"""The examples of docs/interop.md run, with the tools themselves or with stand-ins where there are none."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest

import driftwise as dw
from driftwise.experiments import EXPERIMENTS
from driftwise.simulation import running
from tests.experiments.test_experiments import pretend

PAGE = (Path(__file__).parent.parent / "docs" / "interop.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
TOOLS = ("torch.utils.tensorboard", "mlflow", "optuna")
CURVES = "agent,run,episode,reward\nA,0,1,0.5\nA,1,1,0.6\nB,0,1,0.7\nB,1,1,0.9\n"


class Pruned(Exception):
    """Optuna's sign to end a trial."""


def stand_in(monkeypatch: pytest.MonkeyPatch, tool: str) -> Any:
    """A module of that name to which everything can be told."""
    module: Any = ModuleType(tool)
    module.told = []
    if tool == "mlflow":
        module.log_metric = lambda name, value, step: module.told.append((name, step, value))
        module.start_run = MagicMock()
    elif tool == "optuna":
        module.TrialPruned = Pruned
        module.create_study = lambda: MagicMock(optimize=optimised(module))
    else:
        writer = MagicMock(add_scalar=lambda name, value, step: module.told.append((name, step, value)))
        module.SummaryWriter = lambda folder: writer
    monkeypatch.setitem(sys.modules, tool, module)
    return module


def optimised(module: Any) -> Any:
    """Two trials: one that ends, and one that is pruned at its second chunk."""

    def optimise(objective: Any, n_trials: int) -> None:
        for number in range(2):
            steps: list[int] = []
            trial = MagicMock(
                suggest_float=lambda name, low, high, log: {"forgetting": 0.03, "radius": 0.1}[name],
                report=lambda value, step, steps=steps: steps.append(step),
                should_prune=lambda steps=steps, number=number: bool(number) and len(steps) == 2,
            )
            try:
                module.told.append((steps, objective(trial)))
            except Pruned:
                module.told.append((steps, None))

    return optimise


def test_every_example_runs_and_trackers_hear_the_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "run_task", pretend)  # the experiment's agents are not compiled
    Path("curves.csv").write_text(CURVES, encoding="utf-8")
    stands: dict[str, Any] = {}
    for tool in TOOLS:
        try:
            importlib.import_module(tool)
        except ModuleNotFoundError:
            stands[tool] = stand_in(monkeypatch, tool)
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, names)
    result: dw.Result = names["result"]
    ends = [256, 512, 600]
    means = [result.cumulative_regret[:, end - 1].mean() for end in ends]
    expected = [f"episode {end}: regret {mean:.1f}" for end, mean in zip(ends, means, strict=True)]
    assert capsys.readouterr().out.splitlines()[:3] == expected
    told = [("regret", end, pytest.approx(mean)) for end, mean in zip(ends, means, strict=True)]
    if "torch.utils.tensorboard" in stands:
        scalars = stands["torch.utils.tensorboard"].told
        assert scalars[:3] == told
        agents = [f"combination_lock/{label}/0" for label in EXPERIMENTS["quickstart"].agents]
        assert [name for name, *_ in scalars[3:]] == agents
    if "mlflow" in stands:
        assert stands["mlflow"].told == told
    if "optuna" in stands:
        assert stands["optuna"].told == [(ends, pytest.approx(means[-1])), (ends[:2], None)]
