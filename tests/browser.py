"""Chromium without a window: opens a page, runs a script in it, and hands back what the script found.

`probe` has a clock of its own, which is quick and leaves nothing to chance, but the page does not learn that
it is scrolled. In `visit` time passes as it does for a reader. One waits for the browser to end, the other
for an answer, of which a browser that ends is one. A page that waits in vain gives up after so many frames of
its own. A browser that hangs is given up after `BACKSTOP` seconds, far more than a busy machine takes.
"""

import html
import json
import queue
import re
import shutil
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BACKSTOP = 600.0
NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-quic", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
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

VISIT = """<script>
addEventListener("load", async () => {
  let frames = 3000; // it takes some dozens
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const until = async (holds) => {
    while (!holds()) {
      if (!frames--) throw Error(`waited in vain until ${holds}`);
      await frame();
    }
    await frame();
  };
  const found = await (async () => { %s })().catch((error) => ({ trouble: error.stack }));
  fetch("/", { method: "POST", body: JSON.stringify(found) });
});
</script>"""


def find_chromium() -> str | None:
    """Path of a browser that is installed here."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def probe(page: str, script: str, folder: Path, *, width: int = 1200, dark: bool = False) -> dict[str, Any]:
    """What `script` returns in the page, which must have no trouble, load nothing and fit into its width."""
    chromium = find_chromium()
    assert chromium is not None
    (folder / "page.html").write_text(page.replace("<head>", "<head>" + WATCH % script, 1), encoding="utf-8")
    (folder / "frame.html").write_text(FRAME % width, encoding="utf-8")
    colours = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    command = [
        *(chromium, *OPTIONS, colours, f"--user-data-dir={folder / 'profile'}", "--window-size=1300,3100"),
        *("--virtual-time-budget=10000", "--dump-dom", (folder / "frame.html").as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=BACKSTOP)
    found = re.search(r'<pre id="found">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, f"the page did not answer:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    answer = json.loads(html.unescape(found[1]))
    trouble = answer["trouble"], answer["requests"], max(answer["overflow"], 0)
    assert trouble == ([], [], 0), trouble
    return answer


def visit(page: str, script: str) -> dict[str, Any]:
    """What `script` returns in the page, in which it may wait `until(() => …)`."""
    chromium = find_chromium()
    assert chromium is not None
    # Its policy would forbid the page to answer.
    page = page.replace("default-src 'none'", "default-src 'self'", 1)
    page = page.replace("<head>", "<head>" + VISIT % script, 1)
    answers: queue.Queue[dict[str, Any]] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def do_POST(self) -> None:
            answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        command = [
            *(chromium, *OPTIONS, f"--user-data-dir={profile}", "--window-size=1300,900"),
            *("--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/"),  # or it leaves at once
        ]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        waiter = threading.Thread(target=lambda: answers.put({"trouble": f"it ended with {browser.wait()}"}))
        waiter.start()
        try:
            found = answers.get(timeout=BACKSTOP)
        except queue.Empty:
            found = {"trouble": f"no answer in {BACKSTOP:g} seconds"}
        finally:
            server.shutdown()
            browser.terminate()
            waiter.join(BACKSTOP)
            browser.kill()  # one that does not end when asked to
            waiter.join()
    assert "trouble" not in found, found["trouble"]
    return found
