"""A bandit as the content of a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureState
from driftwise.base.agent import Agent
from driftwise.base.part import from_config
from driftwise.base.times import LATEST
from driftwise.base.validation import require_kind
from driftwise.online import files
from driftwise.online.bandits import pending_files
from driftwise.online.bandits.clocked import uses_clock
from driftwise.online.bandits.settings import BanditSettings
from driftwise.online.limits import require_within
from driftwise.online.sizes import least_numbers
from driftwise.online.summary import Gauge
from driftwise.online.tensors import Tensors, checked_tensor, from_tensors, require_numbers, to_tensors

if TYPE_CHECKING:
    from driftwise.online.bandits.bandit import Bandit


def content_of(bandit: Bandit, kind: str, more: Callable[[], Tensors] = dict) -> files.AgentFile:
    """All that is needed to go on; one thread asks for it at a time, and holds `_writing`.

    `more` of the same moment comes from whoever holds the bandit.
    """
    metadata = files.require_plain("metadata", bandit.metadata)
    description = {"kind": kind, **bandit.settings.described(), "metadata": metadata}
    with bandit._lock:
        state = to_tensors("state", bandit._decider.state)
        gauge, pending = bandit._gauge.to_array(), bandit._pending.freeze()
        others = {"gauge": gauge, "samples": np.array(bandit._num_samples), **more()}
    try:
        tensors = {**state, **others, **pending_files.to_tensors(pending)}
    finally:
        with bandit._lock:
            bandit._pending.thaw()
    return files.AgentFile(description, tensors, bandit._seen)


def restore(bandit: Bandit, file: files.AgentFile) -> None:
    """Make a bandit, which is nothing yet, the one of a file."""
    given, tensors = dict(file.description), file.tensors
    del given["kind"]
    metadata, agent = given.pop("metadata"), require_kind("agent", from_config(given.pop("agent")), Agent)
    require_numbers(tensors, least_numbers(agent))
    bandit._start(BanditSettings(agent=agent, **given), metadata)
    like = bandit._decider.choice(bandit._decider.offer(np.zeros((1, bandit._dim)), 0), 0)
    pending_files.restore(bandit._pending, tensors, like)
    state = from_tensors("state", bandit._decider.state, tensors)
    if uses_clock(agent):
        moments = state.base if isinstance(state, MixtureState) else state
        require_within("state: the clock", moments.memory, LATEST)
    bandit._decider.state = state
    bandit._num_samples = int(checked_tensor(tensors, "samples", np.array(0)))
    bandit._gauge, bandit._seen = Gauge.from_array(tensors["gauge"]), file.seen
