"""Analysis: statistics, figures, tables and pages of what was simulated or logged."""
