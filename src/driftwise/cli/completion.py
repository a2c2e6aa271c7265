"""What a shell may complete a word to; imports are those of the command that takes the word."""

from __future__ import annotations


def experiments(incomplete: str) -> list[str]:
    """Names of built-in experiments; files are the shell's own affair."""
    from driftwise.experiments import EXPERIMENTS

    return _beginning(incomplete, list(EXPERIMENTS))


def kinds(incomplete: str) -> list[str]:
    """Kinds of things that there are lists of."""
    from driftwise.analysis.catalogue import KINDS

    return _beginning(incomplete, list(KINDS))


def entries(incomplete: str) -> list[str]:
    """Names of all that can be shown."""
    from driftwise.analysis.entries import entry_names

    return _beginning(incomplete, entry_names())


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
