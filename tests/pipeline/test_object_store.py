"""A bucket: a real S3 server on loopback. What is read from it and written to it is what a folder has."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from agentv_stream.bulk import import_sessions, object_store, summarize_groups
from agentv_stream.bulk.find import find_units
from agentv_stream.bulk.listing import ListedFolder
from agentv_stream.bulk.query import run_query
from agentv_stream.errors import SinkError, SourceError, UsageError
from support.made_sessions import make_folder, tree

moto_server: Any = pytest.importorskip("moto.server", reason="moto's server is not installed")
fsspec: Any = pytest.importorskip("fsspec", reason="the cloud extra is not installed")
pytest.importorskip("s3fs", reason="the cloud extra is not installed")
pytest.importorskip("pyarrow", reason="the Parquet extra is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the server and of botocore


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
    system.mkdir("logs")
    yield system
    object_store.file_system.cache_clear()
    system.clear_instance_cache()
    urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
    server.stop()


def _upload(system: Any, folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            system.pipe_file(f"logs/in/{path.relative_to(folder)}", path.read_bytes())


def test_a_bucket_in_and_out_is_as_a_folder_in_and_out(tmp_path: Path, bucket: Any) -> None:
    make_folder(tmp_path / "in", 6)
    _upload(bucket, tmp_path / "in")
    there: dict[str, Any] = {
        "transcripts": "s3://logs/out/t",
        "jsonl": "s3://logs/out/s.jsonl",
        "parquet": "s3://logs/out/d",
    }
    outcome = import_sessions(["s3://logs/in"], engine="thread", workers=2, **there)
    assert (outcome.done, outcome.failures) == (6, [])
    out = tmp_path / "out"
    local = import_sessions(
        [tmp_path / "in"], transcripts=out / "t", jsonl=out / "s.jsonl", parquet=out / "d", engine="serial"
    )
    assert local.summary == outcome.summary
    names = [name.removeprefix("logs/out/") for name in bucket.find("logs/out") if "/_state/" not in name]
    assert len(names) == len(tree(out))
    _, rows = run_query("SELECT sum(tool_calls), count(*) FROM sessions", "s3://logs/out/d")
    assert rows == run_query("SELECT sum(tool_calls), count(*) FROM sessions", out / "d")[1]
    again = import_sessions(["s3://logs/in"], engine="serial", resume=True, **there)
    assert (again.done, again.skipped) == (0, 6)


def test_objects_are_found_by_folder_by_glob_and_by_name(tmp_path: Path, bucket: Any) -> None:
    make_folder(tmp_path / "in", 6)
    _upload(bucket, tmp_path / "in")
    assert len(find_units(["s3://logs/in"])) == 6
    assert len(find_units(["s3://logs/in/*p1/*.jsonl"])) == 2
    one = find_units(["s3://logs/in"])[0]
    assert [unit.source for unit in find_units([one.source])] == [one.source]
    with pytest.raises(SourceError):
        find_units(["s3://logs/nothing"])


def test_our_own_folder_in_a_bucket_is_read_if_it_is_named(tmp_path: Path, bucket: Any) -> None:
    path = make_folder(tmp_path, 1)[0]
    for name in ("logs/in/one.jsonl", "logs/in/.agentv/logs/one.jsonl"):
        bucket.pipe_file(name, path.read_bytes())
    assert [unit.source for unit in find_units(["s3://logs/in"])] == ["s3://logs/in/one.jsonl"]
    for named in ("s3://logs/in/.agentv/logs", "s3://logs/in/.agentv/logs/*.jsonl"):
        assert [unit.source for unit in find_units([named])] == ["s3://logs/in/.agentv/logs/one.jsonl"]


def test_compressed_objects_are_unpacked(tmp_path: Path, bucket: Any) -> None:
    path = make_folder(tmp_path, 1)[0]
    bucket.pipe_file("logs/one.jsonl.gz", gzip.compress(path.read_bytes()))
    assert b"".join(object_store.pieces("s3://logs/one.jsonl.gz")) == path.read_bytes()


def test_sub_agents_files_are_found_in_a_bucket(tmp_path: Path, bucket: Any) -> None:
    path = make_folder(tmp_path, 1)[0]
    _upload(bucket, tmp_path)
    session = f"s3://logs/in/-work-p0/{path.stem}"
    folder, agent = ListedFolder(), f"{session}/subagents/agent-abc123.jsonl"
    for pattern in ("subagents/**/agent-*.jsonl", "subagents/agent-*.jsonl"):
        assert folder.glob(f"{session}/{pattern}") == [agent]
    assert folder.read(agent, 20) == bucket.cat_file(agent)[:20]
    assert folder.read(f"{session}/subagents", 20) == b""


def test_an_unknown_scheme_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        find_units(["quantum://bucket/key"])


def test_a_store_that_gives_nothing_is_one_line(monkeypatch: pytest.MonkeyPatch, bucket: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    object_store.file_system.cache_clear()
    bucket.clear_instance_cache()
    with pytest.raises(SourceError, match="credentials"):
        summarize_groups(["s3://logs/in"], engine="serial")
    with pytest.raises(SourceError, match="credentials"):
        object_store.names_below("s3://logs/in")
    with pytest.raises(SinkError, match="credentials"):
        object_store.put("s3://logs/out", b"x")


def test_a_query_of_a_bucket_reads_the_bucket_alone(tmp_path: Path, bucket: Any) -> None:
    pytest.importorskip("duckdb", reason="the query extra is not installed")
    make_folder(tmp_path / "in", 3)
    import_sessions([tmp_path / "in"], parquet="s3://logs/d", engine="serial")
    assert run_query("SELECT count(*) FROM sessions", "s3://logs/d")[1] == [(3,)]
    other = f"s3://{next(name for name in bucket.find('logs/d') if name.endswith('.parquet'))}"
    bucket.copy(other, "s3://logs/other/x.parquet")
    for sql in (
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO 's3://logs/d/_dataset.json'",
        "SELECT * FROM read_parquet('s3://logs/other/x.parquet')",
        "SELECT * FROM glob('s3://logs/other/*')",
    ):
        with pytest.raises(UsageError):
            run_query(sql, "s3://logs/d")
