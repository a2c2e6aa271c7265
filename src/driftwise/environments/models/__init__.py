"""Worlds: environments as arrays, and one episode of one agent in them, written once for every engine."""
