"""`python -m tools.distribution` tries every distribution in `dist/` in a clean environment."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import driftwise as dw

DIST = Path(__file__).parent.parent / "dist"
BASE = {"driftwise", "numpy", "pip", "safetensors", "setuptools"}  # the last one by some versions of venv
ONLINE = """
import driftwise as dw
from driftwise.online.deciders import compiled_mixture
bandit = dw.online.Bandit(dim=2, seed=0)
print(compiled_mixture.KERNEL is not None)
decision = bandit.decide([[1.0, 0.0], [0.0, 1.0]])
bandit.learn(decision.id, reward=1.0)
bandit.save("bandit.safetensors")
assert dw.online.load("bandit.safetensors").summary().rewards == 1
"""


class VirtualEnvironment:
    """A new virtual environment in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "environment", with_pip=True)

    def __call__(self, program: str, *arguments: str) -> str:
        """Run a program of the environment, which must succeed, and return what it prints."""
        command = [str(self.folder / "environment" / "bin" / program), *arguments]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def install(self, requirement: str) -> None:
        """Install a distribution, with an extra if it is named."""
        self("pip", "--disable-pip-version-check", "install", "--quiet", requirement)


def try_small(environment: VirtualEnvironment, compiled: bool) -> None:
    """Check a plain install: it brings only NumPy and safetensors, and an agent can be used and restored."""
    lines = environment("pip", "freeze", "--all").splitlines()
    installed = {re.split("==| @ ", line)[0] for line in lines}
    if not installed <= BASE:
        raise SystemExit(f"a plain install must bring only {sorted(BASE)}, got {sorted(installed)}")
    if environment("python", "-c", ONLINE) != f"{compiled}\n":
        raise SystemExit("the compiled module must " + ("be there" if compiled else "not be there"))


def try_commands(environment: VirtualEnvironment) -> None:
    """Check that the quickstart runs and writes its files."""
    if environment("driftwise", "--version") != f"driftwise {dw.__version__}\n":
        raise SystemExit(f"driftwise --version must say {dw.__version__}")
    *_, files = environment("driftwise", "run", "quickstart").split("\n\n")
    for name in files.splitlines():
        print(f"  {name}, {(environment.folder / name).stat().st_size:,} bytes")


def main() -> None:
    """Try the wheels and the source distribution of this version."""
    for ending in ("-py3-none-any.whl", "-*manylinux*.whl", ".tar.gz"):
        (file,) = DIST.glob(f"driftwise-{dw.__version__}{ending}")
        with tempfile.TemporaryDirectory() as folder:
            environment = VirtualEnvironment(Path(folder))
            print(f"{file.name} without extras", flush=True)
            environment.install(str(file))
            try_small(environment, compiled="none-any" not in file.name)
            print(f"{file.name}[cli]: driftwise run quickstart", flush=True)
            environment.install(f"{file}[cli]")
            try_commands(environment)


if __name__ == "__main__":
    sys.exit(main())
