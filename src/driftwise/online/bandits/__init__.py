"""Bandits that decide one event at a time, with rewards that may come late."""
