"""Off-policy replay: estimates of policies' mean rewards from decisions that another policy made."""

from driftwise.base.extras import require_extra
from driftwise.online.intervals import Interval

with require_extra("replay", "cli"):
    from driftwise.online.replay.evaluations import Estimate, Estimates, PolicyEvaluation, Window
    from driftwise.online.replay.logged_rows import (
        INDEPENDENCE_LEVEL,
        MAX_WEIGHTS,
        LoggedSamples,
        read_samples,
    )
    from driftwise.online.replay.options import Options
    from driftwise.online.replay.replaying import Replay, replay
    from driftwise.online.replay.table_log import TableLog

__all__ = ["INDEPENDENCE_LEVEL", "MAX_WEIGHTS", "Estimate", "Estimates", "Interval", "LoggedSamples"]
__all__ += ["Options", "PolicyEvaluation", "Replay", "TableLog", "Window", "read_samples", "replay"]
