"""Makers of drifting linear MDPs, one file each."""
