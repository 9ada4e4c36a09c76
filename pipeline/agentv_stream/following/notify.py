"""Tells systemd how a service is: ready, alive, stopping. Does nothing where `NOTIFY_SOCKET` is not set.

The protocol is one datagram of `NAME=value` lines; no library is needed. Source: sd_notify(3).
"""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress


class Notify:
    """Sends states of this process. `environment` as systemd sets it: `NOTIFY_SOCKET`, `WATCHDOG_USEC`,
    `WATCHDOG_PID`."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        own = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        usec = environment.get("WATCHDOG_USEC", "")
        self._every = int(usec) / 2_000_000 if own and usec.isascii() and usec.isdecimal() else None
        self._last = -1.0
        self._ready = False

    def alive(self) -> None:
        """After each round: the first time the service is ready, then the watchdog is fed, twice in its time."""
        if not self._ready:
            self._ready = True
            self._send("READY=1")
        now = time.monotonic()
        if self._every is not None and (self._last < 0 or now - self._last >= self._every):
            self._last = now
            self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, state: str) -> None:
        if self._address[:1] not in ("/", "@"):
            return
        address = f"\0{self._address[1:]}" if self._address[0] == "@" else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.setblocking(False)
            connection.sendto(state.encode(), address)
