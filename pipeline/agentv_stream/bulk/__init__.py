"""Many finished sessions: on all cores or a cluster, to transcripts, summaries and a Parquet data set.

import_sessions(["logs/"], parquet="dataset/")          # everything, resumable
for result in summarize_many(paths): ...                # results in order, nothing written
summarize_groups(["logs/"], by="day").summary           # merged figures

Names are imported on first use: `summarize_groups` mostly needs no module that reads logs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentv_stream.bulk.outcome import Failure, Outcome
    from agentv_stream.bulk.run import import_sessions, summarize_many
    from agentv_stream.bulk.summarizing import summarize_groups

__all__ = ["Failure", "Outcome", "import_sessions", "summarize_groups", "summarize_many"]

_PLACES = {
    "Failure": "outcome",
    "Outcome": "outcome",
    "import_sessions": "run",
    "summarize_groups": "summarizing",
    "summarize_many": "run",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
