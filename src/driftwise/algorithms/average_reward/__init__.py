"""Learners of the gain."""
