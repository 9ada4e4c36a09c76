"""Secrets in the texts of real small logs: a log in, the same log with a made-up secret in each of its longer texts."""

import json
import random
import sqlite3
import string
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import zstandard

KEPT = frozenset(("signature", "thoughtSignature", "encrypted_content", "model", "type", "role", "timestamp"))
LETTERS = string.ascii_letters + string.digits
FORMS = (
    ("sk-ant-api03-", 93, "AA"),
    ("ghp_", 36, ""),
    ("AIza", 35, ""),
    ("xoxb-", 40, ""),
    ("gsk_", 52, ""),
    ("https://user:", 20, "@db.internal/x"),
    ("Authorization: Bearer ", 40, ""),
    ("SERVICE_TOKEN=", 30, ""),
    ("glpat-", 20, ""),
    ("hf_", 34, ""),
)


class Planter:
    """Makes secrets, each another one; `secrets` has the parts that must not be seen."""

    def __init__(self, seed: int = 1) -> None:
        self.secrets: list[str] = []
        self._chance = random.Random(seed)
        self._planted: dict[str, str] = {}  # a text that a log repeats has the same secret everywhere

    def secret(self) -> str:
        before, length, behind = FORMS[len(self.secrets) % len(FORMS)]
        letters = string.ascii_letters if before == "hf_" else LETTERS
        secret = "a1B" if letters is LETTERS else "aB"
        secret += "".join(self._chance.choice(letters) for _ in range(length - len(secret)))
        self.secrets.append(secret)
        return f"{before}{secret}{behind}"

    def plant(self, data: bytes, most: int = 40) -> bytes:
        """The log with secrets in up to `most` of its texts that have a space, so that are no ids."""
        lines = data.splitlines() if data.count(b"\n") > 2 or not data.lstrip().startswith((b"{\n", b"[\n")) else [data]
        left = [most]
        return b"\n".join(self._line(line, left) for line in lines) + b"\n"

    def _line(self, line: bytes, left: list[int]) -> bytes:
        try:
            value = json.loads(line)
        except ValueError:
            return line
        return json.dumps(self._value(value, left), ensure_ascii=False, separators=(",", ":")).encode()

    def _value(self, value: Any, left: list[int]) -> Any:
        if isinstance(value, dict):
            members = cast(dict[str, Any], value).items()
            return {key: item if key in KEPT else self._value(item, left) for key, item in members}
        if isinstance(value, list):
            items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - decoded JSON
            return [self._value(item, left) for item in items]
        if isinstance(value, str) and " " in value and not value.lstrip().startswith(("{", "[")):
            if value not in self._planted and left[0] > 0:
                left[0] -= 1
                self._planted[value] = f"{value} {self.secret()} "
            return self._planted.get(value, value)
        return value


def files_below(*places: Path) -> Iterator[Path]:
    """All files in folders."""
    for place in places:
        yield from (path for path in place.rglob("*") if path.is_file())


def _contents(path: Path) -> bytes:
    """The bytes of a file; of a database all its texts and bytes, unpacked."""
    data = path.read_bytes()
    if not data.startswith(b"SQLite format 3\0"):
        return data
    found: list[bytes] = []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                found += [_unpacked(value) for value in row if isinstance(value, (bytes, str))]
    return b"\n".join(found)


def _unpacked(value: bytes | str) -> bytes:
    data = value if isinstance(value, bytes) else value.encode()
    return zstandard.ZstdDecompressor().decompress(data) if data.startswith(b"\x28\xb5\x2f\xfd") else data


def leaks(secrets: list[str], *places: Path) -> list[tuple[str, str]]:
    """Which secrets are in which files below the places, or in their names."""
    found: list[tuple[str, str]] = []
    for path in files_below(*places):
        data = _contents(path) + str(path).encode()
        found += [(str(path), secret) for secret in secrets if secret.encode() in data]
    return found
