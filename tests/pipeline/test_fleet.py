"""Many machines: a bucket that all write into, and results printed through a login."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from agentv_stream.bulk import import_sessions, object_store
from agentv_stream.bulk.parquet import open_dataset
from agentv_stream.bulk.query import run_query
from support.consuming import SESSION, consume, run
from support.made_sessions import make_folder

moto_server: Any = pytest.importorskip("moto.server", reason="moto's server is not installed")
fsspec: Any = pytest.importorskip("fsspec", reason="the cloud extra is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the server and of botocore
BY_MACHINE = "SELECT machine, count(*), sum(tool_calls) FROM sessions GROUP BY machine ORDER BY machine"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "FSSPEC_S3_ENDPOINT_URL": f"http://{host}:{port}",
    }.items():
        monkeypatch.setenv(name, value)
    object_store.file_system.cache_clear()
    fsspec.filesystem("s3", skip_instance_cache=True).clear_instance_cache()
    system = object_store.file_system("s3")
    system.mkdir("team")
    yield system
    object_store.file_system.cache_clear()
    system.clear_instance_cache()
    urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
    server.stop()


def write_of_two(tmp_path: Path, place: str, **options: Any) -> list[int]:
    """Two machines, whose homes hold sessions with the same ids, write into one data set."""
    counts: list[int] = []
    for machine, sessions in (("build-7", 4), ("build-8", 6)):
        home = tmp_path / machine
        if not home.exists():
            make_folder(home, sessions)
        outcome = import_sessions([home], parquet=place, machine=machine, engine="serial", **options)
        counts.append(outcome.done + outcome.skipped)
    return counts


@pytest.mark.parametrize("remote", [False, True])
def test_machines_write_into_one_data_set(tmp_path: Path, remote: bool, request: pytest.FixtureRequest) -> None:
    if remote:
        request.getfixturevalue("bucket")
    place = "s3://team/agents" if remote else str(tmp_path / "agents")
    assert write_of_two(tmp_path, place) == [4, 6]
    first = run_query(BY_MACHINE, place)[1]
    assert [row[:2] for row in first] == [("build-7", 4), ("build-8", 6)]
    assert write_of_two(tmp_path, place, resume=True) == [4, 6]
    assert run_query(BY_MACHINE, place)[1] == first
    part = f"{place}/machine=build-8"
    assert run_query(BY_MACHINE, part)[1] == first[1:]
    if not remote:
        rows = open_dataset(place, "sessions").to_table(columns=["machine", "session_id"]).to_pylist()
        assert sorted(row["machine"] for row in rows) == ["build-7"] * 4 + ["build-8"] * 6


def test_a_data_set_without_machines_has_none(tmp_path: Path) -> None:
    make_folder(tmp_path / "logs", 3)
    import_sessions([tmp_path / "logs"], parquet=tmp_path / "d", engine="serial")
    assert run_query(BY_MACHINE, tmp_path / "d")[1][0][:2] == (None, 3)


def test_results_are_printed_through_a_login(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    for host in ("one", "two"):  # as `ssh HOST agentv-stream import …`
        home = tmp_path / host
        make_folder(home / ".claude" / "projects", 3)
        done = run(home, "import", ".claude/projects", "--jsonl", "-", "-q", "--machine", host, HOME=str(home))
        assert done.code == 0, done.err
        lines += [json.loads(line) for line in done.out.splitlines()]
    assert [line["machine"] for line in lines] == ["one"] * 3 + ["two"] * 3
    assert len({line["session"]["id"] for line in lines}) == 3
    assert not [*tmp_path.rglob("*.state")]


def test_the_machine_is_named_where_it_is_wanted_alone(tmp_path: Path) -> None:
    for options, name in (([], None), (["--machine", "box"], "box")):
        done = consume(tmp_path, SESSION, "--out", tmp_path / "o", "--stats", "-", "-q", *options)
        assert json.loads(done.out).get("machine") == name
    auto = consume(tmp_path, SESSION, "--out", tmp_path / "o", "--stats", "-", "-q", "--machine", "auto")
    assert json.loads(auto.out)["machine"]


def test_a_follower_names_its_machine(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / SESSION.name).write_bytes(SESSION.read_bytes())
    options: list[str | Path] = ["--root", logs, "--out", tmp_path / "o", "--state", tmp_path / "s"]
    assert run(tmp_path, "tail", "--once", *options, "--machine", "box").code == 0
    (result,) = (tmp_path / "o").glob("*.result.json")
    assert json.loads(result.read_bytes())["machine"] == "box"
