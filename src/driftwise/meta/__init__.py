"""Meta-algorithms: what chooses among agents, or begins them anew, when nobody knows how the world drifts."""
