"""Linear bandits: one state, one step, and features that are given anew in every round."""
