"""Makers of drifting MDPs without episodes, one file each."""
