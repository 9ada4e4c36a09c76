"""Sessions of every dialect that grow while a follower rests, stops and crashes: in the end as `consume` reads them.

With AGENTV_STREAM_SOAK all recordings of AGENTV_STREAM_CORPUS, not a sample; with AGENTV_STREAM_SEED other growth.
"""

import os
from pathlib import Path

from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from support.decoding import FIXTURES, corpus
from support.grown import Grown

SEED = int(os.environ.get("AGENTV_STREAM_SEED", "1"))
ALL = os.environ.get("AGENTV_STREAM_SOAK") == "1"
MOST_BYTES = 1_500_000
AMBIGUOUS = "vibe"  # the folder has logs of several sessions beside one `meta.json`


def wrong_of(folder: Path, tmp_path: Path, every: int = 1) -> list[str]:
    """What is wrong with the transcripts of the sessions in a folder, each grown alone."""
    wrong: list[str] = []
    sessions = sorted(find_sessions(find_roots([str(folder)])), key=lambda session: session.path)
    tried = [s for s in sessions if s.size < MOST_BYTES and "::" not in s.path and s.header.provider != AMBIGUOUS]
    for number, session in enumerate(tried[::every]):
        grown = Grown(session, tmp_path / str(number) / "grown", SEED)
        grown.grow()
        told = grown.wrong(tmp_path / str(number) / "consumed")
        if told:
            wrong.append(f"{session.path}: {told}")
    assert tried
    return wrong


def test_made_up_sessions(tmp_path: Path) -> None:
    assert wrong_of(FIXTURES, tmp_path) == []


def test_recorded_sessions(tmp_path: Path) -> None:
    wrong: list[str] = []
    for name, every in (("clients", 5), ("samples", 8), ("wild", 8)):
        wrong += wrong_of(corpus(name), tmp_path / name, 1 if ALL else every)
    assert wrong == []
