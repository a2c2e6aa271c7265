"""Theory: what the analyses say about parameters."""

from driftwise.theory import tuning

__all__ = ["tuning"]
