"""Off-policy replay: what an agent would have earned, from decisions that somebody else made and logged."""

from __future__ import annotations

from driftwise.online.replay.estimates import Estimate, Estimates
from driftwise.online.replay.logs import Log
from driftwise.online.replay.replaying import Replay, Window, replay

__all__ = ["Estimate", "Estimates", "Log", "Replay", "Window", "replay"]
