"""Lists and follows agents' databases of any size: one database at a time, made here and deleted afterwards.

    python benchmarks/stores.py [--only crush,goose] [--size 1GB] [--writes 40] [--folder DIR]

Each is listed in new processes: once when none of its pages is in memory (cold; the kernel is told to forget them),
then three times more (warm). Then it is followed by `tail` while another program adds messages to old and to new
sessions; the lag of a message is the time from the commit that makes it final until its event is on standard output.
"""

import argparse
import json
import os
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

SESSIONS = 400
T0 = 1_789_000_000  # seconds
Query = tuple[str, tuple[object, ...]]
_MARK = re.compile(rb"mark-(\d+)-end")


def words(size: int, seed: int) -> str:
    """A text of about `size` characters."""
    source = random.Random(seed)
    part = " ".join(f"{source.getrandbits(40):x}" for _ in range(200))
    return (part * (size // len(part) + 1))[:size]


@dataclass(frozen=True)
class Kind:
    """How an agent keeps sessions. `session` and `message` give the statements that write one; a message has a size,
    and its text begins with `mark`. `late`: a message is final when the next one of its session is written."""

    file: str
    provider: str
    schema: str
    session: Callable[[int, int], list[Query]]
    message: Callable[[int, int, int, str], list[Query]]
    messages: int = 60  # of a session
    late: bool = False
    wal: bool = True
    files: int = 1  # databases; each has a share of the sessions


def opencode_session(n: int, now: int) -> list[Query]:
    row = (f"ses_{n}", "/w", f"Session {n}", "1.18.0", now * 1000, now * 1000)
    return [("INSERT OR REPLACE INTO session VALUES (?, NULL, ?, ?, ?, ?, ?)", row)]


def opencode_message(session: int, n: int, size: int, mark: str) -> list[Query]:
    now = (T0 + n) * 1000
    name, of = f"msg_{session:04}_{n:05}", f"ses_{session}"
    info = {"role": "assistant", "modelID": "m", "time": {"created": now, "completed": now + 1}}
    parts: list[object] = [{"type": "text", "text": mark}]
    call = {"type": "tool", "callID": f"c{session}-{n}", "tool": "read"}
    times = {"start": now, "end": now + 1}
    state = {"status": "completed", "input": {"filePath": "a.py"}, "output": words(size, n), "title": "", "time": times}
    parts += [{"type": "reasoning", "text": "so"}, {**call, "state": state}]
    parts += [{"type": "step-start"}, {"type": "step-finish", "tokens": {"input": 9, "output": 2}}]
    query = "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)"
    rows: list[Query] = [("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (name, of, now, now, json.dumps(info)))]
    rows[:0] = [(query, (f"prt_{name}_{i}", name, of, now, now, json.dumps(part))) for i, part in enumerate(parts)]
    return rows


OPENCODE = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text,
  time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer,
  data text);
CREATE INDEX message_session_idx ON message (session_id);
CREATE INDEX part_message_idx ON part (message_id);
CREATE INDEX part_session_idx ON part (session_id);
"""


def opencode2_session(n: int, now: int) -> list[Query]:
    row = (f"ses_{n}", "/w", f"Session {n}", "2.0.14", now * 1000, now * 1000)
    return [("INSERT OR REPLACE INTO session_v2 VALUES (?, NULL, ?, ?, ?, ?, ?)", row)]


def opencode2_message(session: int, n: int, size: int, mark: str) -> list[Query]:
    now = (T0 + n) * 1000
    state = {"status": "completed", "input": {"filePath": "a"}, "content": [{"type": "text", "text": words(size, n)}]}
    call = {"type": "tool", "id": f"c{session}-{n}", "name": "read", "state": state}
    content = [{"type": "text", "text": mark}, call]
    times = {"created": now, "completed": now + 1}
    data = {"agent": "build", "model": {"id": "m", "providerID": "p"}, "content": content, "time": times}
    row = (f"msg_{session:04}_{n:05}", f"ses_{session}", "assistant", n, now, now, json.dumps(data))
    return [("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", row)]


OPENCODE2 = """
CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, directory text, title text, version text,
  time_created integer, time_updated integer);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer,
  time_updated integer, data text);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
"""


def crush_session(n: int, now: int) -> list[Query]:
    row = (f"ses-{n}", f"Session {n}", now, now)
    query = "INSERT OR REPLACE INTO sessions (id, title, updated_at, created_at) VALUES (?, ?, ?, ?)"
    return [(query, row)]


def crush_message(session: int, n: int, size: int, mark: str) -> list[Query]:
    call = {"id": f"c{session}-{n}", "name": "view", "input": '{"file_path":"a"}', "finished": True}
    parts = [
        {"type": "text", "data": {"text": f"{mark} {words(size, n)}"}},
        {"type": "tool_call", "data": call},
        {"type": "finish", "data": {"reason": "tool_use", "time": T0 + n}},
    ]
    columns = "id, session_id, role, parts, model, created_at, updated_at, finished_at, provider"
    row = (f"msg-{session}-{n}", f"ses-{session}", "assistant", json.dumps(parts), "m", T0 + n, T0 + n, None, "p")
    return [(f"INSERT INTO messages ({columns}) VALUES ({', '.join('?' * len(row))})", row)]


CRUSH = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
  message_count INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL, summary_message_id TEXT, todos TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
  parts TEXT NOT NULL default '[]', model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0 NOT NULL);
CREATE INDEX idx_messages_session_id ON messages (session_id);
"""


def goose_session(n: int, now: int) -> list[Query]:
    query = (
        "INSERT OR REPLACE INTO sessions (id, name, session_type, working_dir, created_at, updated_at)"
        " VALUES (?, ?, 'user', '/w', datetime(?, 'unixepoch'), datetime(?, 'unixepoch'))"
    )
    return [(query, (f"2026_{n}", f"Session {n}", now, now))]


def goose_message(session: int, n: int, size: int, mark: str) -> list[Query]:
    content = [{"type": "text", "text": f"{mark} {words(size, n)}"}]
    query = (
        "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)"
        " VALUES (?, ?, 'assistant', ?, ?, '{}')"
    )
    return [(query, (f"m{session}-{n}", f"2026_{session}", json.dumps(content), T0 + n))]


GOOSE = """
CREATE TABLE schema_version (version INTEGER);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,
  created_at TIMESTAMP, updated_at TIMESTAMP, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
  accumulated_cost REAL, parent_session_id TEXT, goose_mode TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,
  content_json TEXT, created_timestamp INTEGER, tokens INTEGER, metadata_json TEXT);
CREATE INDEX idx_messages_session ON messages (session_id);
"""

_documents: dict[int, list[object]] = {}


def document(session: int, size: int, mark: str) -> str:
    """A conversation with one exchange more than before; the document is written whole."""
    history = _documents.setdefault(session, [])
    if not history:
        history += [exchange(words(size, i)) for i in range(12)]
    if mark:
        history.append(exchange(mark))
    return json.dumps({"conversation_id": f"conv-{session}", "next_message": None, "history": history})


def exchange(text: str) -> dict[str, object]:
    return {
        "user": {"content": {"Prompt": {"prompt": "Go."}}, "timestamp": None},
        "assistant": {"Response": {"message_id": None, "content": text}},
        "request_metadata": {"model_id": "m", "message_id": "r", "time_to_first_chunk": None},
    }


def kiro_message(session: int, n: int, size: int, mark: str) -> list[Query]:
    row = (f"/w/{session}", f"conv-{session}", document(session, size, mark), T0 * 1000, (T0 + n) * 1000)
    return [("INSERT OR REPLACE INTO conversations_v2 VALUES (?, ?, ?, ?, ?)", row)]


def amazon_q_message(session: int, n: int, size: int, mark: str) -> list[Query]:
    row = (f"/w/{session}", document(session, size, mark))
    return [("INSERT OR REPLACE INTO conversations VALUES (?, ?)", row)]


KIRO = """
CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT, created_at INTEGER, updated_at INTEGER,
  PRIMARY KEY (key, conversation_id));
"""
AMAZON_Q = "CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);"


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def protobuf(*fields: tuple[int, int | bytes]) -> bytes:
    """A message of numbers, and of texts and messages as bytes."""
    out = b""
    for number, value in fields:
        whole = isinstance(value, int)
        out += varint(number << 3 | (0 if whole else 2))
        out += varint(value) if isinstance(value, int) else varint(len(value)) + value
    return out


def antigravity_session(n: int, now: int) -> list[Query]:
    return [("INSERT INTO trajectory_meta VALUES ('t', ?, 4, 17)", (f"conversation-{n}",))]


def antigravity_message(session: int, n: int, size: int, mark: str) -> list[Query]:
    times = protobuf((1, protobuf((1, T0 + n))), (8, protobuf((1, T0 + n + 1))))
    answer = protobuf((1, f"{mark} {words(size, n)}".encode()), (12, 2))
    payload = protobuf((1, 15), (4, 3), (5, times), (20, answer))
    return [("INSERT INTO steps VALUES (?, 15, 3, NULL, ?)", (n, payload))]


ANTIGRAVITY = """
CREATE TABLE trajectory_meta (trajectory_id text, cascade_id text, trajectory_type integer, source integer);
CREATE TABLE steps (idx integer PRIMARY KEY, step_type integer, status integer, error_details blob, step_payload blob);
CREATE TABLE gen_metadata (idx integer PRIMARY KEY, data blob, size integer);
"""


def nothing(n: int, now: int) -> list[Query]:
    return []


KINDS = {
    "opencode": Kind("opencode.db", "opencode", OPENCODE, opencode_session, opencode_message),
    "opencode-2": Kind("opencode-next.db", "opencode", OPENCODE2, opencode2_session, opencode2_message),
    "kilo": Kind("kilo.db", "kilo", OPENCODE, opencode_session, opencode_message),
    "crush": Kind("crush.db", "crush", CRUSH, crush_session, crush_message),
    "goose": Kind("sessions.db", "goose", GOOSE, goose_session, goose_message, late=True),
    "kiro": Kind("data.sqlite3", "kiro", KIRO, nothing, kiro_message, messages=1, late=True),
    "amazon-q": Kind("data.sqlite3", "kiro", AMAZON_Q, nothing, amazon_q_message, messages=1, late=True),
    "antigravity": Kind("{}.db", "antigravity", ANTIGRAVITY, antigravity_session, antigravity_message, files=SESSIONS),
}


@dataclass
class Databases:
    """The databases of one kind in a folder."""

    kind: Kind
    folder: Path

    def path(self, session: int) -> Path:
        return self.folder / self.kind.file.format(f"conversation-{session % self.kind.files}")

    def paths(self) -> list[Path]:
        return sorted({self.path(n) for n in range(self.kind.files)})

    def make(self, size: int) -> None:
        """Writes `size` bytes, the messages of all sessions in turns, as they come in a life."""
        each = size // SESSIONS // (12 if self.kind.messages == 1 else self.kind.messages)
        writers = [self.open(n) for n in range(self.kind.files)]
        for writer in writers:
            writer.executescript(self.kind.schema)
        for session in range(SESSIONS):
            self.run(writers[session % len(writers)], self.kind.session(session, T0))
        for n in range(self.kind.messages):
            for session in range(SESSIONS):
                self.run(writers[session % len(writers)], self.kind.message(session, n, each, ""))
        for writer in writers:
            writer.commit()
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            writer.close()

    def open(self, session: int) -> sqlite3.Connection:
        path = self.path(session)
        path.parent.mkdir(parents=True, exist_ok=True)
        writer = sqlite3.connect(path)
        writer.execute(f"PRAGMA journal_mode={'WAL' if self.kind.wal else 'DELETE'}")
        writer.execute("PRAGMA synchronous=NORMAL")
        return writer

    def run(self, writer: sqlite3.Connection, queries: list[Query]) -> None:
        for query, values in queries:
            writer.execute(query, values)

    def forget(self) -> None:
        """Tells the kernel to drop the pages of the databases."""
        for path in self.paths():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)

    def root(self) -> str:
        return f"{self.kind.provider}={self.folder}"


def program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "agentv_stream", *arguments]


def listed(made: Databases, environment: dict[str, str]) -> tuple[float, int]:
    """Seconds of a new process that lists the sessions as JSON; and their number."""
    begun = time.monotonic()
    call = program("sessions", "--root", made.root(), "--json", "--no-figures", "--limit", "0")
    done = subprocess.run(call, stdout=subprocess.PIPE, env=environment, check=True)
    took = time.monotonic() - begun
    return took, len(done.stdout.splitlines())


class Follower:
    """`tail` over the databases; `seen` has the time of each mark on standard output."""

    def __init__(self, made: Databases, folder: Path, environment: dict[str, str]) -> None:
        call = program("tail", "--all", "--root", made.root(), "--events", "--from", "end", "--state", str(folder))
        self.process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.seen: dict[int, float] = {}
        self.caught_up = threading.Event()
        for read in (self._read, self._read_messages):
            threading.Thread(target=read, daemon=True).start()

    def _read_messages(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if b"caught up" in line:
                self.caught_up.set()
            else:
                sys.stderr.write(line.decode("utf-8", "replace"))

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            now = time.monotonic()
            for mark in _MARK.findall(line):
                self.seen.setdefault(int(mark), now)

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def follow(made: Databases, folder: Path, environment: dict[str, str], writes: int) -> dict[str, object]:
    """Adds messages to eight old sessions, a few at random times a second."""
    kind = made.kind
    writers = {session: made.open(session) for session in (3, 77, 150, 211, 260, 300, 360, 399)}
    marked, first = dict.fromkeys(writers, -1), int(time.time()) - T0 + 10**8  # no row has this number
    follower = Follower(made, folder, environment)
    final: dict[int, float] = {}
    source = random.Random(1)
    with closing(follower):
        if not follower.caught_up.wait(240):
            raise SystemExit("the follower did not catch up in 240 s")
        time.sleep(3)
        begun, spent = time.monotonic(), follower.cpu()
        for n in range(writes + (len(writers) if kind.late else 0)):
            session = list(writers)[n % len(writers)]
            made.run(writers[session], kind.message(session, first + n, 400, f"mark-{n}-end"))
            writers[session].commit()
            final[marked[session] if kind.late else n] = time.monotonic()
            marked[session] = n
            time.sleep(source.uniform(0.1, 0.9))
        time.sleep(2)
        share = (follower.cpu() - spent) / (time.monotonic() - begun)
    for writer in writers.values():
        writer.close()
    final.pop(-1, None)
    lags = sorted(1000 * (follower.seen[n] - at) for n, at in final.items() if n in follower.seen)
    return {
        "written": len(final),
        "seen": len(lags),
        "median_ms": round(statistics.median(lags), 1) if lags else None,
        "p90_ms": round(lags[int(0.9 * (len(lags) - 1))], 1) if lags else None,
        "max_ms": round(lags[-1], 1) if lags else None,
        "processor_percent": round(100 * share, 1),
    }


def measure(name: str, folder: Path, size: int, writes: int) -> dict[str, object]:
    made = Databases(KINDS[name], folder / name)
    made.make(size)
    (folder / "home").mkdir(exist_ok=True)
    environment = {**os.environ, "HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home/cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    listed(made, environment)
    made.forget()
    cold, sessions = listed(made, environment)
    warm = [listed(made, environment)[0] for _ in range(3)]
    bytes_made = sum(path.stat().st_size for path in made.paths())
    figures = follow(made, folder / f"state-{name}", environment, writes)
    shutil.rmtree(folder / name)
    _documents.clear()
    row: dict[str, object] = {"store": name, "megabytes": round(bytes_made / 1e6), "sessions": sessions}
    return row | {"cold_s": round(cold, 2), "warm_s": round(statistics.median(warm), 2), **figures}


def rows(options: argparse.Namespace, folder: Path) -> Iterator[dict[str, object]]:
    unit = {"KB": 1000, "MB": 10**6, "GB": 10**9}[options.size[-2:]]
    for name in filter(None, options.only.split(",")):
        yield measure(name, folder, int(options.size[:-2]) * unit, options.writes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--size", default="1GB")
    parser.add_argument("--writes", type=int, default=40)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentv-stores-", dir=options.folder) as place:
        for row in rows(options, Path(place)):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
