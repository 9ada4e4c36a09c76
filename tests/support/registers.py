"""A register with real logs, cursors and outputs in a folder."""

from pathlib import Path
from typing import Any

from agentv_stream.discovery.places import find_roots
from agentv_stream.following.cursors import CursorStore
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.followed import Followed
from agentv_stream.following.register import Register
from agentv_stream.settings import Settings


class Registered:
    """`logs` is the folder that is followed; `said` collects messages; `now` is the clock."""

    def __init__(self, folder: Path, *, cursors: bool = True, **plan: Any) -> None:
        self.logs, self.out = folder / "logs", folder / "out"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.said: list[str] = []
        self.now = 1000.0
        self.store = CursorStore(folder / "state", "test") if cursors else None
        made = Plan(find_roots([str(self.logs)]), Settings(out=self.out), **plan)
        self.register = Register(made, self.store, self.say, None, lambda: self.now)

    def say(self, event: str, **facts: object) -> None:
        self.said.append(event)

    def write(self, name: str, records: list[bytes]) -> Path:
        path = self.logs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(b"".join(one + b"\n" for one in records))
        return path

    def read(self, session: Followed) -> None:
        """Reads everything in the files of a session."""
        for one in session.files.inputs:
            one.file.look()
            session.read(one, 0, 1 << 30)
            self.register.known.entries[one.path].signature = one.file.signature

    def put(self, session: Followed) -> None:
        """Commits a session now, whether or not it is due."""
        assert self.store is not None
        with self.store.database.transaction():
            session.save(self.store)
        session.note_saved()

    def close(self) -> None:
        for session in list(self.register.hot.values()):
            self.register.drop(session)
        self.register.files.close_all()
        if self.store is not None:
            self.store.close()
