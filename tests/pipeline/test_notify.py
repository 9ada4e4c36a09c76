"""What systemd hears of `tail`, on a real socket."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agentv_stream.following.notify import Notify
from support.growing_logs import claude_records

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets")


@pytest.fixture
def manager(tmp_path_factory: pytest.TempPathFactory) -> socket.socket:
    place = tmp_path_factory.mktemp("n") / "s"  # a short path: addresses have at most 108 bytes
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(place))
    listening.settimeout(60)
    return listening


def test_tail_is_ready_feeds_the_watchdog_and_says_that_it_stops(manager: socket.socket, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_bytes(b"\n".join(claude_records("aaaa", 2)) + b"\n")
    command = [sys.executable, "-m", "agentv_stream", "tail", str(logs), "--out", str(tmp_path / "out"), "--no-cursors"]
    told = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "200000"}
    with manager, subprocess.Popen(command, env=os.environ | told, stderr=subprocess.DEVNULL) as process:
        heard = [manager.recv(100) for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        while (last := manager.recv(100)) == b"WATCHDOG=1":
            pass
    assert heard == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    assert last == b"STOPPING=1"
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, [b"READY=1"]),
        ({"WATCHDOG_USEC": "60000000"}, [b"READY=1", b"WATCHDOG=1"]),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, [b"READY=1"]),
        ({"WATCHDOG_USEC": "soon"}, [b"READY=1"]),
    ],
)
def test_the_watchdog_is_fed_only_if_it_waits_for_this_process(
    environment: dict[str, str], expected: list[bytes], manager: socket.socket
) -> None:
    with manager:
        notify = Notify({"NOTIFY_SOCKET": manager.getsockname(), **environment})
        notify.alive()
        notify.alive()
        notify.stopping()
        assert [manager.recv(100) for _ in expected] == expected
        assert manager.recv(100) == b"STOPPING=1"


@pytest.mark.parametrize("address", ["", "relative", "/nowhere/at/all", "@"])
def test_a_socket_that_is_not_there_changes_nothing(address: str) -> None:
    notify = Notify({"NOTIFY_SOCKET": address})
    notify.alive()
    notify.stopping()
