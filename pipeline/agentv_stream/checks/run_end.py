"""How an attempt of `run` ended. In: the path of a stream or transcript that it left. Out: the facts about the process
in the result beside it. No log contains its agent's exit code, or that we ended the agent."""

from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, field

from agentv_stages.figures.result import Evidence, Outputs
from agentv_stages.model.event import Status
from agentv_stream.outputs.forms import stem_in, stems_of_run
from agentv_stream.outputs.naming import TRANSCRIPT
from agentv_stream.sources.files import is_file


class _Ran(Struct):
    stopped: str | None = None
    stream: str | None = None


class _Verdict(Struct):
    case: str = ""


class RunEnd(Struct):
    """The members of a result of `run` that are used here."""

    schema_version: str
    status: Status
    run: _Ran
    outputs: Outputs = field(default_factory=Outputs)
    evidence: Evidence = field(default_factory=Evidence)
    test_id: str | None = None
    verdicts: list[_Verdict] = []

    @property
    def by_fail_fast(self) -> bool:
        """Whether it was ended because a verdict was a final failure: that counts, not how the agent reacted to it."""
        return self.run.stopped == "fail-fast"


class _Row(Struct):
    test_id: str | None = None


MOST_ROW = 1 << 24
_decode_row = msgspec.json.Decoder(_Row).decode
_decode = msgspec.json.Decoder(RunEnd).decode


def run_end(path: Path) -> RunEnd | None:
    """The result that `run` stored for the attempt of this stream, transcript or trace file; None if there is none."""
    stem = stem_in(path.name)
    for name in stems_of_run(path.name):
        end = _read(path.with_name(f"{name}.json"))
        if end is not None and stem in (name, stem_in(Path(end.outputs.transcript or "").name)):
            return end
    return None


def told_case(path: Path) -> str | None:
    """The case that a transcript of ours names in its rows; None if this is none, or is packed."""
    if path.name.endswith(TRANSCRIPT) and is_file(path):
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError), path.open("rb") as file:
            return _decode_row(file.readline(MOST_ROW)).test_id
    return None


def silent_end(path: Path) -> RunEnd | None:
    """The result at this path, if `run` stored nothing else of the attempt that can be read; else None."""
    end = _read(path)
    return end if end is not None and end.run.stream is None and end.outputs.transcript is None else None


def _read(path: Path) -> RunEnd | None:
    if is_file(path):
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            end = _decode(path.read_bytes())
            return end if end.schema_version.startswith("agentv_stream.") else None
    return None
