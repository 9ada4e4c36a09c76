"""Which of our outputs in a folder describe the same session as another one. In: file names. Out: those to leave out.

`consume --transcript-shape case` leaves two files per session; `run` its raw stream, the transcript, and trace events.
A reader of the folder must count the session once.
"""

import re
from collections.abc import Iterable, Iterator

from agentv_stream.outputs.naming import CASE, RAW_LOG, TRACE, TRAJECTORY, TRANSCRIPT
from agentv_stream.sources.packed_folder import PACKED, unpacked_name

_ENDS = (TRANSCRIPT, TRAJECTORY, CASE, RAW_LOG, TRACE)
_ANY = tuple(end + packed for end in _ENDS for packed in ("", *PACKED))
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_")
_ATTEMPT = re.compile(r"(.+)_(\d+)(?:-\d+)?")


def told_twice(names: Iterable[str]) -> dict[str, str]:
    """The names to leave out, each mapped to the name that is read instead. All names are from one folder.

    For a run the agent's own stream is read, or the transcript if there is none; for a session that was read, the
    transcript, or the trajectory if there is none.
    """
    files: dict[str, dict[str, str]] = {}
    for name in names:
        if name.endswith(_ANY):  # skips agents' own logs, of which there may be ten thousand
            plain = unpacked_name(name)
            end = next(suffix for suffix in _ENDS if plain.endswith(suffix))
            files.setdefault(plain.removesuffix(end), {})[end] = name
    left_out: dict[str, str] = {}
    for stem, forms in files.items():
        if _TIME.match(stem) is None:
            if RAW_LOG in forms and TRACE in forms:
                left_out[forms[TRACE]] = forms[RAW_LOG]
            continue
        best = next((forms[end] for end in _ENDS[:3] if end in forms), None)
        if best is None:
            continue
        run = next((files[suffix] for suffix in _runs_of(stem) if suffix in files), dict[str, str]())
        if RAW_LOG in run:
            left_out[best] = best = run[RAW_LOG]
        elif TRACE in run:
            left_out[run[TRACE]] = best
        left_out.update({name: best for name in forms.values() if name != best})
    return left_out


def stem_in(name: str) -> str:
    """The common beginning of the names of all outputs of a run, taken from any of them; empty for any other name."""
    plain = unpacked_name(name)
    return next((plain.removesuffix(end) for end in _ENDS if plain.endswith(end)), "")


def stems_of_run(name: str) -> Iterator[str]:
    """The names under which `run` may have stored the result of the attempt that this output belongs to."""
    stem = stem_in(name)
    if stem and _TIME.match(stem) is None:
        yield stem
    elif stem:
        yield from _runs_of(stem)


def _runs_of(stem: str) -> Iterator[str]:
    """Possible stems of a run's other files, if its transcript is named `<time>_<approach>_<task>_<attempt>`."""
    match = _ATTEMPT.fullmatch(stem.partition("_")[2])
    if match is None:
        return
    words = match[1].split("_")
    for n in range(1, len(words)):
        yield f"{'_'.join(words[n:])}_{'_'.join(words[:n])}_{match[2]}"
