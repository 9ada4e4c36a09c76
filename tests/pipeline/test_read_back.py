"""A transcript read back gives the verdicts and the statistics of its log, for every agent and every evaluator."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agentv_stages.trajectory.build import MAKERS
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.sources.files import read_pieces
from agentv_stream.stores.rows import read_session
from support.fixture_logs import LOGS
from support.reading_back import SPEC, differences
from support.recorded_logs import FOLDERS, recordings
from support.scenarios.dialects import WRITERS
from support.scenarios.writer import Writer

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
EXAMPLES = settings(
    max_examples=3, deadline=None, derandomize=True, suppress_health_check=SLOW, phases=[Phase.generate]
)


def test_the_spec_has_every_evaluator() -> None:
    assert {entry["type"] for entry in SPEC} == MAKERS.keys()


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_shipped_log(log: Path) -> None:
    assert not differences(read_pieces(log), str(log))


@pytest.mark.parametrize("writer", WRITERS.values(), ids=list(WRITERS))
@EXAMPLES
@given(data=st.data())
def test_a_random_session_of_any_dialect(writer: Writer, data: st.DataObject) -> None:
    written = writer.write(data.draw(writer.sessions))
    if not written.data:
        return  # nothing was printed yet
    with TemporaryDirectory() as folder:
        for name, content in {**written.beside, written.name: written.data}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        place = Path(folder, written.name)
        if written.session is None:
            found = differences(read_pieces(place), str(place))
        else:
            rows = (row + b"\n" for row in read_session(str(place), written.session))
            found = differences(rows, str(place), subagents=False)
        assert not found


@pytest.mark.parametrize("folder", (*FOLDERS, "features", "new-agents", "otlp"))
def test_every_recording(folder: str) -> None:
    found: dict[str, object] = {}
    read = 0
    for path in recordings(folder):
        try:
            differing = differences(read_pieces(path), str(path))
        except (NotALog, EmptyInput):
            continue
        read += differing is not None
        if differing:
            found[path.name] = differing
    assert read and not found
