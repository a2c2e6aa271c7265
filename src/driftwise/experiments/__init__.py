"""Built-in experiments: environments, agents and sizes as data, each in a file of its own."""

from __future__ import annotations

from driftwise.experiments.experiment import Experiment, Outcome, run_experiment
from driftwise.experiments.quickstart import QUICKSTART

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (QUICKSTART,)}

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "run_experiment"]
