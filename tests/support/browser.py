"""A real Chromium for tests: pages are opened and asked over its pipe (the DevTools protocol); nothing leaves."""

import json
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


def chromium() -> str:
    """The program; the test is skipped where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium is installed")
    return found


class Tab:
    """One page. `ask` runs an expression in it."""

    def __init__(self, write: BinaryIO, read: BinaryIO) -> None:
        self._write, self._read = write, read
        self._number, self._session = 0, ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = str(self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        self._call("Page.enable")

    def _message(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._read.read(1)) != b"\0":
            assert byte, "Chromium has ended"
            data += byte
        message: dict[str, Any] = json.loads(data)
        return message

    def _call(self, method: str, **words: Any) -> Any:
        self._number += 1
        call = {"id": self._number, "method": method, "params": words}
        self._write.write(json.dumps(call | ({"sessionId": self._session} if self._session else {})).encode() + b"\0")
        self._write.flush()
        while (message := self._message()).get("id") != self._number:
            pass
        assert "error" not in message, message
        return message["result"]

    def open(self, page: Path) -> None:
        """Opens a file, and waits until it is loaded."""
        self._call("Page.navigate", url=page.as_uri())
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression: str) -> Any:
        """The value of an expression."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key, as a person presses it."""
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)


@contextmanager
def tab(folder: Path, *options: str) -> Generator[Tab]:
    """A browser with one page, and its profile in `folder`."""
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    shell = f'exec "$@" 3<&{their_read} 4>&{their_write}'
    command = [chromium(), *QUIET, *options, f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe"]
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", *command],
        pass_fds=(their_read, their_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_read)
    os.close(their_write)
    try:
        with os.fdopen(our_write, "wb") as write, os.fdopen(our_read, "rb") as read:
            yield Tab(write, read)
    finally:
        process.terminate()
        process.wait()
