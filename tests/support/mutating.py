"""Logs for mutation tests: synthetic sessions of every dialect with marked texts; changes of records and of values.

A mark is a word that occurs in only one text of the session. It shows what of a mutated log was lost, and what was
reported twice.
"""

import copy
import json
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple, TypeAlias, cast

from hypothesis import HealthCheck, Phase, given, seed, settings
from msgspec.structs import replace

from agentv_stages.model.provider import Dialect, Provider
from agentv_stages.providers import all_providers
from agentv_stream.stores.rows import read_session
from agentv_stream.summary import SessionReader
from support.scenarios.scenario import Answer, Call, Scenario, changed, changed_calls
from support.scenarios.writer import Nameless, Writer, Written

MARK = re.compile(r"mark\d{5}[a-z]")
ID = re.compile(r"(call_|toolu_)(\d{4})")
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z")
LARGEST = 20_000  # bytes of what is put elsewhere: copies of copies grow
Records: TypeAlias = list[bytes]
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 0.5, 10**25, -(2**63), 2**64, 1e300, "", " ", "\x00", "\u2028\u202e\ufeff", "\x1b[31m",
    "x" * 3_000, "😀" * 9, [], {}, [None], [[]], {"": None}, {"a": {"b": []}}, "null", "[", "2026-13-99T99:99:99Z",
)  # fmt: skip


class Log(NamedTuple):
    """A log: its records (a document has one). `again` says whether a record can be distinguished from equal ones."""

    name: str
    records: Records
    provider: Provider
    dialect: Dialect
    named: Callable[[bytes], bool] = lambda record: False
    lines: bool = True

    @property
    def data(self) -> bytes:
        return b"".join(record + b"\n" for record in self.records)


UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


def drawn(writer: Writer, number: int, count: int) -> list[Scenario]:
    """Random scenarios, the same ones for the same number."""
    found: list[Scenario] = []

    @seed(number)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=UNHURRIED,
    )
    @given(writer.sessions)
    def draw(scenario: Scenario) -> None:
        found.append(scenario)

    draw()
    return found


def marked(scenario: Scenario, first: int = 0, even: bool = False) -> Scenario:
    """The scenario with a mark in each text; marks, calls and answers are numbered from `first` on.

    `even`: texts consist of the mark alone, so that all have the same length.
    """

    def mark(text: str, number: int, kind: str) -> str:
        return f"{'' if even else text + ' '}mark{first + number:05}{kind}" if text else text

    def answer(one: Answer) -> Answer:
        number = one.number
        one = replace(one, text=mark(one.text, number, "a"), thinking=mark(one.thinking, number, "t"))
        return replace(one, number=number + first)

    def call(one: Call) -> Call:
        output = mark(one.output, one.number, "o")
        target = mark(one.target, one.number, "g") if one.verb in ("search", "find", "fetch") else one.target
        return replace(
            one, output=output, target=target, text=mark(one.text, one.number, "i"), number=one.number + first
        )

    prompts = [replace(p, text=mark(p.text, n, "p")) for n, p in enumerate(scenario.prompts)]
    return changed_calls(changed(replace(scenario, prompts=tuple(prompts)), answer), call)


def written(writer: Writer, scenario: Scenario) -> Log | None:
    """The log of a scenario; None if nothing is printed yet."""
    made = writer.write(scenario)
    provider, of = next((p, d) for p in all_providers() for d in p.dialects if d.name == writer.dialect)
    records = list(_rows(made)) if made.session else made.data.split(b"\n")[:-1] if writer.lines else [made.data]
    if not made.data or not records:
        return None
    lines = (writer.lines or made.session is not None) and not any(r[:1] in (b" ", b"}", b"]") for r in records)
    records = records if lines else [made.data.rstrip(b"\n")]
    named = _named(writer.nameless) if lines and not made.session else Log._field_defaults["named"]
    return Log(writer.name or writer.dialect, records, provider, of, named, lines)


def _named(nameless: Nameless) -> Callable[[bytes], bool]:
    return lambda record: record[:1] == b"{" and not nameless.which(json.loads(record))


def _rows(made: Written) -> Iterator[bytes]:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        place = Path(folder, made.name)
        place.write_bytes(made.data)
        yield from read_session(str(place), cast("str", made.session))


def read_back(name: str, data: bytes) -> Log:
    """A transcript or a recording as a log."""
    reader = SessionReader([data], name)
    records = data.removesuffix(b"\n").split(b"\n")
    lines = not any(r[:1] in (b" ", b"}", b"]") for r in records)
    return Log(name, records if lines else [data], reader.provider, reader.dialect, lines=lines)


def value_of(record: bytes) -> Any:
    return json.loads(record)


def record_of(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def changed_values(records: Records, change: Callable[[str, Any], Any]) -> Records:
    """The records with each string and number changed; lines that are not JSON are unchanged."""
    out: Records = []
    for record in records:
        try:
            out.append(record_of(mapped(value_of(record), change)))
        except ValueError:
            out.append(record)
    return out


def places(value: Any) -> list[tuple[Any, Any]]:
    """Each member and element: its container, and its name or position."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        one = todo.pop()
        inner: list[tuple[Any, Any]]
        if isinstance(one, dict):
            inner = list(cast("dict[str, Any]", one).items())
        elif isinstance(one, list):
            inner = list(enumerate(cast("list[object]", one)))
        else:
            continue
        found += [(one, at) for at, _ in inner]
        todo += [member for _, member in inner]
    return found


def mapped(value: Any, change: Callable[[str, Any], Any], name: str = "") -> Any:
    """The value with each string and number in it changed; `change` also gets the member's name."""
    if isinstance(value, dict):
        return {key: mapped(one, change, key) for key, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [mapped(one, change, name) for one in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return change(name, value)


def is_time(value: Any) -> bool:
    if isinstance(value, str):
        return bool(ISO.fullmatch(value))
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 1.7e9


def one_time(name: str, value: Any) -> Any:
    """Gives all records the same time."""
    if not is_time(value):
        return value
    return (
        "2026-03-02T09:30:00.000Z"
        if isinstance(value, str)
        else type(value)(1.7724438e12 if value > 1e12 else 1.7724438e9)
    )


def no_time(name: str, value: Any) -> Any:
    return None if is_time(value) else value


def one_id(calls: set[str]) -> Callable[[str, Any], Any]:
    """Replaces all ids by one, as an anonymised log has it, except those of calls."""

    def change(name: str, value: Any) -> Any:
        return "[gone]" if is_id(name, value) and value not in calls else value

    return change


def is_id(name: str, value: Any) -> bool:
    return isinstance(value, str) and name.lower().endswith(("id", "uuid")) and not ID.search(value)


def of_another(name: str, value: Any) -> Any:
    """Changes ids and times to those of another session, ten hours later."""
    if is_time(value):
        return (
            value.replace("T09:", "T19:")
            if isinstance(value, str)
            else value + (36_000_000 if value > 1e12 else 36_000)
        )
    if not is_id(name, value):
        return value
    return f"{value[:-5]}e{value[-4:]}" if len(value) > 20 else f"{value}7"


def bent(value: Any, chance: Random) -> Any:
    """A copy in which some members are changed, removed or repeated."""
    value = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 2, 5))):
        found = places(value)
        if not found:
            break
        holder, at = chance.choice(found)
        what = chance.randrange(4)
        if what == 0:
            del holder[at]
        elif what == 1:
            other, there = chance.choice(found)
            if there in other if isinstance(other, dict) else there < len(other):
                taken = record_of(other[there])
                holder[at] = value_of(taken) if len(taken) < LARGEST else None
        elif what == 2 and isinstance(holder, list):
            holder.insert(at, copy.deepcopy(holder[at]))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - decoded JSON
        else:
            holder[at] = copy.deepcopy(chance.choice(ODD))
    return value
