"""Makers of drifting linear MDPs."""
