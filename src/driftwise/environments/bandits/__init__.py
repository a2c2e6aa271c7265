"""Makers of drifting linear bandits, one file each."""
