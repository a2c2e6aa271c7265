"""Settings shared by all tests.

Compiled programs are kept in a folder for as long as the tests run. Test workers and the processes that tests
start share it, so that each program is compiled once, and without optimisation, which is sooner done;
`make test-slow` compiles as users do. Each process does its linear algebra in one thread: the matrices are
small, and threads that wait for each other on busy cores cost several times the work itself.
"""

import os
import shutil
import tempfile

import pytest
from hypothesis import settings

settings.register_profile("driftwise", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("driftwise")

CACHE = "JAX_COMPILATION_CACHE_DIR"
own_folder: str | None = None  # set in the first process, unless a folder is given from outside

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy and JAX read these settings when they are imported
# With the option that driftwise adds itself, but cannot add in a process in which JAX has begun before.
LOOPS = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1000000"
os.environ.setdefault("XLA_FLAGS", f"--xla_backend_optimization_level=0 {LOOPS}")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "3")  # the same on all machines
if CACHE not in os.environ:
    own_folder = tempfile.mkdtemp(prefix="driftwise-compiled-")
    os.environ[CACHE] = own_folder
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


# Files that simulate the same agents, in this order: a worker that runs them all traces each program once.
TOGETHER = ("test_algorithms.py", "test_checks.py", "test_broken_contracts.py", "test_online_bandit.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run these files first, next to each other; the others keep their order."""
    place = {name: number for number, name in enumerate(TOGETHER)}
    items.sort(key=lambda item: place.get(item.path.name, len(TOGETHER)))


@pytest.fixture
def pretending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled, and nothing is kept but the results; all else is as always."""
    from driftwise.simulation import running
    from tests.experiments.test_experiments import pretend

    monkeypatch.setattr(running, "run_task", pretend)


@pytest.fixture(autouse=True)
def any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as they like: test workers are told 80 columns, and the processes they start."""
    monkeypatch.delenv("COLUMNS", raising=False)


def pytest_unconfigure() -> None:
    if own_folder is not None:
        shutil.rmtree(own_folder, ignore_errors=True)
