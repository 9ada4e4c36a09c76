"""The sink that renders batches into a file."""

from pathlib import Path

import pytest

from agentv_stages.model.batch import Batch
from agentv_stream.errors import SinkError
from agentv_stream.outputs.sink import RenderSink


def name(batch: Batch) -> bytes:
    return batch.file.encode() and batch.file.encode() + b"\n"


async def test_batches_are_appended_and_what_the_renderer_held_comes_last(tmp_path: Path) -> None:
    sink = RenderSink("log", lambda: tmp_path / "f", name, lambda: b"held\n")
    for file in ("a", "", "b"):
        await sink.write(Batch(file))
    await sink.close(True)
    assert (tmp_path / "f").read_bytes() == b"a\nb\nheld\n"
    assert sink.path == tmp_path / "f"


async def test_after_a_failure_elsewhere_nothing_more_is_rendered(tmp_path: Path) -> None:
    sink = RenderSink("log", lambda: tmp_path / "f", name, lambda: b"held\n")
    await sink.write(Batch("a"))
    await sink.close(False)
    assert (tmp_path / "f").read_bytes() == b"a\n"


async def test_the_place_is_asked_for_when_there_is_something_to_write(tmp_path: Path) -> None:
    def never() -> Path:
        raise AssertionError("nothing was rendered")

    sink = RenderSink("log", never, name)
    await sink.write(Batch(""))
    await sink.close(True)
    assert sink.path is None
    assert not list(tmp_path.iterdir())


async def test_a_failed_write_is_a_sink_error_and_the_file_is_let_go(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    sink = RenderSink("log", lambda: tmp_path / "file" / "f", name)
    with pytest.raises(SinkError):
        await sink.write(Batch("a"))
    await sink.close(False)


@pytest.mark.parametrize("required", [True, False])
def test_it_is_required_only_where_that_is_said(required: bool) -> None:
    assert RenderSink("log", Path, name, required=required).required is required
    assert not RenderSink("log", Path, name).required
