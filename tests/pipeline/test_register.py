"""Sessions are begun, brought back from their cursors, and go back to their last commit when they are blocked."""

from pathlib import Path

from agentv_stream.following.register import Trouble
from support.growing_logs import claude_records
from support.registers import Registered

SESSION = "11111111-2222-3333-4444-555555555555"
RECORDS = claude_records(SESSION, 4)


def test_a_session_is_the_same_one_from_memory_and_from_its_cursor(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    log = place.write("a.jsonl", RECORDS[:7])
    session = place.register.open(str(log))
    place.read(session)
    assert place.register.wake(session.number) is session
    place.put(session)
    place.register.drop(session)
    back = place.register.wake(session.number)
    assert back is not None
    assert back is not session
    assert (back.native_id, back.main) == (SESSION, str(log))
    assert back.inputs[0].file.position == log.stat().st_size
    assert place.register.wake(99) is None
    place.close()


def test_without_cursors_what_is_not_in_memory_is_not_known(tmp_path: Path) -> None:
    place = Registered(tmp_path, cursors=False)
    first = place.register.open(str(place.write("a.jsonl", RECORDS)))
    second = place.register.open(str(place.write("b.jsonl", RECORDS)))
    assert first.number != second.number
    place.register.drop(first)
    assert place.register.wake(first.number) is None
    place.close()


def test_a_blocked_session_goes_back_to_its_last_commit_with_its_files(tmp_path: Path) -> None:
    """What was joined since then is nobody's: it is found anew."""
    place = Registered(tmp_path)
    register = place.register
    session = register.open(str(place.write("a.jsonl", RECORDS[:7])))
    place.read(session)
    place.put(session)
    part = place.write("b.jsonl", RECORDS[7:])
    session.join(str(part))
    register.known.entries[str(part)] = register.known.entries[session.main]
    register.trouble(session.number, OSError("no room"))
    assert set(register.known.entries) == {session.main}
    assert register.known.entries[session.main].signature is None
    assert session.number not in register.hot
    read = {session.main: Path(session.main).stat().st_size, str(part): 0}
    assert register.troubles[session.number] == Trouble("no room", 1000.5, 0.5, read=read)
    register.trouble(session.number, OSError("no room"))
    assert register.troubles[session.number] == Trouble("no room", 1001.0, 1.0, read=read)
    assert place.said == ["blocked, nothing is committed"]
    place.close()


def test_what_blocks_a_session_is_told_as_a_sentence(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    texts: list[str] = []
    for number, error in enumerate((
        PermissionError(13, "Permission denied", "/logs/a.jsonl"), OSError(5, "Input/output error"), OSError("damaged"),
    )):  # fmt: skip
        place.register.trouble(number, error)
        texts.append(place.register.troubles[number].text)
    assert texts == ["cannot read /logs/a.jsonl: Permission denied", "Input/output error", "damaged"]
    place.close()


def test_a_blocked_session_that_was_never_committed_is_begun_anew_and_keeps_its_name(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    register = place.register
    session = register.open(str(place.write("a.jsonl", RECORDS[:7])))
    place.read(session)
    register.trouble(session.number, OSError("no room"))
    (again,) = register.hot.values()
    assert again.number != session.number
    assert again.inputs[0].file.position == 0
    assert list(register.troubles) == [again.number]
    assert register.ids.in_folder(str(place.logs), "claude-session", SESSION) == again.number
    assert again.inputs[0].file.same_file() == session.inputs[0].file.same_file()
    place.close()


def test_a_cursor_of_another_form_has_the_session_read_again(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    session = place.register.open(str(place.write("a.jsonl", RECORDS)))
    place.read(session)
    place.put(session)
    place.register.drop(session)
    row = place.store.load(session.number) if place.store is not None else None
    assert row is not None
    assert place.store is not None
    row.state = b'{"pair": 7}'
    with place.store.database.transaction():
        place.store.put(row)
    assert place.register.wake(session.number) is None
    assert place.said == ["the cursor does not fit; the session is read again"]
    (again,) = place.register.hot.values()
    assert (again.main, place.register.due) == (session.main, {session.number, again.number})
    place.close()
