"""`python -m tools.distribution`: try what is in `dist/` as its users would, each in a clean environment."""

from __future__ import annotations

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
from driftwise.online.bandits import compiled
bandit = dw.online.Bandit(dim=2, seed=0)
print(compiled.MODULE is not None)
decision = bandit.decide([[1.0, 0.0], [0.0, 1.0]])
bandit.learn(decision.id, reward=1.0)
bandit.save("bandit.safetensors")
assert dw.online.load("bandit.safetensors").summary().rewards == 1
"""


class Clean:
    """A new environment in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "environment", with_pip=True)

    def __call__(self, program: str, *arguments: str) -> str:
        """What a program of the environment prints; it has to succeed."""
        command = [str(self.folder / "environment" / "bin" / program), *arguments]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def install(self, what: str) -> None:
        """Install a distribution, with an extra if it is named."""
        self("pip", "--disable-pip-version-check", "install", "--quiet", what)


def try_small(environment: Clean, compiled: bool) -> None:
    """Without extras NumPy and safetensors come along, and an agent decides, learns, and is restored."""
    found = {line.partition("==")[0] for line in environment("pip", "freeze", "--all").splitlines()}
    found = {name.partition(" @ ")[0] for name in found}
    if not found <= BASE:
        raise SystemExit(f"a plain install must bring {sorted(BASE)} alone, got {sorted(found)}")
    if environment("python", "-c", ONLINE) != f"{compiled}\n":
        raise SystemExit("the compiled module must " + ("be there" if compiled else "not be there"))


def try_commands(environment: Clean) -> None:
    """The quickstart runs, and leaves its files."""
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
            environment = Clean(Path(folder))
            print(f"{file.name} alone", flush=True)
            environment.install(str(file))
            try_small(environment, compiled="none-any" not in file.name)
            print(f"{file.name}[cli]: driftwise run quickstart", flush=True)
            environment.install(f"{file}[cli]")
            try_commands(environment)


if __name__ == "__main__":
    sys.exit(main())
