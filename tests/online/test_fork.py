"""Processes that fork: a child can use what its parent's threads were using."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")

SECONDS = 60  # after which a child is taken for hung; it needs milliseconds

IN_A_CHILD = f"""
import os, signal, threading, warnings
warnings.simplefilter("ignore")  # Python and JAX warn of forks where there are threads

def in_a_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm({SECONDS})  # whose default is to end the process
        try:
            work()
        except BaseException as error:
            print(f"{{type(error).__name__}}: {{error}}", flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

BUSY_BANDIT = """
import tempfile
import numpy as np
from driftwise.online import Bandit, DecisionLog, load

bandit = Bandit("d_lin_ucb", dim=8, rate=0.9, noise_scale=0.1)
arms, path = np.eye(8), os.path.join(tempfile.mkdtemp(), "bandit")
log = DecisionLog(path + ".jsonl", sync=True)  # which holds its lock most of the time
bandit.save(path)  # imports what it needs: a thread that imports holds locks of Python's own
stop = threading.Event()
first = bandit.decide(arms).id
bandit.learn(first, 0.5)

def keep_using():
    while not stop.is_set():
        bandit.learn(bandit.decide(arms).id, 0.5)

def keep_saving():
    while not stop.is_set():
        bandit.save(path)

def keep_logging():
    while not stop.is_set():
        log.add_reward("one", 0.5)

def use():
    before = bandit.summary()
    assert before.decisions - before.rewards - before.pending == 0, before
    assert before.pending <= 2, before  # one for each thread that was between decide and learn
    for _ in range(3):
        decision = bandit.decide(arms)
        assert decision.id.split("-")[0] != first.split("-")[0], "an id that its parent may give"
        bandit.learn(decision.id, 0.5)
    log.add_reward("two", 0.5)
    bandit.save(path + ".child")
    assert load(path + ".child").summary().decisions == before.decisions + 3

threads = [threading.Thread(target=each) for each in (keep_using,) * 2 + (keep_saving, keep_logging)]
for each in threads:
    each.start()
codes = [in_a_child(use) for _ in range(5)]
stop.set()
for each in threads:
    each.join()
assert codes == [0] * 5, codes
assert [each.id for each in log.events()].count("two") == 5
"""

EIGENVECTORS = """
import numpy as np
from driftwise.online.deciders.anchors import factorise
from driftwise.base.resources import BackgroundWork

matrix = np.diag(np.arange(200.0)) + 1
ahead = [BackgroundWork(lambda: factorise([matrix])) for _ in range(3)]  # one runs, two wait

def use():
    for each in ahead:
        assert np.array_equal(each.result().values, factorise([matrix]).values)

assert in_a_child(use) == 0
use()
"""

SIMULATING = """
import driftwise as dw

def use_first():  # nobody used a device yet: this works
    from driftwise.simulation.devices import find_devices
    find_devices("cpu")

environment = dw.environments.cheung_two_armed(num_rounds=10)
agent = dw.algorithms.uniform(environment.spec)
print(in_a_child(use_first))
{use}
print(in_a_child(lambda: dw.simulate(agent, environment, num_episodes=2)))
"""
USES = {"the simulator": "use_first()", "JAX alone": "import jax.numpy as jnp; jnp.ones(2) @ jnp.ones(2)"}


def run(script: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", IN_A_CHILD + script]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("script", [BUSY_BANDIT, EIGENVECTORS], ids=["a bandit and a log", "eigenvectors"])
def test_a_child_goes_on_with_what_threads_were_using_when_it_was_forked(script: str) -> None:
    done = run(script)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("use", USES)
def test_a_child_of_a_process_that_used_jax_refuses_to_simulate_in_a_sentence(use: str) -> None:
    done = run(SIMULATING.replace("{use}", USES[use]))
    unused, refusal, used = done.stdout.splitlines()
    assert (unused, used) == ("0", "1"), done.stdout + done.stderr
    assert refusal.startswith("RuntimeError: simulate cannot run in a process that was forked from"), refusal
    assert "spawn" in refusal
