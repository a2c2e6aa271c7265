"""How long the page of a thousand points takes to write and to open, and how large it is.

    python -m benchmarks.report                   # 25 × 40 points of one agent's parameters, one environment
    python -m benchmarks.report --environments 3  # as many points in each of three

Opening is measured in Chromium without a window: from the navigation to the load event, and until all figures
on the screen are drawn.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from tests.browser import find_chromium, visit
from tests.report_folders import described_lock, make_grid_folder

from driftwise.analysis.report import write_report

TIMER = """
const loaded = performance.now();
const onScreen = (place) => place.getBoundingClientRect().top < innerHeight;
const isDrawn = (place) => place.querySelector(".scatterlayer .trace, .heatmaplayer image");
await until(() => [...document.querySelectorAll(".figure")].filter(onScreen).every(isDrawn));
return { loaded, drawn: performance.now() };
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environments", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    described = {f"lock {number + 1}": described_lock(100) for number in range(chosen.environments)}
    with tempfile.TemporaryDirectory() as place:
        folder = make_grid_folder(Path(place), rows=25, columns=40, environments=described)
        started = time.perf_counter()
        path = write_report(folder)
        print(f"written in {time.perf_counter() - started:.2f} s, {path.stat().st_size / 1e6:.1f} MB")
        page = path.read_text(encoding="utf-8")
    if find_chromium() is None:
        print("no Chromium here to open it with")
        return
    times = [visit(page, TIMER) for _ in range(chosen.repeats)]
    for name in ("loaded", "drawn"):
        values = sorted(each[name] / 1000 for each in times)
        print(f"{name} after {statistics.median(values):.2f} s (from {values[0]:.2f} to {values[-1]:.2f})")


if __name__ == "__main__":
    main()
