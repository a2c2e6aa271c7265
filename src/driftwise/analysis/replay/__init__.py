"""A replay as tables, in words, and as a page."""

from __future__ import annotations

from driftwise.analysis.replay.page import html_page
from driftwise.analysis.replay.tables import tables
from driftwise.analysis.replay.wording import lead

__all__ = ["html_page", "lead", "tables"]
