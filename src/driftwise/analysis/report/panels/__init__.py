"""Panels: functions over the data of a report, in the order of the page. A new one is a file and a line.

Names of figures and tables need to differ only within an environment.
"""

from __future__ import annotations

from collections.abc import Callable

from driftwise.analysis.page import Section
from driftwise.analysis.report.data import Report, ReportData
from driftwise.analysis.report.panels.closing import audit, manifest, reproduce
from driftwise.analysis.report.panels.comparisons import differences, overview
from driftwise.analysis.report.panels.drift import drift
from driftwise.analysis.report.panels.final_table import final
from driftwise.analysis.report.panels.growth import growth
from driftwise.analysis.report.panels.heat_map import heat_map
from driftwise.analysis.report.panels.meta_algorithms import meta_algorithms
from driftwise.analysis.report.panels.rates import rates
from driftwise.analysis.report.panels.regret import regret
from driftwise.analysis.report.panels.source import source

Panel = Callable[[ReportData], Section | None]  # of each environment; none where it has nothing to show
WholePanel = Callable[[Report], Section | None]  # of all environments together

OPENING: tuple[WholePanel, ...] = (source, overview, rates)
PANELS: tuple[Panel, ...] = (regret, final, differences, growth, heat_map, meta_algorithms, drift)
CLOSING: tuple[WholePanel, ...] = (audit, manifest, reproduce)
