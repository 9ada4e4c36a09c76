"""Logs that are there twice, or packed: whoever reads a folder counts what they hold once, and every session once."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import zstandard

from agentv_stream import import_sessions, summarize_groups
from agentv_stream.bulk import copies
from agentv_stream.bulk.find import find_units
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.stores.changes import revisions
from agentv_stream.stores.source import StoreSource
from support import grok_sessions, kimi_forks, rewound_threads
from support.consuming import SESSION
from support.following import Desk
from support.made_sessions import make_folder
from support.opencode_stores import child, export, make_database
from support.opencode_stores import make_folder as make_store

Figures = tuple[int, int, int, int]
Change = Callable[[Path], None]


def _claude(root: Path) -> None:
    project = root / "-home-ada-slug"
    project.mkdir(parents=True)
    shutil.copyfile(SESSION, project / SESSION.name)
    agents = SESSION.parent / SESSION.stem
    if agents.is_dir():
        shutil.copytree(agents, project / SESSION.stem)


def _codex(root: Path) -> None:
    rewound_threads.put_all(root)


def _kimi(root: Path) -> None:
    """A session with a sub-agent, and a fork of it."""
    kimi_forks.begin(root)
    child = kimi_forks.fork(root, "session_p", "session_f", kimi_forks.BEGUN + 3 * kimi_forks.MINUTE)
    kimi_forks.append(child, kimi_forks.turn("Four", kimi_forks.BEGUN + 4 * kimi_forks.MINUTE))


def _grok(root: Path) -> None:
    """A session with a sub-agent, and a fork of it."""
    grok_sessions.lay_out(root)
    for other in (*root.rglob("chat_history.jsonl"), *root.rglob("events.jsonl")):
        other.unlink()  # what is no log is told as that


def _logs(root: Path) -> list[Path]:
    return sorted(root.rglob("*.jsonl"))


def _gz_beside(root: Path) -> None:
    for log in _logs(root):
        log.with_name(f"{log.name}.gz").write_bytes(gzip.compress(log.read_bytes()))


def _renamed_beside(root: Path) -> None:
    for log in _logs(root):
        shutil.copyfile(log, log.with_name(f"{log.stem}-backup.jsonl"))


def _packed_under_another_name(root: Path) -> None:
    for n, log in enumerate(_logs(root)):
        packed = gzip.compress(log.read_bytes()) if n % 2 else zstandard.compress(log.read_bytes())
        log.with_name(f"{log.stem}-backup.jsonl{'.gz' if n % 2 else '.zst'}").write_bytes(packed)


def _elsewhere(root: Path) -> None:
    shutil.copytree(root, root.parent / "copied")
    shutil.move(root.parent / "copied", root / "archive")


def _an_older_state_elsewhere(root: Path) -> None:
    """As of a backup that was made before the last lines."""
    _elsewhere(root)
    for log in _logs(root / "archive"):
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(b"".join(lines[: max(2, len(lines) - 3)]))


def _gz_only(root: Path) -> None:
    _gz_beside(root)
    for log in _logs(root):
        log.unlink()


def _zst_only(root: Path) -> None:
    for log in _logs(root):
        log.with_name(f"{log.name}.zst").write_bytes(zstandard.compress(log.read_bytes()))
        log.unlink()


CHANGES = [_gz_beside, _renamed_beside, _packed_under_another_name, _elsewhere, _gz_only, _zst_only]


def _sum(results: list[bytes]) -> Figures:
    sums = [0, 0, 0, 0]
    for data in results:
        result = msgspec.json.decode(data)
        use = result["tool_use_summary"]
        mine = (1, use["turns"], use["total_tool_calls"], result["tokens"]["input"] or 0)
        sums = [one + other for one, other in zip(sums, mine, strict=True)]
    return sums[0], sums[1], sums[2], sums[3]


def _all_ways(root: Path, folder: Path) -> dict[str, Figures | int]:
    group = summarize_groups([root], engine="serial").summary.groups["all"]
    import_sessions([root], jsonl=folder / "all.jsonl", engine="serial")
    desk = Desk(folder)
    shutil.copytree(root, desk.logs, dirs_exist_ok=True)
    desk.catch_up()
    return {
        "stats": (group.sessions, group.turns, group.tool_calls, group.tokens.sums["input"]),
        "import": _sum((folder / "all.jsonl").read_bytes().splitlines()),
        "tail": _sum([path.read_bytes() for path in desk.out.rglob("*.result.json")]),
        "sessions": len(find_sessions(find_roots([str(root)]))),
    }


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", [_claude, _codex, _kimi, _grok])
def test_what_is_there_twice_or_packed_counts_once(make: Change, change: Change, tmp_path: Path) -> None:
    root = tmp_path / "root"
    make(root)
    once = _all_ways(root, tmp_path / "once")
    assert len({figures for figures in once.values() if isinstance(figures, tuple)}) == 1
    assert once["sessions"] == once["stats"][0]  # type: ignore[index]  # these are figures
    change(root)
    if make in (_kimi, _grok) and change in (_renamed_beside, _packed_under_another_name):
        return  # no log of Kimi's or Grok's is named otherwise
    assert _all_ways(root, tmp_path / "changed") == once


@pytest.mark.parametrize("make", [_claude, _kimi, _grok])
def test_a_backup_of_an_earlier_state_holds_nothing_more(make: Change, tmp_path: Path) -> None:
    root = tmp_path / "root"
    make(root)
    once = summarize_groups([root], engine="serial").summary.groups["all"]
    _an_older_state_elsewhere(root)
    outcome = summarize_groups([root], engine="serial")
    again = outcome.summary.groups["all"]
    assert (again.sessions, again.turns, again.tool_calls) == (once.sessions, once.turns, once.tool_calls)
    assert [note for note in outcome.notes if "copies" in note or "copy" in note]


def test_what_only_begins_as_another_log_is_its_own(tmp_path: Path) -> None:
    """Two runs of one script, whose logs are alike but for a part."""
    data = SESSION.read_bytes()
    (tmp_path / "a.jsonl").write_bytes(data)
    lines = data.splitlines(keepends=True)
    changed = lines[-1][:-3] + bytes((lines[-1][-3] ^ 1,)) + lines[-1][-2:]
    (tmp_path / "b.jsonl").write_bytes(b"".join((*lines[:-1], changed)))
    assert summarize_groups([tmp_path], engine="serial").summary.groups["all"].sessions == 2


def test_a_store_in_a_folder_counts_and_what_its_database_took_over_counts_once(tmp_path: Path) -> None:
    """OpenCode took the sessions of its older folders over into a database, and left the folders where they were."""
    root = tmp_path / "opencode"
    root.mkdir()
    stores = [f"opencode={root}"]

    def told() -> tuple[int, int, list[str]]:
        group = summarize_groups([tmp_path], engine="serial").summary.groups["all"]
        return group.sessions, group.tool_calls, sorted(one.id for one in find_sessions(find_roots(stores)))

    make_store(root, export(), child())
    once = told()
    assert once == (1, 3, ["ses_1", "ses_2"])
    newer = child()
    newer["info"]["id"] = "ses_3"
    del newer["info"]["parentID"]
    newer["messages"][0]["info"]["id"] = "msg_10"
    make_database(root / "opencode.db", export(), child(), newer).close()
    (root / "other.db").write_bytes(b"no database")
    assert told() == (2, 3, ["ses_1", "ses_2", "ses_3"])
    assert summarize_groups([root], engine="serial").summary.groups["all"].sessions == 2
    shutil.rmtree(root / "storage")
    assert told() == (2, 3, ["ses_1", "ses_2", "ses_3"])


def test_a_child_session_whose_parent_was_deleted_counts(tmp_path: Path) -> None:
    """As `sessions` and `tail` say: else its tokens were in no figure."""
    place = tmp_path / "opencode.db"
    make_database(place, child()).close()
    assert [one.id for one in find_sessions(find_roots([f"opencode={tmp_path}"]))] == ["ses_2"]
    assert [one.session.id for one in revisions(place)] == ["ses_2"]
    assert StoreSource(place).session_id == "ses_2"
    for source in (place, tmp_path):
        assert summarize_groups([source], engine="serial").summary.groups["all"].turns == 1


def test_a_child_session_can_be_named(tmp_path: Path) -> None:
    named = child()
    named["info"]["id"] = "ses_22"
    make_database(tmp_path / "opencode.db", export(), named).close()
    (unit,) = find_units(["ses_22"], roots=[f"opencode={tmp_path}"])
    assert unit.session == "ses_22"
    outcome = summarize_groups("ses_22", roots=[f"opencode={tmp_path}"], engine="serial")
    assert outcome.summary.groups["all"].turns == 1


def test_a_log_that_was_moved_between_two_imports_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "in" / "live").mkdir(parents=True)
    (tmp_path / "in" / "archived").mkdir()
    log = tmp_path / "in" / "live" / SESSION.name
    shutil.copyfile(SESSION, log)

    results, transcripts = tmp_path / "all.jsonl", tmp_path / "out"

    def rows() -> tuple[int, int]:
        import_sessions([tmp_path / "in"], jsonl=results, transcripts=transcripts, resume=True, engine="serial")
        return len(results.read_bytes().splitlines()), len(list(transcripts.glob("*.transcript.jsonl")))

    assert rows() == (1, 1)
    copied = shutil.copyfile(log, tmp_path / "in" / "archived" / log.name)
    assert rows() == (1, 1)
    log.unlink()
    assert rows() == (1, 1)
    copied.unlink()
    (tmp_path / "in" / "other.jsonl").write_bytes(SESSION.read_bytes()[:-1] + b" \n")
    assert rows() == (2, 2)  # what is gone for good stays in the outputs


def test_a_backup_that_is_removed_again_is_told_once(tmp_path: Path) -> None:
    """First there was the backup alone: it counted again once it was gone, beside the log that holds more."""
    (tmp_path / "in").mkdir()
    backup, results = tmp_path / "in" / "backup.jsonl", tmp_path / "all.jsonl"
    backup.write_bytes(b"".join(SESSION.read_bytes().splitlines(keepends=True)[:-1]))

    def rows() -> int:
        import_sessions([tmp_path / "in"], jsonl=results, parquet=tmp_path / "d", resume=True, engine="serial")
        return len(results.read_bytes().splitlines())

    assert rows() == 1
    (tmp_path / "in" / "later").mkdir()
    shutil.copyfile(SESSION, tmp_path / "in" / "later" / backup.name)
    assert rows() == 1
    backup.unlink()
    assert rows() == 1


def test_a_log_that_is_found_by_another_name_than_before_is_told_once(tmp_path: Path) -> None:
    """Of the hard links of a log the first by name is read, and a link to it is no file of its own."""
    (tmp_path / "in").mkdir()
    log = Path(shutil.copyfile(SESSION, tmp_path / "in" / "m.jsonl"))
    latest = tmp_path / "latest.jsonl"
    latest.symlink_to(log)
    results = tmp_path / "all.jsonl"

    def rows(source: Path) -> int:
        import_sessions([source], jsonl=results, parquet=tmp_path / "d", resume=True, engine="serial")
        return len(results.read_bytes().splitlines())

    assert rows(latest) == 1
    assert rows(log.parent) == 1
    (log.parent / "a.jsonl").hardlink_to(log)
    with log.open("ab") as file:
        file.write(SESSION.read_bytes().splitlines(keepends=True)[-1])
    assert rows(log.parent) == 1
    assert b"a.jsonl" in results.read_bytes()


def test_of_two_copies_the_one_beside_its_sub_agents_is_read(tmp_path: Path) -> None:
    """The copy came first by its name: the sub-agents counted as sessions, and were missing in their own."""
    (log, *_) = make_folder(tmp_path / "in", 3)
    before = summarize_groups(tmp_path / "in", engine="serial").summary
    for folder in ("-a", "z"):
        (tmp_path / "in" / folder).mkdir()
        shutil.copyfile(log, tmp_path / "in" / folder / log.name)
        assert summarize_groups(tmp_path / "in", engine="serial").summary == before


def test_thousands_of_runs_that_begin_alike_are_not_compared_each_with_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of one prompt, all logs of one name: ten thousand of them would have been compared fifty million times."""
    head, *rest = SESSION.read_bytes().splitlines(keepends=True)
    for n in range(40):
        (tmp_path / f"run-{n}").mkdir()
        prompt = head.replace(b'"content":"', b'"content":"' + b"x" * 2000)
        assert len(prompt) > len(head)
        (tmp_path / f"run-{n}" / "log.jsonl").write_bytes(prompt + b"".join(rest) + b'{"type":"summary","n":%d}\n' % n)
    shutil.copytree(tmp_path / "run-7", tmp_path / "run-7-copy")
    compared: list[str] = []

    def counting(whole: str, place: str) -> bool:
        compared.append(place)
        return begins_with(whole, place)

    begins_with = copies._begins_with  # pyright: ignore[reportPrivateUsage] - what is counted
    monkeypatch.setattr(copies, "_begins_with", counting)
    outcome = summarize_groups(tmp_path, engine="serial")
    assert outcome.found == 40
    assert len(compared) < 40
