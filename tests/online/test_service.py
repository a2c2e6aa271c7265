"""The reference service: what it answers is on the disk, whoever asks at once and whenever it is killed."""

import gc
import importlib.util
import itertools
import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.online import Bandit, DecisionLog, load
from tests.online.serving import FOLDER, Served, Starter, post
from tests.online.streams import bits, run_together

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


@pytest.fixture(scope="module")
def service() -> Any:
    """The module that an engineer copies."""
    spec = importlib.util.spec_from_file_location("service", FOLDER / "service.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def starter() -> Iterator[Starter]:
    with closing(Starter()) as made:
        yield made


def offer(rng: random.Random, id: str) -> dict[str, Any]:
    return {"id": id, "arms": [[rng.uniform(-0.3, 0.3) for _ in range(9)] for _ in range(3)]}


def reward_of(id: str) -> float:
    """The reward of a decision, which no other has."""
    return random.Random(id).random()


def events(folder: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(folder / "log.sqlite")) as log:
        return [json.loads(line) for (line,) in log.execute("SELECT line FROM events ORDER BY number")]


def replayed(bandit: Bandit, logged: list[dict[str, Any]]) -> Bandit:
    """An agent that met all events without an interruption, and decided as the log says."""
    for event in logged:
        if "reward" in event:
            bandit.learn(event["id"], event["reward"])
        else:
            decision = bandit.decide(event["arms"], id=event["id"], time=event["time"])
            assert (decision.arm, decision.probabilities.tolist()) == (event["arm"], event["probabilities"])
    return bandit


class Clients:
    """Threads that ask, ask again, and reward, until there is nobody to answer."""

    def __init__(self) -> None:
        self.decided: dict[str, dict[str, Any]] = {}
        self.outcomes: list[tuple[str, str]] = []
        self.wrong: list[Any] = []

    def ask(self, served: Served, name: str) -> None:
        rng = random.Random(name)
        try:
            with closing(served.connect()) as connection:
                for number in itertools.count():
                    asked = [offer(rng, f"{name}.{number}.{each}") for each in range(rng.choice((1, 3)))]
                    known = rng.sample([*self.decided], min(2, len(self.decided)))
                    asked += [offer(rng, id) for id in known]  # they were decided on other arms
                    _, answers = post(connection, "/decide", json.dumps(asked))
                    for answer in answers:
                        if self.decided.setdefault(answer["id"], answer) != answer:
                            self.wrong.append(answer)
                    rewards = [{"id": id, "reward": reward_of(id)} for id in (*known, asked[0]["id"])]
                    for reward in rewards:
                        _, answer = post(connection, "/learn", json.dumps(reward))
                        self.outcomes.append((answer["id"], answer["outcome"]))
        except (OSError, HTTPException):  # it was killed
            pass


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_no_kill_loses_what_was_answered_nor_lets_a_reward_count_twice(
    kills: int, starter: Starter, service: Any, tmp_path: Path
) -> None:
    clients, rng = Clients(), random.Random(0)
    for life in range(kills):
        with starter.serve(tmp_path) as served:
            names = [f"{life}.{number}" for number in range(3)]
            threads = [threading.Thread(target=clients.ask, args=(served, name)) for name in names]
            enough = len(clients.decided) + rng.randint(10, 30)  # some have rewarded, then
            for thread in threads:
                thread.start()
            while len(clients.decided) < enough and all(each.is_alive() for each in threads):
                threads[0].join(rng.uniform(0, 0.01))
            served.end(signal.SIGKILL)
            for thread in threads:
                thread.join()
    assert not clients.wrong
    learnt = [id for id, outcome in clients.outcomes if outcome == "learnt"]
    assert len({*learnt}) == len(learnt) > 0
    assert {outcome for _, outcome in clients.outcomes} <= {"learnt", "repeated"}

    with starter.serve(tmp_path) as served:  # it ends as it is asked to, and saves
        assert served.get("/health")[0] == 200
    logged = events(tmp_path)
    decisions = {each["id"]: each for each in logged if "arms" in each}
    rewards = [(each["id"], each["reward"]) for each in logged if "reward" in each]
    for id, answer in clients.decided.items():
        chance = decisions[id]["probabilities"][answer["arm"]]
        assert answer == {"id": id, "arm": decisions[id]["arm"], "probability": chance}
    assert len(dict(rewards)) == len(rewards)
    assert dict(rewards) == {id: reward_of(id) for id, _ in rewards}
    assert {*learnt} <= {*dict(rewards)}
    saved, never_stopped = load(tmp_path / "agent.safetensors"), replayed(service.new_agent(), logged)
    assert saved.to_bytes() == never_stopped.to_bytes()
    assert bits(saved.state) == bits(never_stopped.state)


def test_clients_that_ask_at_once_have_one_decision_and_one_reward_of_an_id(
    starter: Starter, tmp_path: Path
) -> None:
    ids, answers, outcomes = [f"request {number}" for number in range(6)], [], []

    def ask(seed: int) -> None:
        rng = random.Random(seed)
        with closing(served.connect()) as connection:
            for id in rng.sample(ids, len(ids)):
                answers.append(post(connection, "/decide", json.dumps(offer(rng, id))))
                outcomes.append(post(connection, "/learn", json.dumps({"id": id, "reward": reward_of(id)})))

    with starter.serve(tmp_path) as served:
        run_together(*(threading.Thread(target=ask, args=(seed,)) for seed in range(3)))
        measured = dict(line.split() for line in served.get("/metrics")[1].splitlines() if line[0] != "#")
        assert served.get("/health") == (200, '{"sound":true,"events":12}')
    assert {status for status, _ in answers + outcomes} == {200}
    assert len({json.dumps(answer) for _, answer in answers}) == len(ids)
    assert Counter(answer["outcome"] for _, answer in outcomes) == {"learnt": 6, "repeated": 12}
    assert (measured["bandit_decisions"], measured["bandit_rewards"]) == ("6", "6")
    assert (measured["bandit_pending"], measured["bandit_expired"]) == ("0", "0")
    assert {"bandit_drift", 'service_seconds_bucket{le="0.005",path="/decide"}'} <= measured.keys()
    assert measured['service_seconds_count{path="/learn"}'] == "18.0"
    assert measured['service_errors_total{path="/learn"}'] == "0.0"
    assert load(tmp_path / "agent.safetensors").summary().rewards == 6  # it has ended as it was asked to


GOOD = json.dumps(offer(random.Random(0), "a"))
BAD = [
    *("", "{", "null", "5", '"x"', "[5]", "[[]]", "{}", '{"id":"a"}', "[" * 100_000, '{"id":"a","arms":[]}'),
    *(GOOD.replace('"a"', id) for id in ('""', "5", "null", json.dumps("x" * 201), '"\\ud800"')),
    *(GOOD.replace("[[", f"[[{number},") for number in ("0.1", "NaN", "true", '"1"', "9" * 5000)),
    *(GOOD.replace("[[0", f"[[{number}") for number in ("7", "1e9", "-1e999")),
    GOOD.replace("{", '{"more":1,'),
    json.dumps([json.loads(GOOD)] * 1001),
    json.dumps({"id": "a", "arms": [[0.0] * 9] * 101}),
]


def test_a_bad_body_is_refused_in_one_sentence_and_changes_nothing(starter: Starter, tmp_path: Path) -> None:
    rng, bodies = random.Random(0), [each.encode() for each in BAD]
    for _ in range(20):
        broken = bytearray(GOOD.encode())
        broken[rng.randrange(len(broken))] = rng.randrange(128, 256)
        bodies.append(bytes(broken))
    with starter.serve(tmp_path) as served:
        with closing(served.connect()) as connection:
            answers = [post(connection, path, each) for each in bodies for path in ("/decide", "/learn")]
        for status, answer in answers:
            assert 400 <= status < 500, answer
            assert len(answer["detail"].splitlines()) == 1 <= len(answer["detail"]) < 200
            assert "Traceback" not in answer["detail"]
        for content in (b" " * 4_000_001, iter([b"{}"])):  # the second does not tell its length
            with closing(served.connect()) as connection:
                assert post(connection, "/decide", content)[0] == 413  # pyright: ignore[reportArgumentType]
        assert served.get("/nothing")[0] == 404
        assert json.loads(served.get("/health")[1]) == {"sound": True, "events": 0}
        status, answer = served.post("/decide", json.loads(GOOD))
        assert (status, answer["id"]) == (200, "a")
        outcomes = [served.post("/learn", {"id": id, "reward": 1})[1]["outcome"] for id in "xaa"]
        assert outcomes == ["unknown", "learnt", "repeated"]


def decide(service: Any, engine: Any, rng: random.Random, id: str) -> Any:
    return engine.do(engine.decide, service.Decide(**offer(rng, id)))


def close(engine: Any) -> None:
    engine.log.close()
    engine.held.close()


def test_a_full_disk_refuses_and_takes_the_agent_back_to_the_log(service: Any, tmp_path: Path) -> None:
    engine, rng = service.Engine(tmp_path), random.Random(0)
    engine.log.execute("PRAGMA max_page_count = 6")
    answers = [decide(service, engine, rng, f"{number}") for number in range(16)]
    refused = [each for each in answers if not isinstance(each, dict)]
    assert 0 < len(refused) < 16
    assert {each.status_code for each in refused} == {503}
    assert b"nothing was decided or learnt: database or disk is full" in refused[0].body
    engine.save()
    assert not engine.path.exists()  # what the agent has is not what the log has
    engine.log.execute("PRAGMA max_page_count = 100000")
    assert decide(service, engine, rng, "after")["id"] == "after"
    assert engine.bandit.summary().decisions == len(events(tmp_path)) == 17 - len(refused)
    engine.save()
    assert load(engine.path).to_bytes() == replayed(service.new_agent(), events(tmp_path)).to_bytes()
    close(engine)


def test_requests_that_wait_are_written_together_and_a_file_counts_once_the_log_has_all_that_it_has_seen(
    service: Any, tmp_path: Path
) -> None:
    engine, decided, go_on, statements = service.Engine(tmp_path), threading.Event(), threading.Event(), []
    engine.log.set_trace_callback(statements.append)

    def slowly(asked: Any) -> Any:
        answer = engine.decide(asked)
        decided.set()
        go_on.wait()
        return answer

    first, *others = [service.Decide(**offer(random.Random(0), f"{number}")) for number in range(6)]
    threads = [threading.Thread(target=engine.do, args=(slowly, first)), threading.Thread(target=engine.save)]
    threads[0].start()
    decided.wait()
    threads[1].start()
    threads[1].join(0.2)  # the agent has decided, and the log does not have it
    early = engine.path.exists()
    threads += [threading.Thread(target=engine.do, args=(engine.decide, each)) for each in others]
    for thread in threads[2:]:
        thread.start()
    while len(engine.waiting) < len(others):
        time.sleep(0.001)
    go_on.set()
    for thread in threads:
        thread.join()
    assert not early
    assert load(engine.path).summary().decisions >= 1
    assert statements.count("COMMIT") == 2
    close(engine)


@pytest.mark.filterwarnings("ignore:unclosed database")  # a process that is refused ends
def test_a_second_process_on_a_folder_and_a_log_that_is_behind_are_refused(
    service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOLDER", str(tmp_path))
    engine = service.Engine(tmp_path)
    with pytest.raises(SystemExit, match=r"is not served, perhaps as another .*: database is locked"):
        service.make_app()
    decide(service, engine, random.Random(0), "a")
    engine.save()
    engine.log.execute("DELETE FROM events")
    engine.log.commit()
    close(engine)
    with pytest.raises(SystemExit, match=r"the log ends at event 0, and the agent has seen 1$"):
        service.make_app()
    gc.collect()  # here, where such a process would end


def test_the_log_is_a_decision_log_line_by_line(service: Any, tmp_path: Path) -> None:
    engine, rng = service.Engine(tmp_path), random.Random(0)
    decided = [decide(service, engine, rng, f"{number}") for number in range(3)]
    engine.do(engine.learn, service.Learn(id="1", reward=0.25))
    close(engine)
    path = tmp_path / "decisions.jsonl"
    path.write_text("\n".join(map(json.dumps, events(tmp_path))))
    logged = [*DecisionLog(path).decisions()]
    assert [each.arm for each in logged] == [each["arm"] for each in decided]
    assert [each.reward for each in logged] == [None, 0.25, None]
    np.testing.assert_allclose([each.probabilities.sum() for each in logged], 1.0)


def test_it_is_one_file_of_200_lines_with_the_limits_that_its_page_tells(service: Any) -> None:
    assert len((FOLDER / "service.py").read_text().splitlines()) <= 200
    page = (FOLDER / "README.md").read_text()
    assert f"{service.MAX_BATCH} requests in a list, {service.MAX_ARMS} arms" in page
    assert f"Bodies of {service.MAX_BODY // 10**6} MB" in page
