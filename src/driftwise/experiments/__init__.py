"""Experiments: environments, agents and sizes as data, each in a file of its own."""

from __future__ import annotations

from driftwise.experiments.experiment import Experiment
from driftwise.experiments.files import EXPERIMENTS, find_experiment, load_experiment
from driftwise.experiments.running import Outcome, run_experiment

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "find_experiment", "load_experiment", "run_experiment"]
