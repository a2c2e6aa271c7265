"""Encoders: rows of numbers and words as features in the unit ball."""

from driftwise.online.encoding.columns import Category, Column, Cycle, Hashed, Number
from driftwise.online.encoding.encoder import Encoder

__all__ = ["Category", "Column", "Cycle", "Encoder", "Hashed", "Number"]
