"""Metric spaces: kernels and adaptive partitions."""
