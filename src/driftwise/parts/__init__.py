"""Parts: the pieces that algorithms are made of."""
