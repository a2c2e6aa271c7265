"""`python -m tools.site.versions FOLDER` adds the built site to the versions in a folder for a web server.

It holds the site of each version in a folder of that name, a page that redirects to the newest version, and
the list of versions for the menu of every page.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import driftwise as dw
from tools.site import DOCS

BUILT = DOCS.parent / "build" / "docs"


def publish(built: Path, folder: Path, version: str) -> None:
    """Add a built site to the versions in a folder; an earlier build of the same version is replaced."""
    if not (built / "index.html").is_file():
        sys.exit(f"{built} must be a built site, got none: run `make docs` first")
    new = folder / f".{version}"
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(built, new)
    shutil.rmtree(folder / version, ignore_errors=True)
    new.rename(folder / version)
    versions = sorted((page.parent.name for page in folder.glob("[0-9]*/index.html")), key=_place)[::-1]
    (folder / "versions.js").write_text(f"window.versions = {json.dumps(versions)};\n", encoding="utf-8")
    redirect = f'<!doctype html><meta http-equiv="refresh" content="0; url={versions[0]}/index.html">\n'
    (folder / "index.html").write_text(redirect, encoding="utf-8")


def _place(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.site.versions FOLDER")
    publish(BUILT, Path(sys.argv[1]), dw.__version__)
