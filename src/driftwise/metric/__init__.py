"""Agents for spaces with a metric: what is near behaves alike."""
