"""Experiments: environments, agents and sizes as data, each in a file of its own."""

from __future__ import annotations

from driftwise.base.extras import needed_by

with needed_by("experiments", "cli"):
    from driftwise.experiments.experiment import Experiment
    from driftwise.experiments.files import EXPERIMENTS, find_experiment, load_experiment
    from driftwise.experiments.running import Outcome, run_experiment, run_study
    from driftwise.experiments.study import Study, prepare

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Outcome",
    "Study",
    "find_experiment",
    "load_experiment",
    "prepare",
    "run_experiment",
    "run_study",
]
