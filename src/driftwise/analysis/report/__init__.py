"""Reports on a results folder: one offline HTML page, figures and tables for papers."""

from driftwise.base.extras import require_extra

with require_extra("report", "cli"):
    from driftwise.analysis.report.writing import FORMATS, write_report

__all__ = ["FORMATS", "write_report"]
