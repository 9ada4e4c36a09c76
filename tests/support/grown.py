"""Lets the log of a recorded session grow, with its sub-agents' files, under a follower that is stopped and crashes."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import msgspec

from agentv_stream.discovery.discover import Session
from agentv_stream.following.follow import Follower
from agentv_stream.sources.source import FileSource
from support.consumed_and_followed import consume_into, difference, transcripts
from support.consuming import rows_of
from support.following import Desk, catch_up

TOTALS = ("agentv_stream", "transcript_cost_usd", "transcript_duration_ms", "transcript_token_usage")


class Grown:
    """One session that grows in `steps`. What happens depends on the seed alone."""

    def __init__(self, session: Session, folder: Path, seed: int, steps: int = 6) -> None:
        self.random = random.Random(f"{seed} {Path(session.path).name}")
        self.steps = steps
        self.files = [session.path, *session.subagents, *session.further]
        self.base = Path(os.path.commonpath([str(Path(file).parent) for file in self.files]))
        self.versions = {file: self._versions(Path(file).read_bytes(), file) for file in self.files}
        self.starts = self._starts(session)
        self.desk = Desk(folder)
        self.follower: Follower = self.desk.follower()
        self.main = self._place(session.path)
        self.done: list[str] = []

    def grow(self) -> None:
        """Writes step by step; between the steps the follower reads, rests, stops, or crashes."""
        self._write_beside()
        for step in range(self.steps):
            for file in self.files:
                if step >= self.starts[file]:
                    self._write(file, step)
            self._happens(self.random.choice(("reads", "reads", "rests", "stops", "crashes")))
        for _ in range(2):
            self._happens("rests")
        self.follower.close()
        self.desk.close()

    def wrong(self, folder: Path) -> str:
        """How its transcript differs from that of `consume`; empty if it does not."""
        consume_into(FileSource(self.main), folder)
        wanted, got = transcripts(folder), transcripts(self.desk.out)
        if self._without_times(wanted) != self._without_times(got):
            return f"{list(wanted)} and {list(got)}: {self.done} {self.desk.said}"
        if wanted.keys() != got.keys():
            return ""  # a log without times is named by when it was first read
        for name in wanted:
            told = difference(wanted[name], got[name])
            if told and (len(self.files) == 1 or _rows(wanted[name]) != _rows(got[name])):
                return f"{told} {self.done} {self.desk.said}"
        return ""

    # --- the files

    def _place(self, file: str) -> Path:
        return self.desk.logs / self.base.name / Path(file).relative_to(self.base)

    def _starts(self, session: Session) -> dict[str, int]:
        """The step in which each file appears: those in which a log continues in their order."""
        starts = {file: self.random.randrange(self.steps) for file in self.files}
        further = sorted(session.further)
        starts.update(zip(further, sorted(starts[file] for file in further), strict=True))
        starts[session.path] = 0
        return starts

    def _versions(self, data: bytes, name: str) -> list[bytes]:
        """The contents at each step; finally all."""
        shorter = self._documents(data) if name.endswith(".json") else None
        if shorter is None and not name.endswith((".json", ".gz", ".zst")):
            cuts = sorted(self.random.randint(0, len(data)) for _ in range(self.steps - 1))
            if self.random.random() < 0.5:
                cuts = [data.rfind(b"\n", 0, cut) + 1 for cut in cuts]
            shorter = [data[:cut] for cut in cuts]
        return [*(shorter or [data] * (self.steps - 1)), data]

    def _documents(self, data: bytes) -> list[bytes] | None:
        """The document with only the first elements of its longest list of objects."""
        try:
            document = msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        lists = [name for name, value in document.items() if _grows(value)]
        if not lists:
            return None
        name = max(lists, key=lambda key: len(document[key]))
        cuts = sorted(self.random.randint(1, len(document[name])) for _ in range(self.steps - 1))
        indent = 2 if data.count(b"\n") > 3 else None
        end = b"\n" if data.endswith(b"\n") else b""
        return [json.dumps({**document, name: document[name][:cut]}, indent=indent).encode() + end for cut in cuts]

    def _write_beside(self) -> None:
        """Small files that say what belongs together are there from the beginning."""
        stem = Path(self.files[0]).name.partition(".")[0]
        for file in (*self.base.rglob("*meta.json"), *self.base.glob(f"{stem}*.json")):
            if str(file) not in self.files and file.stat().st_size < 100_000:
                place = self._place(str(file))
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)

    def _write(self, file: str, step: int) -> None:
        place, data = self._place(file), self.versions[file][step]
        old = place.read_bytes() if place.exists() else b""
        if data == old:
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        if data.startswith(old):
            with place.open("ab") as open_file:
                open_file.write(data[len(old) :])
        elif self.random.random() < 0.5:
            place.write_bytes(data)
        else:
            place.with_name(f".{place.name}.new").write_bytes(data)
            place.with_name(f".{place.name}.new").rename(place)

    # --- the follower

    def _happens(self, what: str) -> None:
        self.done.append(what)
        if what == "crashes":
            for _ in range(self.random.randrange(3)):
                self.follower.round()
        else:
            catch_up(self.follower)
        if what in ("rests", "stops"):
            self.follower.finish(True)
        if what in ("stops", "crashes"):
            self.follower.close()
            self.follower = self.desk.follower()

    def _without_times(self, named: dict[str, Path]) -> list[str]:
        return sorted(name.partition("Z_")[2] for name in named)


def _grows(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(one, dict) for one in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - decoded JSON


def _rows(transcript: Path) -> list[str]:
    """The rows in any order: those of several files are numbered in the order of reading, their calls too, and
    the first has the totals."""
    rows = rows_of(transcript)
    for row in rows:
        row["metadata"]["agentv_stream"].pop("order", None)
    return sorted(json.dumps({k: v for k, v in row.items() if k not in ("message_index", *TOTALS)}) for row in rows)
