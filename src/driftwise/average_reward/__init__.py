"""Problems without episodes: what counts is the mean reward of a step in the long run, the gain."""
