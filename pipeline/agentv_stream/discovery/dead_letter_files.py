"""Reads dead-letter files: lists them, shows them, and decodes their records again.

A record is decoded on its own, in the dialect of its log, which must still exist: facts that a decoder takes from the
records before it are missing.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.payload import printable_path
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.visible import visible
from agentv_stages.providers import get_provider
from agentv_stages.sinks.event_lines import EventLines
from agentv_stream.colour import PLAIN, Palette
from agentv_stream.discovery.header import Header, read_header
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.outputs.naming import DEFAULT_ROOT, LETTERS, blob_folder
from agentv_stream.sources.files import is_file, is_folder, is_there

if TYPE_CHECKING:
    from agentv_stages.redaction.redactor import Redactor

MOST_SHOWN = 64 * 1024
NEXT = "\n  "


class Letter(Struct):
    """One line of a dead-letter file."""

    reason: str
    file: str
    row: int
    offset: int
    length: int
    detail: str
    text: str | None = None
    base64: str | None = None
    blob: str | None = None


def letter_files(places: list[Path] | None) -> list[Path]:
    """The dead-letter files in `places`. Raises: SourceError for a place that does not exist or is another file."""
    found: list[Path] = []
    for place in places or [DEFAULT_ROOT / "logs"]:
        if is_folder(place):
            found += sorted(filter(is_file, place.rglob(f"*{LETTERS}")))
        elif is_file(place):
            if place.stat().st_size and next(letters(place), None) is None:
                raise SourceError(f"{place} holds no dead letters; files of them end in {LETTERS}")
            found.append(place)
        elif places:
            raise SourceError(f"cannot read {place}: no such file")
    return found


def letters(path: Path) -> Iterator[Letter]:
    """The letters of a file. Raises: SourceError."""
    decode = msgspec.json.Decoder(Letter).decode
    try:
        with path.open("rb") as file:
            for line in file:
                try:
                    yield decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    continue  # half a line: it is still being written
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error


def data_of(letter: Letter, path: Path) -> bytes:
    """The bytes of the record. A blob whose name leads out of the folder is not read."""
    if letter.text is not None:
        return letter.text.encode("utf-8", "surrogatepass")
    if letter.base64 is not None:
        try:
            return b64decode(letter.base64)
        except ValueError:
            return b""
    if letter.blob is None:
        return b""
    folder, _, name = letter.blob.partition("/")
    own = blob_folder(path).name
    place = (path.parent / (own if folder == printable_path(own) else folder) / name).resolve()
    if not place.is_relative_to(path.parent.resolve()) or not is_file(place):
        return b""
    try:
        return place.read_bytes()
    except OSError:
        return b""


def fault_lines(
    places: list[Path] | None, as_json: bool, paint: Palette = PLAIN, stacked: bool = False
) -> Iterator[str]:
    """One line per fault, which begins with its name for `fault_bytes`; `stacked`: two, the name alone on the first.

    Raises: SourceError.
    """
    found = False
    for path in letter_files(places):
        for n, letter in enumerate(letters(path)):
            found = True
            if as_json:
                row = {"letter": printable_path(f"{path}:{n}"), **msgspec.structs.asdict(letter)}
                yield msgspec.json.encode(row).decode() + "\n"
                continue
            where = f"{visible(letter.file)} row {letter.row} offset {letter.offset} ({letter.length} bytes)"
            name, reason = paint("bold", visible(f"{path}:{n}")), paint("fail", visible(letter.reason, 40))
            yield f"{name}{NEXT if stacked else '  '}{reason}  {visible(letter.detail, 80)}  {paint('dim', where)}\n"
    if not found and not as_json:
        yield "no faults\n"


def fault_bytes(place: str, redactor: "Redactor | None" = None) -> str:
    """The bytes of one fault, for a terminal. Raises: UsageError, SourceError."""
    name, _, number = place.rpartition(":")
    if not name or not number.isdecimal():
        raise UsageError(f"{place!r}: expected FILE:NUMBER, as `faults list` says")
    path = _found(name)
    for n, letter in enumerate(letters(path)):
        if n == int(number):
            data = data_of(letter, path)
            data = data if redactor is None else redactor.redact(data)
            if not data and letter.length:
                return f"not kept: {letter.length} bytes at offset {letter.offset} of {visible(letter.file)}\n"
            more = f"\n… {len(data) - MOST_SHOWN} bytes more" if len(data) > MOST_SHOWN else ""
            return visible(data[:MOST_SHOWN].decode("utf-8", "backslashreplace")) + more + "\n"
    raise UsageError(f"{path} has no letter {number}")


def _found(name: str) -> Path:
    """The file of a printed name, in which what acts on a terminal is escaped. Raises: UsageError, SourceError."""
    path = Path()
    for part in Path(name).parts:
        if not is_there(path / part) and is_folder(path):
            try:
                names = [entry.name for entry in path.iterdir()]
            except OSError as error:
                raise SourceError(f"cannot read {path}: {error.strerror}") from error
            like = [found for found in names if part in (visible(found), printable_path(found))]
            if len(like) > 1:
                raise UsageError(f"{visible(name)}: {len(like)} files are printed by this name")
            part = like[0] if like else part
        path /= part
    return path


def retry_faults(places: list[Path] | None, say: Callable[[str], None]) -> Iterator[str]:
    """Events of records that can be decoded now, as JSON lines; `say` gets how many. Raises: SourceError."""
    tried = used = 0
    for path in letter_files(places):
        headers: dict[str, Header | None] = {}
        for letter in letters(path):
            if letter.file not in headers:
                headers[letter.file] = _header(letter.file)
            tried += 1
            lines = _again(letter, data_of(letter, path), headers[letter.file])
            used += bool(lines)
            yield from (line.decode("utf-8", "replace") for line in lines)
    say(f"{used} of {tried} records can be used")


def _header(file: str) -> Header | None:
    try:
        return read_header(file)
    except OSError:
        return None


def _again(letter: Letter, data: bytes, header: Header | None) -> list[bytes]:
    if header is None or not data:
        return []
    provider = get_provider(header.provider)
    dialect = next(d for d in provider.dialects if d.name == header.dialect)
    batch = Batch(letter.file, records=[Record(data, letter.offset, letter.row)])
    Decode(dialect, DecodeContext(letter.file, session_id=header.session_id)).push(batch)
    Normalize(provider.tools).push(batch)
    lines = EventLines(header.session_id or "")
    return [lines.line(event) for event in batch.events]
