"""Why forgetting matters, at a glance: two doors, and halfway they are swapped.

Behind one door is a combination lock that pays 1, behind the other one that pays 1/4. An agent that weighs
all of the past alike goes on believing in the old doors for about as long as they were right, here until
the end; one that forgets tries the other door as soon as the old evidence has faded.

The optimistic agents share their radius, and the picture depends on it: at 0.8 to 1 about half of LSVI-UCB's
runs get out by exploring before the end; at 2 all four explore too much to profit.

How long each agent remembers is the best of a coarse grid at the sizes below: rates 0.97 to 0.995; windows
and periods of 75 to 700 episodes, those left out that would make a restart fall on the change by luck.
ε-greedy LSVI forgets as OPT-WLSVI does; what it lacks is optimism: about half of its runs never get to the
end of the good lock.
"""

from __future__ import annotations

from driftwise import algorithms
from driftwise.drift import Abrupt
from driftwise.environments import LinearMdp, combination_lock
from driftwise.experiments.experiment import Experiment

RADIUS = 0.6
RATE = 0.98


def environment(num_episodes: int) -> LinearMdp:
    """Doors that swap in the middle of the run."""
    halfway = max(1, num_episodes // 2)
    return combination_lock(changing="start", drift=Abrupt(at=(halfway,)), rewards="bernoulli")


QUICKSTART = Experiment(
    name="quickstart",
    summary="A combination lock whose two doors are swapped halfway",
    finding="Halfway, two doors are swapped: agents that forget recover, LSVI-UCB does not",
    environment=environment,
    agents={
        "OPT-WLSVI": lambda spec: algorithms.opt_wlsvi(spec, rate=RATE, radius=RADIUS),
        "SW-LSVI-UCB": lambda spec: algorithms.sw_lsvi_ucb(spec, length=100, radius=RADIUS),
        "LSVI-UCB": lambda spec: algorithms.lsvi_ucb(spec, radius=RADIUS),
        "LSVI-UCB-Restart": lambda spec: algorithms.lsvi_ucb_restart(spec, period=600, radius=RADIUS),
        "ε-greedy LSVI": lambda spec: algorithms.epsilon_greedy_lsvi(spec, epsilon=0.1, rate=RATE),
    },
    num_episodes=2000,
    num_runs=32,
)
