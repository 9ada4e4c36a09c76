"""A log can claim any number: times, durations, tokens, costs that cannot be end nothing, whatever is made of them."""

import re
from pathlib import Path

import pytest

from agentv_stages.model.times import iso
from agentv_stages.sinks.event_lines import EventLines
from agentv_stages.sinks.summary_log import SummaryLog
from agentv_stream import import_sessions
from agentv_stream.colour import Palette
from agentv_stream.costs.prices import estimate_cost
from agentv_stream.discovery.period import named_zone
from agentv_stream.discovery.show import show_session
from agentv_stream.discovery.show_lines import Look
from agentv_stream.sources.files import read_pieces
from agentv_stream.summary import SessionReader
from agentv_stream.units import count_text
from support.decoding import FIXTURES

EXAMPLES = Path(__file__).parents[2] / "examples"
LOGS = sorted([*EXAMPLES.glob("*.json*"), *FIXTURES.glob("*/*.json*")])
NUMBERS = (
    *("-7", "999999999999999", "18446744073709551616", "1e300", "-1e308"),
    *("1" + "0" * 30, "1" + "0" * 400, "7" * 5_000),
)


def bent(path: Path, number: str, into: Path) -> Path:
    """The log with this number in the place of all others but small ones, which may be a kind or a version."""
    data = re.sub(rb'(?<=":)(\s*)\d{2,}(?:\.\d+)?(?=\s*[,}])', rb"\g<1>" + number.encode(), path.read_bytes())
    place = into / f"{path.parent.name}-{path.name}"
    place.write_bytes(data)
    return place


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:12])
@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_session_is_read_and_shown(path: Path, number: str, tmp_path: Path) -> None:
    place = bent(path, number, tmp_path)
    list(show_session(str(place), None, (), Look(100, True, named_zone("UTC"), Palette())))
    reader = SessionReader(read_pieces(place), str(place))
    events, log = EventLines("s"), SummaryLog()
    for batch in reader.batches():
        log.render(batch)
        for event in batch.events:
            events.line(event)
            time_ms = event.source.time_ms
            assert time_ms is None or iso(time_ms)
    result = reader.result()
    estimate_cost(result)
    result.to_json()
    for name in ("input", "output"):
        count_text(result.tokens[name] or 0)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:12])
def test_a_folder_becomes_a_data_set(number: str, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for path in LOGS:
        bent(path, number, folder)
    outcome = import_sessions([str(folder)], parquet=str(tmp_path / "set"), engine="serial")
    assert [f for f in outcome.failures if f.kind == "Bug"] == []
