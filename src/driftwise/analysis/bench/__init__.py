"""The benchmark of policies over all scenarios of bandits."""
