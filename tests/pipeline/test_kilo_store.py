"""Kilo's database: found in its own place, its sessions named by what stands in it."""

from pathlib import Path

import pytest

from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.stores.rows import read_session
from support.conformance import detected
from support.opencode_stores import export, make_database


def store(place: Path, version: str) -> Path:
    place.parent.mkdir(parents=True)
    whole = export()
    whole["info"]["version"] = version
    make_database(place, whole).close()
    return place


def test_its_sessions_are_found_where_it_keeps_them(tmp_path: Path) -> None:
    path = store(tmp_path / "kilo" / "kilo.db", "7.7.9")
    environment = {"HOME": "/h", "XDG_DATA_HOME": str(tmp_path)}
    for provider in (None, "kilo", "kilocode"):
        [session] = find_sessions(find_roots((), environment, provider))
        assert (session.header.provider, session.header.dialect) == ("kilo", "kilo-rows")
        assert session.path == f"{path}::ses_1"


@pytest.mark.parametrize(("version", "provider"), [("7.7.9", "kilo"), ("7.0.33", "kilo"), ("1.18.33", "opencode")])
def test_the_content_of_a_store_decides_not_its_place(tmp_path: Path, version: str, provider: str) -> None:
    for name in ("kilo", "opencode"):
        path = store(tmp_path / name / f"{name}.db", version)
        [session] = find_sessions(find_roots([str(path)]))
        assert session.header.provider == provider
        rows = b"".join(row + b"\n" for row in read_session(path, "ses_1"))
        assert detected(rows)[1].name == f"{provider}-rows"


def test_a_store_in_the_settings_is_whose_they_say(tmp_path: Path) -> None:
    path = store(tmp_path / "elsewhere" / "kilo.db", "7.7.9")
    roots = find_roots((), {"HOME": "/h"}, "kilo", [f"kilo={path}"])
    assert [root.path for root in roots] == [str(path.parent)]
