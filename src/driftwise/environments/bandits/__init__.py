"""Drifting linear bandits that people know, and one to build anything from."""
