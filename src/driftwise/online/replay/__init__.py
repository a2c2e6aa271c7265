"""Off-policy replay: estimates of policies' mean rewards from decisions that another policy made."""

from __future__ import annotations

from driftwise.base.extras import needed_by

with needed_by("replay", "cli"):
    from driftwise.online.replay.estimates import Estimate, Estimates
    from driftwise.online.replay.evaluations import Evaluation, Window
    from driftwise.online.replay.logs import Log
    from driftwise.online.replay.options import Options
    from driftwise.online.replay.replaying import Replay, replay
    from driftwise.online.replay.samples import Samples, read_samples
    from driftwise.online.replay.sequences import Interval

__all__ = [
    "Estimate",
    "Estimates",
    "Evaluation",
    "Interval",
    "Log",
    "Options",
    "Replay",
    "Samples",
    "Window",
    "read_samples",
    "replay",
]
