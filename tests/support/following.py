"""Runs followers in this process, with a folder of their own; and reads what they wrote."""

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from agentv_stream.discovery.places import find_roots
from agentv_stream.following.actions import Actions
from agentv_stream.following.cursors import CursorStore
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.followed import Listener
from agentv_stream.following.standings import Standings
from agentv_stream.settings import Settings, StreamLog


class Desk:
    """A folder with logs, outputs and cursors; `said` collects messages of followers, `emitted` their events.

    `in_use` are those whose cursors are open: they are closed after the test.
    """

    in_use: ClassVar[set["Desk"]] = set()

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic, consumer: str = "test") -> None:
        self.consumer = consumer
        self.clock = clock
        self.wall_ms = lambda: time.time_ns() // 1_000_000
        self.logs = folder / "logs"
        self.out = folder / "out"
        self.state = folder / "state"
        self.logs.mkdir(parents=True)
        self.said: list[str] = []
        self.emitted: list[bytes] = []
        self.store: CursorStore | None = None

    def say(self, event: str, **facts: object) -> None:
        self.said.append(event)

    def follower(
        self,
        stream_log: StreamLog = "false",
        settle_seconds: float = 0.0,
        actions: Actions | None = None,
        standings: Standings | None = None,
        listeners: Sequence[Listener] = (),
        **plan: Any,
    ) -> Follower:
        """A new follower that continues with the cursors of the previous one; it settles at once."""
        self.close()
        self.store = CursorStore(self.state, self.consumer)
        self.in_use.add(self)
        settings = Settings(out=self.out, stream_log=stream_log)
        made = Plan(find_roots([str(self.logs)]), settings, settle_seconds=settle_seconds, **plan)
        follower = Follower(
            made, self.store, self.say, self.emitted.append, self.clock, self.wall_ms, actions, standings, listeners
        )
        follower.begin()
        return follower

    def close(self) -> None:
        """Closes the cursors as a crash does: nothing is settled or committed."""
        if self.store is not None:
            self.store.close()
            self.store = None
            self.in_use.discard(self)

    def catch_up(self, **plan: Any) -> Follower:
        """Follows until nothing is left to read, then settles and closes."""
        follower = self.follower(**plan)
        catch_up(follower)
        follower.settle_all()
        follower.close()
        self.close()
        return follower

    def transcripts(self) -> dict[str, list[dict[str, Any]]]:
        """Rows by session id; every line must be JSON."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for path in sorted(self.out.glob("*.transcript.jsonl")):
            for line in path.read_bytes().splitlines():
                row = json.loads(line)
                rows.setdefault(row["source"]["session_id"], []).append(row)
        return rows

    def events(self) -> list[dict[str, Any]]:
        """What was emitted, in order."""
        return [json.loads(line) for data in self.emitted for line in data.splitlines()]

    def event_ids(self) -> Counter[str]:
        return Counter(event["id"] for event in self.events())


def begin(desk: Desk, restart: bool) -> Follower:
    """A follower that has read what there is; `restart` ends it well, so that a new one begins."""
    follower = desk.follower()
    catch_up(follower)
    follower.settle_all()
    if restart:
        follower.close()
        follower = desk.follower()
    return follower


def catch_up(follower: Follower, most: int = 2000) -> None:
    """Runs rounds until one reads nothing."""
    for _ in range(most):
        if not follower.round() and not follower.backlog:
            return
    raise AssertionError("the follower does not come to rest")


def bare(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The contents of each message and its calls with their results, each as often as it occurs, by message id.

    For logs that were rotated: if a crash comes before the first commit of a part, parts may be read in another order;
    a message whose records are in two of them may then come as two rows, and numbers may differ.
    """
    messages: dict[str, list[str]] = {}
    for row in rows:
        parts = messages.setdefault(row["metadata"]["agentv_stream"]["message_id"], [])
        if row["content"]:
            parts.append(json.dumps(row["content"]))
        for call in row.get("tool_calls", ()):
            if row["role"] == "tool" or call["status"] != "unknown":
                parts.append(json.dumps([call["id"], call["input"], call.get("output"), call["status"]]))
    return {message: sorted(parts) for message, parts in messages.items() if parts}


def split(rows: list[dict[str, Any]]) -> list[str]:
    """Every row, sorted by its index, without paths, because files are renamed."""
    found: list[str] = []
    for row in sorted(rows, key=lambda row: int(row["message_index"])):
        source = {key: value for key, value in row["source"].items() if key != "path"}
        found.append(json.dumps(row | {"source": source}, sort_keys=True))
    return found
