"""Base: what everything stands on. Arrays, addressed random numbers, parts, validation, shared types."""
