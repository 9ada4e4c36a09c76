"""The API under trio: aiofiles knows asyncio alone, the streams need both."""

from pathlib import Path

import anyio
import pytest

from agentv_stream import Result, open_stream
from support.consuming import STREAM


async def consumed(source: "Path | bytes | str", out: Path) -> "Result | None":
    async with open_stream(source, out=out) as stream:
        async for _ in stream.messages():
            pass
    return stream.result


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_reads_and_writes_under_trio_as_under_asyncio(tmp_path: Path, packed: bool) -> None:
    source = STREAM
    if packed:
        import gzip

        source = tmp_path / "log.jsonl.gz"
        source.write_bytes(gzip.compress(STREAM.read_bytes()))
    results = [anyio.run(consumed, source, tmp_path / backend, backend=backend) for backend in ("asyncio", "trio")]
    (one,) = (tmp_path / "asyncio").iterdir()
    (other,) = (tmp_path / "trio").iterdir()
    assert one.read_bytes() == other.read_bytes()
    assert results[0] is not None
    assert results[1] is not None
    assert results[0].tool_use_summary == results[1].tool_use_summary
