"""Linear bandits: one state, one step, and features that are new in every round."""
