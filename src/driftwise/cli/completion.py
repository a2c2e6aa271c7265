"""Words that shells complete; Typer keeps those that begin as the word on the command line does."""

from __future__ import annotations


def experiments() -> list[str]:
    """Names of built-in experiments; files are completed by the shell itself."""
    from driftwise.experiments import EXPERIMENTS

    return list(EXPERIMENTS)


def kinds() -> list[str]:
    """Kinds of things that there are lists of."""
    from driftwise.analysis.catalogue import KINDS

    return list(KINDS)


def entries() -> list[str]:
    """Names of all that can be shown."""
    from driftwise.analysis.entries import entry_names

    return entry_names()
