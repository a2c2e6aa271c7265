"""Theory: what the analyses say about parameters."""
