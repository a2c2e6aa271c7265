"""Slow, plain-loop textbook versions, written from the definitions and sharing no code with the library."""
