"""Chromium without a window: opens a page, runs a script in it, and hands back what the script found."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=10000",
)

# Runs before anything else of the page, and so sees all that goes wrong in it.
WATCH = """<script>
window.trouble = [];
for (const name of ["error", "warn"])
  console[name] = (...words) => trouble.push(`${name}: ${words.join(" ")}`);
addEventListener("error", (event) => trouble.push(`error: ${event.message || event.target.src}`), true);
addEventListener("unhandledrejection", (event) => trouble.push(`rejection: ${event.reason}`));
addEventListener("securitypolicyviolation", (event) => trouble.push(`policy: ${event.blockedURI}`));
addEventListener("load", async () => {
  const pause = () => new Promise((done) => setTimeout(done, 300));
  let found = {};
  try {
    await pause();
    found = await (async () => { %s })();
    await pause();
  } catch (error) { trouble.push(`probe: ${error.stack}`); }
  const requests = performance.getEntriesByType("resource").map((each) => each.name);
  const overflow = document.documentElement.scrollWidth - innerWidth;
  parent.postMessage(JSON.stringify({ ...found, trouble, requests, overflow }), "*");
});
</script>"""

# The page is in a frame, since a window cannot be as narrow as a phone.
FRAME = """<!doctype html><body style="margin:0">
<iframe src="page.html" style="border:0;width:%dpx;height:3000px"></iframe><pre id="found"></pre><script>
addEventListener("message", (event) => { document.getElementById("found").textContent = event.data; });
</script></body>"""


def find_chromium() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def probe(page: str, script: str, folder: Path, *, width: int = 1200, dark: bool = False) -> dict[str, Any]:
    """What `script` returns in the page, together with its `trouble`, `requests` and `overflow`."""
    chromium = find_chromium()
    assert chromium is not None
    (folder / "page.html").write_text(page.replace("<head>", "<head>" + WATCH % script, 1), encoding="utf-8")
    (folder / "frame.html").write_text(FRAME % width, encoding="utf-8")
    colours = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    command = [
        *(chromium, *OPTIONS, colours, f"--user-data-dir={folder / 'profile'}", "--window-size=1300,3100"),
        *("--dump-dom", (folder / "frame.html").as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = re.search(r'<pre id="found">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, f"the page did not answer:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return json.loads(html.unescape(found[1]))
