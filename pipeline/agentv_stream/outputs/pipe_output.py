"""Standard output and named pipes: outputs that cannot seek, and whose reader may be slow, or leave."""

import errno
import math
import os
import select
import stat
import sys
from pathlib import Path

import anyio

from agentv_stages.visible import escaped
from agentv_stream.errors import SinkError
from agentv_stream.outputs.publish import own_descriptor

OPEN_SECONDS = 0.05  # after which a named pipe without a reader is tried again


def cannot_seek(target: str) -> bool:
    """Whether a name means a descriptor of ours, or something that exists and is neither a file nor a folder."""
    if _own(target) is not None:
        return True
    try:
        mode = Path(target).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _own(target: str) -> int | None:
    return 1 if target == "-" else own_descriptor(target)


class PipeOutput:
    """Writes to standard output (`-`), another descriptor of ours (`/dev/fd/3`), or a named pipe or device.

    Waiting blocks no thread: it is written when there is room, in pieces that fit, because the mode of a descriptor
    that we share with others is not ours to change. On a terminal nothing of the JSON acts.
    `left` says that the reader has gone, `gave_up` that nobody read until the patience of `hurry` was over.
    """

    def __init__(self, target: str) -> None:
        self._own = _own(target)
        self.name = "standard output" if self._own == 1 else target
        self.left = self.gave_up = False
        self._target = target
        self._seen = False
        self._descriptor: int | None = None
        self._deadline = math.inf
        self._scope: anyio.CancelScope | None = None

    async def write(self, data: bytes) -> None:
        """Hands all of `data` to the kernel; waits for a reader, and for room.

        Raises: SinkError; when the reader has left, and when the patience of `hurry` is over, too.
        """
        with anyio.CancelScope(deadline=self._deadline) as scope:
            self._scope = scope
            try:
                if self._descriptor is None:
                    self._descriptor = await self._open()
                    self._seen = os.isatty(self._descriptor)
                await write_all(self._descriptor, escaped(data) if self._seen else data)
            except BrokenPipeError as error:
                self.left = True
                raise SinkError(self.name, error) from error
            except OSError as error:
                raise SinkError(self.name, error) from error
        self._scope = None
        if scope.cancelled_caught:
            self.gave_up = True
            raise SinkError(self.name, TimeoutError(errno.ETIMEDOUT, "nobody reads it"))

    def hurry(self, seconds: float) -> None:
        """From now on nobody is waited for longer than until `seconds` from now; the first call counts."""
        if self._deadline == math.inf:
            self._deadline = anyio.current_time() + seconds
            if self._scope is not None:
                self._scope.deadline = self._deadline

    def close(self) -> None:
        """Closes what was opened here; a descriptor that was given to us stays open."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None and self._own is None:
            os.close(descriptor)

    async def _open(self) -> int:
        if self._own is not None:
            return self._own
        while True:
            try:
                return os.open(self._target, os.O_WRONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
            except OSError as error:
                if error.errno != errno.ENXIO:  # nobody has opened the other end yet
                    raise
            await anyio.sleep(OPEN_SECONDS)


async def write_all(descriptor: int, data: bytes) -> None:
    """Hands all of `data` to the kernel, blocks no thread, and can be cancelled between pieces. Raises: OSError."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    view = memoryview(data)
    while view:
        if not poll.poll(0):
            await anyio.wait_writable(descriptor)
            continue
        try:
            view = view[os.write(descriptor, view[: _room(descriptor)]) :]
        except BlockingIOError:
            await anyio.wait_writable(descriptor)


def _room(descriptor: int) -> int:
    """How much something takes without waiting that takes anything: what a pipe has free, in whole pages.

    The first and the last page of a pipe may be used in part, and count as used.
    """
    if sys.platform == "linux":
        import fcntl
        import termios

        try:
            size = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
            held = int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
        except OSError:
            return select.PIPE_BUF  # no pipe
        page = select.PIPE_BUF
        return max(page, ((size - held) // page - 2) * page)
    return select.PIPE_BUF
