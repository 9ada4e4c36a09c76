"""The public API: what it exports, what importing costs, a stream to iterate over, a finished session."""

import ast
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

import agentv_stream
from agentv_stages.batch import Batch
from agentv_stages.event import AnyEvent, AssistantText, ToolCall, ToolResult
from agentv_stages.message import Message
from agentv_stream import EmptyInput, NotALog, SourceError, UsageError, open_stream, summarize
from support.consuming import SESSION, STREAM, environment

LOG = STREAM.read_bytes()


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment(), check=True
    )
    return done.stdout.strip()


# --- what is exported


def test_all_names_are_there_and_nothing_else() -> None:
    assert list(agentv_stream.__all__) == sorted(set(agentv_stream.__all__))
    for name in agentv_stream.__all__:
        assert getattr(agentv_stream, name) is not None
    public = {name for name in dir(agentv_stream) if not name.startswith("_")}
    assert public == set(agentv_stream.__all__)
    with pytest.raises(AttributeError):
        _ = agentv_stream.no_such_name


def test_what_type_checkers_see_is_what_is_exported() -> None:
    tree = ast.parse(Path(agentv_stream.__file__ or "").read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {a.asname or a.name for node in guarded.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert seen == set(agentv_stream.__all__)


def test_the_core_needs_msgspec_and_the_standard_library_only() -> None:
    code = (
        "import sys, pkgutil, importlib; before = set(sys.modules); import agentv_stages;"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(agentv_stages.__path__, 'agentv_stages.')];"
        "tops = {n.partition('.')[0] for n in set(sys.modules) - before};"
        "print(sorted(t for t in tops if t not in sys.stdlib_module_names))"
    )
    loaded = ast.literal_eval(python(code))
    assert set(loaded) - {"typing_extensions"} == {"agentv_stages", "msgspec"}  # msgspec takes it where it is installed


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("anyio", "asyncio", "typer", "yaml", "msgspec", "zstandard", "structlog")
    assert python(f"import sys, agentv_stream; print([n for n in {heavy!r} if n in sys.modules])") == "[]"


# --- open_stream


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        await anyio.lowlevel.checkpoint()
        yield data[at : at + size]


async def all_events(source: "str | Path | int | bytes | AsyncIterator[bytes]") -> list[AnyEvent]:
    async with open_stream(source) as stream:
        return [event async for event in stream.events()]


async def test_events_come_normalised_and_paired_from_any_source() -> None:
    events = await all_events(LOG)
    calls = [e for e in events if isinstance(e, ToolCall)]
    assert [c.tool for c in calls][:2] == ["Read", "Bash"]
    assert all(e.call is not None for e in events if isinstance(e, ToolResult))
    for source in (STREAM, str(STREAM), pieces(LOG, 700)):
        assert [type(e) for e in await all_events(source)] == [type(e) for e in events]


async def test_a_file_descriptor_is_a_source(tmp_path: Path) -> None:
    import os

    read, write = os.pipe()

    def fill() -> None:
        with os.fdopen(write, "wb") as file:
            file.write(LOG)

    events: list[AnyEvent] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, fill)
        events = await all_events(read)
    os.close(read)
    assert len([e for e in events if isinstance(e, ToolCall)]) == 9


async def test_messages_come_whole_and_statistics_are_live() -> None:
    counts: list[int] = []
    messages: list[Message] = []
    async with open_stream(pieces(LOG, 300)) as stream:
        assert stream.result is None
        async for message in stream.messages():
            messages.append(message)
            counts.append(stream.statistics["total_tool_calls"])
    assert [m.index for m in sorted(messages, key=lambda m: m.index)] == list(range(len(messages)))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == 9
    assert stream.result is not None
    assert stream.result.status == "complete"
    assert stream.result.tool_use_summary == stream.statistics


async def test_nothing_is_written_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    await all_events(LOG)
    assert list(tmp_path.iterdir()) == []
    async with open_stream(LOG, out=tmp_path / "o") as stream:
        async for _ in stream.batches():
            pass
    (path,) = (tmp_path / "o").glob("*.transcript.jsonl")
    assert stream.result is not None
    assert stream.result.outputs.transcript == str(path)


async def test_leaving_early_reads_the_source_to_its_end() -> None:
    read = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal read
        async for piece in pieces(LOG * 10, 500):
            read += len(piece)
            yield piece

    async with open_stream(counted()) as stream:
        async for event in stream.events():
            if isinstance(event, ToolCall):
                break
    assert read == len(LOG) * 10
    assert stream.result is not None
    assert stream.result.records == LOG.count(b"\n") * 10


class Shout:
    """A stage of one's own: texts in capitals."""

    def push(self, batch: Batch, /) -> Iterable[Batch]:
        for message in batch.messages:
            message.content = [type(block)(bytes(block).upper()) for block in message.content]
        return (batch,)

    def flush(self) -> Iterable[Batch]:
        return ()


class Collect:
    """A sink of one's own."""

    name = "collect"
    required = False

    def __init__(self) -> None:
        self.events = 0
        self.closed: bool | None = None

    async def write(self, batch: Batch) -> None:
        self.events += len(batch.events)

    async def close(self, whole: bool) -> None:
        self.closed = whole


class Watch:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def observe(self, batch: Batch) -> None:
        self.texts += [e.text for e in batch.events if isinstance(e, AssistantText)]


async def test_own_stages_sinks_and_watchers_take_part() -> None:
    sink, watch = Collect(), Watch()
    async with open_stream(LOG, stages=[Shout()], sinks=[sink], watchers=[watch]) as stream:
        said = [bytes(block) for m in [m async for m in stream.messages()] for block in m.content]
    assert b'"DONE."' in said
    assert "Done." in watch.texts
    assert sink.closed is True
    assert stream.result is not None
    assert sink.events == stream.result.events


async def test_an_own_stage_that_breaks_is_raised_as_it_is() -> None:
    class Broken(Shout):
        def push(self, batch: Batch, /) -> Iterable[Batch]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with open_stream(LOG, stages=[Broken()]) as stream:
            async for _ in stream.events():
                pass


async def test_what_the_block_raises_is_raised_as_it_is() -> None:
    with pytest.raises(LookupError):
        async with open_stream(LOG) as stream:
            async for _ in stream.events():
                raise LookupError


@pytest.mark.parametrize(("data", "error"), [(b"", EmptyInput), (b"plain words\n", NotALog)])
async def test_what_cannot_be_read_is_raised_when_the_block_ends(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        async with open_stream(data) as stream:
            async for _ in stream.events():
                pass


async def test_a_missing_file_and_a_wrong_provider_are_raised(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        async with open_stream(tmp_path / "missing"):
            pass
    with pytest.raises(UsageError):
        async with open_stream(LOG, provider="nobody"):
            pass


# --- summarize


def test_summarize_is_what_the_stream_gives() -> None:
    result = summarize(STREAM)
    assert (result.status, result.tool_use_summary["turns"], result.tokens["input"]) == ("complete", 8, 1170)
    assert summarize(str(SESSION)).tool_use_summary["total_tool_calls"] == 5
    assert summarize(SESSION, subagents=False).tool_use_summary["total_tool_calls"] == 4
    assert summarize(STREAM, watch=("python",)).tool_use_summary["watched_commands"]["python"] == [
        {"command": "python -m pytest -q", "turn": 6, "stream": "main"}
    ]


def test_summarize_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "words").write_bytes(b"hello\n")
    for name, error in (("missing", SourceError), ("", SourceError), ("empty", EmptyInput), ("words", NotALog)):
        with pytest.raises(error):
            summarize(tmp_path / name)
    with pytest.raises(UsageError):
        summarize(STREAM, provider="nobody")
