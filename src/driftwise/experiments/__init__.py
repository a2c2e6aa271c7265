"""Experiments: environments, agents and sizes as data, one file each, and folders of their results."""

from driftwise.base.extras import require_extra

with require_extra("experiments", "cli"):
    from driftwise.experiments.experiment import EXPERIMENTS, Experiment, experiment_of, find_experiment
    from driftwise.experiments.outcomes import AgentOutcome, Progress, run_experiment, run_study
    from driftwise.experiments.study import Study, load_experiment, prepare

__all__ = [
    "EXPERIMENTS", "AgentOutcome", "Experiment", "Progress", "Study", "experiment_of", "find_experiment",
    "load_experiment", "prepare", "run_experiment", "run_study",
]  # fmt: skip
