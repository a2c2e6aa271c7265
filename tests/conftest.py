"""Settings shared by all tests."""

from hypothesis import settings

settings.register_profile("driftwise", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("driftwise")
