"""A bandit behind HTTP: whatever is answered is on the disk, and a kill loses none of it.

    FOLDER=data uvicorn --factory service:make_app

One process serves from a folder, and a second one is refused. Copy this file and make it yours.
"""

import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, Counter, Histogram, generate_latest
from pydantic import BaseModel, Field

from driftwise.base.validation import ArgumentError
from driftwise.online import Bandit, Outcome, load

DIM, MAX_ARMS, MAX_BATCH, MAX_BODY = 9, 100, 1000, 4_000_000  # the last in bytes
TOO_LARGE = f"content-length must be told, and at most {MAX_BODY}"
SAVE_EVERY = float(os.environ.get("SAVE_EVERY", "60"))  # seconds
SECONDS = Histogram("service_seconds", "Time to answer", ["path"])
ERRORS = Counter("service_errors", "Requests refused, and saves that failed", ["path"])
Row = Annotated[list[Annotated[float, Field(ge=-1, le=1)]], Field(min_length=DIM, max_length=DIM)]


def new_agent() -> Bandit:
    """The agent of a folder that has none yet; later, the one in its file goes on."""
    return Bandit(dim=DIM, epsilon=0.05, max_pending=100_000)


class Decide(BaseModel, strict=True, extra="forbid", allow_inf_nan=False):
    id: Annotated[str, Field(min_length=1, max_length=200)]
    arms: Annotated[list[Row], Field(min_length=1, max_length=MAX_ARMS)]


class Learn(BaseModel, strict=True, extra="forbid", allow_inf_nan=False):
    id: Annotated[str, Field(min_length=1, max_length=200)]
    reward: Annotated[float, Field(ge=0, le=1)]


class Engine:
    """The agent and its log, which has all events in the agent's order."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.beside = folder / "agent.safetensors", folder / "agent.new.safetensors"
        self.held = sqlite3.connect(folder / "lock.sqlite", timeout=0)
        self.held.execute("BEGIN EXCLUSIVE")  # for as long as this process lives
        self.log = sqlite3.connect(folder / "log.sqlite", check_same_thread=False)
        self.log.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")  # commits reach the disk
        columns = "number INTEGER PRIMARY KEY, id TEXT, kind TEXT, line TEXT, UNIQUE (id, kind)"
        self.log.execute(f"CREATE TABLE IF NOT EXISTS events ({columns})")
        self.lock, self.waiting = threading.Lock(), list[list[Any]]()
        self.recover()

    def recover(self) -> None:
        """Lead the agent of the last file through the events that the log has since."""
        self.bandit = load(self.path) if self.path.exists() else new_agent()
        summary = self.bandit.summary()
        self.seen = summary.decisions + summary.rewards
        since = self.log.execute("SELECT line FROM events WHERE number > ? ORDER BY number", (self.seen,))
        for event in (json.loads(line) for (line,) in since):
            self.seen += 1
            if "reward" in event:
                self.bandit.learn(event["id"], event["reward"])
            else:
                self.bandit.decide(event["arms"], id=event["id"], arm=event["arm"], time=event["time"])
        (last,) = self.log.execute("SELECT ifnull(max(number), 0) FROM events").fetchone()
        if last != self.seen:
            raise ValueError(f"the log ends at event {last}, and the agent has seen {self.seen}")
        self.sound = True

    def do(self, act: Callable[[Any], Any], body: Any) -> Any:
        """What comes of one request, or of each in a list, once that is on the disk."""
        self.waiting.append(own := [act, body, None])  # the last is what comes of it
        with self.lock:  # who comes first does the work of all that wait
            together = [self.waiting.pop(0) for _ in range(len(self.waiting))]
            try:
                if not self.sound:
                    self.recover()
                with self.log:  # one transaction
                    for call in together:
                        call[2] = self._result(call[0], call[1])
            except Exception as error:
                self.sound = False  # the agent may be ahead of the log
                logging.exception("nothing was logged")
                for call in together:
                    call[2] = JSONResponse({"detail": f"nothing was decided or learnt: {error}"}, 503)
        return own[2]

    def _result(self, act: Callable[[Any], Any], body: Any) -> Any:
        try:
            return [act(each) for each in body] if isinstance(body, list) else act(body)
        except (ArgumentError, FloatingPointError) as error:  # of this call alone: the agent is as it was
            return JSONResponse({"detail": str(error)}, 422 if isinstance(error, ArgumentError) else 503)

    def decide(self, asked: Decide) -> dict[str, Any]:
        """The decision of an id: the one that the log has, or else a new one."""
        event = self._logged(asked.id, "decision")
        if event is None:
            decision = self.bandit.decide(asked.arms, id=asked.id)
            chosen = {"arm": decision.arm, "probabilities": decision.probabilities.tolist()}
            event = {"id": asked.id, "time": decision.time, **chosen, "arms": asked.arms}
            self._append("decision", event)
        return {"id": asked.id, "arm": event["arm"], "probability": event["probabilities"][event["arm"]]}

    def learn(self, told: Learn) -> dict[str, Any]:
        """What became of a reward."""
        outcome = self.bandit.learn(told.id, told.reward, strict=False)
        if outcome is Outcome.LEARNT:
            self._append("reward", {"id": told.id, "time": time.time(), "reward": told.reward})
        return {"id": told.id, "outcome": outcome}

    def _append(self, kind: str, event: dict[str, Any]) -> None:
        self.seen += 1
        row = self.seen, event["id"], kind, json.dumps(event, separators=(",", ":"))
        self.log.execute("INSERT INTO events VALUES (?, ?, ?, ?)", row)

    def _logged(self, id: str, kind: str) -> dict[str, Any] | None:
        row = self.log.execute("SELECT line FROM events WHERE id = ? AND kind = ?", (id, kind)).fetchone()
        return row and json.loads(row[0])

    def save(self) -> None:
        """Save while others are served; the file counts once the log has all that the file has seen."""
        (bandit := self.bandit).save(self.beside)
        with self.lock:
            if self.sound and bandit is self.bandit:
                os.replace(self.beside, self.path)


def make_app() -> FastAPI:
    """The service of the folder that the environment names; it saves now and then, and at the end."""
    folder, ending = Path(os.environ.get("FOLDER", "data")), threading.Event()
    try:
        engine = Engine(folder)
    except (OSError, ValueError, sqlite3.Error) as error:
        raise SystemExit(f"{folder} is not served, perhaps as another process does so: {error}") from None

    def keep_saving() -> None:
        while not ending.wait(SAVE_EVERY):
            try:
                engine.save()
            except Exception:
                ERRORS.labels("save").inc()
                logging.exception("the agent was not saved")

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        saving = threading.Thread(target=keep_saving)
        saving.start()
        yield
        ending.set()
        saving.join()
        engine.save()

    app = FastAPI(title="A bandit", lifespan=life)

    @app.middleware("http")
    async def watch(request: Request, answer: Callable[[Request], Any]) -> Response:
        path = request.url.path if request.url.path in ("/decide", "/learn", "/health", "/metrics") else ""
        length = "" if "transfer-encoding" in request.headers else request.headers.get("content-length", "")
        fits = request.method != "POST" or (length.isdigit() and int(length) <= MAX_BODY)
        with SECONDS.labels(path).time():
            response = await answer(request) if fits else JSONResponse({"detail": TOO_LARGE}, 413)
        ERRORS.labels(path).inc(response.status_code >= 400)
        return response

    @app.exception_handler(RequestValidationError)
    async def one_sentence(request: Request, error: RequestValidationError) -> Response:
        *_, deepest = sorted(error.errors(), key=lambda each: len(each["loc"]))
        return JSONResponse({"detail": f"{'.'.join(map(str, deepest['loc']))}: {deepest['msg']}"}, 422)

    @app.post("/decide")
    def decide(body: Decide | Annotated[list[Decide], Field(max_length=MAX_BATCH)]) -> Any:
        return engine.do(engine.decide, body)

    @app.post("/learn")
    def learn(body: Learn | Annotated[list[Learn], Field(max_length=MAX_BATCH)]) -> Any:
        return engine.do(engine.learn, body)

    @app.get("/health")
    def health() -> Response:
        return JSONResponse({"sound": engine.sound, "events": engine.seen}, 200 if engine.sound else 503)

    @app.get("/metrics")
    def metrics() -> Response:
        summary = "".join(f"bandit_{name} {value}\n" for name, value in vars(engine.bandit.summary()).items())
        return Response(generate_latest() + summary.encode(), media_type=CONTENT_TYPE_LATEST)

    return app
