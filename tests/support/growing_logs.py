"""Logs that grow while they are followed: records of Claude Code, and a writer that truncates, moves and packs them."""

import gzip
import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID


def claude_records(session: str, turns: int, start: int = 0, seed: int = 0) -> list[bytes]:
    """The lines, without line ends, of a session of `turns` answers, each with a call and its result."""
    rng = random.Random(f"{session}-{seed}")
    lines: list[dict[str, object]] = []

    def add(kind: str, message: Mapping[str, object]) -> None:
        n = start + len(lines)
        lines.append(
            {
                "parentUuid": None,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/home/dev/app",
                "sessionId": session,
                "version": "2.1.0",
                "gitBranch": "main",
                "type": kind,
                "message": message,
                "uuid": str(UUID(int=rng.getrandbits(128))),
                "timestamp": f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z",
            }
        )

    add("user", {"role": "user", "content": f"please work on {session}"})
    for turn in range(turns):
        call = f"toolu_{session[:8]}_{start}_{turn}"
        base = {"id": f"msg_{session[:8]}_{start}_{turn}", "type": "message", "role": "assistant", "model": "claude-x"}
        usage = {"input_tokens": 10, "output_tokens": 20 + turn}
        text = {"type": "text", "text": f"step {turn} " + "é\u2028 " * rng.randrange(40)}
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"ls {turn}"}}
        add("assistant", base | {"content": [text], "stop_reason": None, "usage": usage})
        add("assistant", base | {"content": [use], "stop_reason": "tool_use", "usage": usage})
        result = {"type": "tool_result", "tool_use_id": call, "content": f"file{turn}\n" * rng.randrange(30)}
        add("user", {"role": "user", "content": [result]})
    return [json.dumps(line, ensure_ascii=False).encode() for line in lines]


class Writer:
    """Writes one log in random pieces; rotates, truncates, renames and packs its file.

    `written` is what a reader must get.

    Every write sets a distinct modification time: the kernel's clock is so coarse that files written in succession
    share one time, and then it is unknown which part of a rotated log is older.
    """

    def __init__(self, path: Path, session: str, turns: int, rng: random.Random) -> None:
        self.path = path
        self.session = session
        self.rng = rng
        self.todo = claude_records(session, turns)
        self.written: list[bytes] = []
        self.generation = b""  # what the file contains
        self.rotated = 0
        self.dead = False
        self.clock = 1_700_000_000

    def _stamp(self) -> None:
        self.clock += 1
        os.utime(self.path, (self.clock, self.clock))

    @property
    def finished(self) -> bool:
        return self.dead or not self.todo

    def append(self, data: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(data)
        self.generation += data
        self._stamp()

    def _next(self) -> bytes:
        record = self.todo.pop(0)
        self.written.append(record)
        return record

    def step(self) -> str:
        """Does one thing, chosen at random; returns its name."""
        if self.finished:
            return "nothing"
        whole = self.generation.endswith(b"\n") or not self.generation
        name = self.rng.choices(
            ["write", "write half", "tear", "weld", "rotate", "rewrite", "rename", "touch", "recreate", "compress"],
            [30, 12, 4, 4, 3, 3, 3, 2, 2, 1],
        )[0]
        if not whole or name == "write" or not self.written:
            for _ in range(min(self.rng.randrange(1, 6), len(self.todo))):
                self.append(self._next() + b"\n") if whole else self._finish_half()
                whole = True
            return "write"
        getattr(self, "_" + name.replace(" ", "_"))()
        return name

    def _finish_half(self) -> None:
        self.append(self._rest + b"\n")

    def _write_half(self) -> None:
        record = self._next()
        cut = self.rng.randrange(1, len(record))
        self._rest = record[cut:]
        self.append(record[:cut])

    def _tear(self) -> None:
        """Writes part of a record, and then the whole record on the same line."""
        record = self._next()
        self.append(record[: self.rng.randrange(8, len(record) // 2)] + b"\n" + record + b"\n")

    def _weld(self) -> None:
        if len(self.todo) > 1:
            self.append(self._next() + self._next() + b"\n")

    def _rotate(self) -> None:
        self.rotated += 1
        self.path.rename(self.path.with_name(f"{self.path.name}.{self.rotated}"))
        self.generation = b""
        self.append(self._next() + b"\n")

    def _rewrite(self) -> None:
        """Truncates the file and writes it again, with one more record."""
        content = self.generation + self._next() + b"\n"
        self.path.write_bytes(content)
        self.generation = content
        self._stamp()

    def _recreate(self) -> None:
        content = self.generation + self._next() + b"\n"
        self.path.unlink()
        self.path.write_bytes(content)
        self.generation = content
        self._stamp()

    def _rename(self) -> None:
        place = self.path.with_name(self.path.name.replace(".jsonl", "x.jsonl"))
        self.path.rename(place)
        self.path = place

    def _touch(self) -> None:
        self._stamp()

    def _compress(self) -> None:
        """Finishes and compresses the file; nothing is written after that."""
        packed = self.path.with_name(self.path.name + ".gz")
        temporary = self.path.with_name(".packing")
        temporary.write_bytes(gzip.compress(self.path.read_bytes()))
        temporary.rename(packed)
        self.path.unlink()
        self.dead = True

    def finish(self) -> None:
        """Writes the remaining records."""
        if self.dead:
            return
        if self.generation and not self.generation.endswith(b"\n"):
            self._finish_half()
        while self.todo:
            self.append(self._next() + b"\n")
