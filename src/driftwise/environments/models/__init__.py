"""Models: each a description that is checked, and its arrays, which engines run."""
