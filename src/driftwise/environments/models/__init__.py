"""Models: each a description that is checked, and beside it the world of arrays that engines run."""
