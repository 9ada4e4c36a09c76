"""Metrics and health over HTTP, from a tail that runs."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.logs import Refusals
from support.growing_logs import claude_records

Running = tuple[str, "subprocess.Popen[bytes]", Path]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """A tail with metrics on a free port; gives its address."""
    yield from tail(tmp_path)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a tail for tests that only ask."""
    for address, _, _ in tail(tmp_path_factory.mktemp("asked")):
        yield address


def tail(tmp_path: Path) -> Iterator[Running]:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "aaaa-1.jsonl").write_bytes(b"\n".join(claude_records("aaaa-1", 5)) + b"\nnot json\n")
    command = [
        sys.executable,
        "-m",
        "agentv_stream",
        "tail",
        str(logs),
        "--out",
        str(tmp_path / "out"),
        "--settle",
        "0",
    ]
    command += ["--state", str(tmp_path / "state"), "--metrics", "0", "--log-json"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    address = ""
    for line in process.stderr:
        said = json.loads(line)
        if said["event"] == "metrics are served":
            address = said["address"].removesuffix("/metrics")
            break
    yield address, process, tmp_path
    process.kill()
    process.wait()
    process.stderr.close()


def get(address: str) -> tuple[int, str]:
    with contextlib.closing(urllib.request.build_opener().open(address, timeout=5)) as reply:
        return reply.status, reply.read().decode()


def asked(address: str, host: str, method: str = "GET") -> bytes:
    name, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((name, int(port)), timeout=5) as client:
        client.sendall(f"{method} /metrics HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n".encode())
        return b"".join(iter(lambda: client.recv(65_536), b""))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:9464", "localhost:1", "LOCALHOST.", "[::1]:9464", "::1", ""])
def test_loopback_answers_who_asks_for_it(address: str, host: str) -> None:
    assert asked(address, host).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil", "[x]"]
)
def test_a_page_whose_name_leads_here_gets_nothing(address: str, host: str) -> None:
    assert asked(address, host).startswith(b"HTTP/1.1 403 ")


def test_a_name_behind_what_is_read_of_a_question_is_no_way_in(address: str) -> None:
    name, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((name, int(port)), timeout=5) as client:
        client.sendall(b"GET /metrics?" + b"a" * 8192 + b" HTTP/1.1\r\n")  # Host: evil.example comes after it
        assert client.recv(12) == b"HTTP/1.1 431"


def test_a_host_of_blanks_holds_up_nobody(address: str) -> None:
    assert asked(address, " " * 8000 + "x:x").startswith(b"HTTP/1.1 200 ")


def test_a_question_for_the_head_gets_no_body(address: str) -> None:
    head, _, body = asked(address, "127.0.0.1", "HEAD").partition(b"\r\n\r\n")
    assert (head[:12], body) == (b"HTTP/1.1 200", b"")


def metric(address: str, name: str) -> float:
    _, text = get(f"{address}/metrics")
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(f"agentv_stream_{name}"))


def test_what_was_read_is_counted(address: str) -> None:
    for _ in range(200):
        if metric(address, "sessions ") == 1:
            break
    assert metric(address, "tool_calls_total") == 5
    assert metric(address, "records_total") == 17
    assert metric(address, 'faults_total{reason="not-json"}') == 1
    assert metric(address, "sessions ") == 1
    assert metric(address, "lag_bytes") == 0
    assert metric(address, "resident_memory_bytes") > 1e7
    assert 0 < metric(address, "open_files") < 100


def test_health_reads_and_other_paths_are_refused(address: str) -> None:
    status, text = get(f"{address}/health")
    assert (status, json.loads(text)["status"]) == (200, "ok")
    with pytest.raises(urllib.error.HTTPError, match="404") as refused:
        get(f"{address}/etc/passwd")
    refused.value.close()


def test_sigterm_ends_it_well(running: Running) -> None:
    address, process, folder = running
    for _ in range(200):
        if metric(address, "records_total") == 17:
            break
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    (transcript,) = (folder / "out").glob("*.transcript.jsonl")
    assert len(transcript.read_bytes().splitlines()) == 6


def test_many_that_only_connect_stop_nobody(tmp_path: Path) -> None:
    """Every connection is a descriptor; where none was free the follower ended with a traceback."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for n in range(60):  # more logs than descriptors
        name = f"{n:08}-aaaa-bbbb-cccc-dddddddddddd"
        (logs / f"{name}.jsonl").write_bytes(b"".join(r + b"\n" for r in claude_records(name, 1)))
    command = [sys.executable, "-c", _FEW_DESCRIPTORS, "tail", str(logs), "--out", str(tmp_path / "out")]
    command += ["--state", str(tmp_path / "state"), "--metrics", "0", "--settle", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    address = process.stderr.readline().decode().rpartition("http://")[2].partition("/")[0]
    host, _, port = address.rpartition(":")
    silent: list[socket.socket] = []
    for _ in range(80):
        one = socket.create_connection((host, int(port)), timeout=10)
        silent.append(one)
    for one in silent:
        one.close()
    try:
        for _ in range(1000):
            with contextlib.suppress(OSError):  # while the slots are taken
                if metric(f"http://{address}", "sessions ") == 60:
                    break
        assert metric(f"http://{address}", "blocked_sessions") == 0
    finally:
        process.terminate()
        assert process.wait(30) == 0
        process.stderr.close()
    assert len(list((tmp_path / "out").glob("*.transcript.jsonl"))) == 60


_FEW_DESCRIPTORS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
from agentv_stream.cli import main
main()
"""


def test_a_port_that_is_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "agentv_stream", "tail", str(tmp_path), "--state", str(tmp_path / "state")]
        done = subprocess.run([*command, "--metrics", str(port)], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.decode() == f"agentv-stream: --metrics 127.0.0.1:{port}: Address already in use\n"


def ended_log(process: "subprocess.Popen[bytes]") -> list[dict[str, Any]]:
    """The entries of the log after the tail has ended."""
    process.terminate()
    assert process.stderr is not None
    entries = [json.loads(line) for line in process.stderr.read().splitlines()]
    assert process.wait(30) == 0
    return entries


def test_five_hundred_connections_are_refused_in_one_line(running: Running) -> None:
    address, process, _ = running
    name, _, port = address.removeprefix("http://").partition(":")
    clients = [socket.create_connection((name, int(port)), timeout=30) for _ in range(500)]
    assert {client.recv(1) for client in clients} == {b""}  # at once, or after five seconds
    for client in clients:
        client.close()
    assert metric(address, "blocked_sessions") == 0
    refused = [entry for entry in ended_log(process) if entry["event"] == "requests for metrics were refused"]
    assert sorted(entry["reason"] for entry in refused) == ["16 requests at once", "slower than 5 s"]


def test_a_giant_request_is_one_line(running: Running) -> None:
    address, process, _ = running
    name, _, port = address.removeprefix("http://").partition(":")
    before = metric(address, "resident_memory_bytes")
    for _ in range(20):
        with socket.create_connection((name, int(port)), timeout=30) as client, contextlib.suppress(OSError):
            for _ in range(64):
                client.sendall(b"GET /metrics?" + b"a" * 1_000_000)
    assert metric(address, "resident_memory_bytes") - before < 20e6
    (entry,) = [e for e in ended_log(process) if e["event"] == "requests for metrics were refused"]
    assert entry["reason"] == "longer than 8192 bytes"


def test_a_slow_client_is_let_go_in_one_line(running: Running) -> None:
    address, process, _ = running
    name, _, port = address.removeprefix("http://").partition(":")
    clients = [socket.create_connection((name, int(port)), timeout=60) for _ in range(8)]
    for client in clients:
        client.sendall(b"GET /metrics HTTP/1.1\r\n")  # and no more
    assert [client.recv(1) for client in clients] == [b""] * 8
    for client in clients:
        client.close()
    (entry,) = [e for e in ended_log(process) if e["event"] == "requests for metrics were refused"]
    assert entry["reason"] == "slower than 5 s"


def test_refusals_are_counted_and_reported_once_a_minute() -> None:
    said: list[tuple[str, int]] = []
    now = [0.0]
    refusals = Refusals(lambda reason, requests: said.append((reason, requests)), lambda: now[0])
    for _ in range(3):
        refusals.note("a")
    refusals.note("b")
    now[0] = 60.0
    refusals.note("a")
    assert said == [("a", 1), ("b", 1), ("a", 3)]
