"""Standard output and named pipes: outputs that cannot seek, and whose reader may be slow or leave."""

import errno
import math
import os
import select
import stat
import sys
from pathlib import Path

import anyio

from agentv_stages.model.visible import escaped
from agentv_stream.errors import SinkError
from agentv_stream.outputs.publish import own_descriptor

OPEN_SECONDS = 0.05  # between attempts to open a named pipe that has no reader


def cannot_seek(target: str) -> bool:
    """Whether a name means one of our descriptors, or something that exists and is neither a file nor a folder."""
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

    Waiting blocks no thread: data are written when there is room, in pieces that fit, because we must not change the
    mode of a descriptor that is shared with others. In a terminal, control sequences in the JSON have no effect.
    `left` means that the reader has gone, `gave_up` that it read nothing before the deadline of `hurry`.
    """

    def __init__(self, target: str) -> None:
        self._own = _own(target)
        self.name = "standard output" if self._own == 1 else target
        self.left = self.gave_up = False
        self._target = target
        self._is_terminal = False
        self._descriptor: int | None = None
        self._deadline = math.inf
        self._scope: anyio.CancelScope | None = None

    async def write(self, data: bytes) -> None:
        """Hands all of `data` to the kernel; waits for a reader and for room.

        Raises: SinkError; also when the reader has left, and after the deadline of `hurry`.
        """
        with anyio.CancelScope(deadline=self._deadline) as scope:
            self._scope = scope
            try:
                if self._descriptor is None:
                    self._descriptor = await self._open()
                    self._is_terminal = os.isatty(self._descriptor)
                await write_all(self._descriptor, escaped(data) if self._is_terminal else data)
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
        """Sets the deadline for readers to `seconds` from now; only the first call counts."""
        if self._deadline == math.inf:
            self._deadline = anyio.current_time() + seconds
            if self._scope is not None:
                self._scope.deadline = self._deadline

    def close(self) -> None:
        """Closes a descriptor that was opened here, but not one of the caller."""
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
                if error.errno != errno.ENXIO:  # no reader has opened the other end yet
                    raise
            await anyio.sleep(OPEN_SECONDS)


async def write_all(descriptor: int, data: bytes) -> None:
    """Hands all of `data` to the kernel without blocking a thread; can be cancelled between pieces. Raises: OSError."""
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
    """How many bytes can be written to a writable descriptor without blocking: a pipe's free space in whole pages.

    The first and the last page of a pipe may be partly used, and count as used.
    """
    if sys.platform == "linux":
        import fcntl
        import termios

        try:
            size = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
            held = int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
        except OSError:
            return select.PIPE_BUF  # not a pipe
        page = select.PIPE_BUF
        return max(page, ((size - held) // page - 2) * page)
    return select.PIPE_BUF
