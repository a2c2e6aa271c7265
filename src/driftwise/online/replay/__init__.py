"""Off-policy replay: estimates of an agent's mean reward from decisions that another policy made."""

from __future__ import annotations

from driftwise.base.extras import needed_by

with needed_by("replay", "cli"):
    from driftwise.online.replay.estimates import Estimate, Estimates
    from driftwise.online.replay.logs import Log
    from driftwise.online.replay.replaying import Replay, Window, replay
    from driftwise.online.replay.samples import Samples, read_samples

__all__ = ["Estimate", "Estimates", "Log", "Replay", "Samples", "Window", "read_samples", "replay"]
