"""Outputs go where `consume` puts them: not into another session's file, not into one that somebody else made."""

from pathlib import Path

from agentv_stream.following.followed import Followed
from support.growing_logs import claude_records
from support.registers import Registered

SESSION = "11111111-2222-3333-4444-555555555555"


def begun(place: Registered, name: str = "a.jsonl", session: str = SESSION) -> Followed:
    made = place.register.open(str(place.write(name, claude_records(session, 3))))
    place.read(made)
    return made


def name_of(session: Followed) -> str:
    assert session.outputs is not None
    assert session.outputs.state is not None
    return session.outputs.state.stem.partition("_claude_")[2]


def test_two_sessions_of_one_id_have_two_transcripts(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    assert name_of(begun(place)) == SESSION
    assert name_of(begun(place, "other/a.jsonl")) == f"{SESSION}-2"
    place.close()


def test_what_a_cursor_says_is_taken_stays_so(tmp_path: Path) -> None:
    """The other session is not in memory."""
    place = Registered(tmp_path)
    first = begun(place)
    assert first.outputs is not None
    assert first.outputs.state is not None
    place.put(first)
    place.register.places.taken[str(first.outputs.state.path(".transcript.jsonl"))] = first.number
    place.register.drop(first)
    assert name_of(begun(place, "other/a.jsonl")) == f"{SESSION}-2"
    place.close()


def test_a_file_that_somebody_else_made_is_not_written_over(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    probe = begun(place)
    assert probe.outputs is not None
    assert probe.outputs.state is not None
    theirs = probe.outputs.state.path(".transcript.jsonl")
    other = Registered(tmp_path / "other")
    other.out.mkdir(parents=True)
    names = [theirs.name.replace(".transcript", f"{n}.transcript") for n in ("", "-2", "-3")]
    for name in names:
        (other.out / name).write_text("my notes\n")
    session = other.register.open(str(other.write("a.jsonl", claude_records(SESSION, 3))))
    other.read(session)
    assert name_of(session) == f"{SESSION}-4"
    assert [(other.out / name).read_text() for name in names] == ["my notes\n"] * 3
    place.close()
    other.close()


def test_a_follower_of_events_alone_writes_no_files(tmp_path: Path) -> None:
    place = Registered(tmp_path, files=False)
    assert begun(place).outputs is None
    assert not place.out.exists()
    place.close()


def test_what_was_written_is_known_as_ours(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    session = begun(place)
    assert session.outputs is not None
    assert session.outputs.state is not None
    assert place.store is not None
    path = session.outputs.state.path(".transcript.jsonl")
    assert place.store.claims.claim(str(path), False)
    assert place.store.claims.is_made(path)
    place.close()
