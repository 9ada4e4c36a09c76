"""A child process as a byte source: in its own process group, monitored for time and silence, ended as a whole.

No shell is involved. Its standard output is a pipe that is read in large pieces; its standard error goes to a file.
Shells that an agent starts in sessions of their own cannot be reached by a group signal.
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio
import anyio.abc

from agentv_stages.model.batch import Chunk
from agentv_stream.errors import UsageError
from agentv_stream.outputs.output_file import OutputFile
from agentv_stream.running.standard_input import StandardInput
from agentv_stream.sources.files import is_folder
from agentv_stream.sources.source import DescriptorSource

if TYPE_CHECKING:
    from agentv_stages.redaction.copied import RedactCopy
    from agentv_stages.redaction.redactor import Redactor
    from agentv_stream.running.redacted_errors import RedactedErrors

Stopped: TypeAlias = Literal["timeout", "stall", "fail-fast", "budget", "signal", "closed"]

HEAD_BYTES = 8 * 1024 * 1024
POLL_SECONDS = 0.02


@dataclass
class ChildEnd:
    """How a child ended. `exit_code` is None if a signal ended it; `stopped` says why we ended it, if we did."""

    exit_code: int | None = None
    signal: str | None = None
    stopped: Stopped | None = None
    left_open: bool = False
    left_running: bool = False


class Child:
    """Starts a command and yields its output; a `ByteSource`.

    `save` is the file for the raw stream: written as it arrives, and abandoned with a warning if that fails. `head`
    keeps the first bytes, for an output that turns out not to be a stream. Without `stdin` the child reads nothing
    there. `stale` are files of an earlier attempt of the same number, which are removed once the command has started.

    `redactor` redacts what goes into these files.

    An agent can guess the names of our files: a named pipe or a link that it puts there is neither opened nor read.
    """

    finished = False

    def __init__(
        self,
        command: Sequence[str],
        *,
        save: Path | None,
        stderr: Path,
        cwd: Path | None = None,
        stale: Sequence[Path] = (),
        stdin: StandardInput | None = None,
        redactor: "Redactor | None" = None,
    ) -> None:
        self.command = list(command)
        self.name = f"<{Path(command[0]).name}>" if command else "<run>"
        self.end = ChildEnd()
        self.head = bytearray()
        self.received = 0
        self.saved = 0
        self.warnings: list[str] = []
        self.silent_since: float | None = None
        self.started = anyio.Event()
        self.eof = anyio.Event()
        self._cwd = cwd
        self._stdin = stdin
        self._stderr = stderr
        self._errors: os.stat_result | None = None
        self._stale = stale
        self._save = OutputFile(save, another=lambda: save) if save is not None else None
        self._redactor = redactor
        self._redacted: RedactCopy | None = None  # what goes into the file of the raw stream
        self._redacted_errors: RedactedErrors | None = None
        if redactor is not None:
            from agentv_stream.redaction.redaction import redacted_copy

            self._redacted = redacted_copy(redactor)
        self._process: anyio.abc.Process | None = None
        self._read_end = -1
        self._terminating = anyio.Lock()
        self._terminated = False

    async def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Starts the command. Raises: UsageError if that fails, or if the standard error file cannot be created."""
        self._read_end, write_end = os.pipe()
        try:
            error_file = os.open(self._stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            os.close(write_end)
            self.close()
            raise UsageError(f"cannot write {self._stderr}: {error.strerror or error}") from error
        self._errors = os.fstat(error_file)
        if self._redactor is not None:
            from agentv_stream.running.redacted_errors import RedactedErrors

            self._redacted_errors = RedactedErrors(error_file, self._redactor)
            error_file = self._redacted_errors.write_end
        standard_input = subprocess.DEVNULL
        try:
            if self._stdin is not None:
                standard_input = self._stdin.open()
            self._process = await anyio.open_process(
                self.command,
                stdin=standard_input,
                stdout=write_end,
                stderr=error_file,
                cwd=self._cwd,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self.close()
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            where = "" if self._cwd is None or is_folder(self._cwd) else f" in {self._cwd}, which is not a folder"
            if isinstance(error, FileNotFoundError) and not where and "/" not in self.command[0]:
                reason = "no such program on the PATH"
            raise UsageError(f"cannot start {self.command[0]!r}{where}: {reason}") from error
        finally:
            os.close(write_end)
            os.close(error_file)
            if standard_input >= 0:
                os.close(standard_input)
        for place in self._stale:
            with suppress(OSError):
                place.unlink()
        self.started.set()

    async def chunks(self) -> AsyncGenerator[Chunk]:
        reader = DescriptorSource(self._read_end, self.name)
        self.silent_since = anyio.current_time()
        try:
            async for chunk in reader.chunks():
                # While we process, the child does not count as silent: it may be waiting for us.
                self.silent_since = None
                self.received += len(chunk.data)
                if len(self.head) < HEAD_BYTES:
                    self.head += chunk.data[: HEAD_BYTES - len(self.head)]
                with anyio.CancelScope(shield=True):  # it was read, so it is kept, and counted
                    await self._keep(chunk.data)
                yield chunk
                self.silent_since = anyio.current_time()
        finally:
            self.silent_since = None
            self.eof.set()
            with anyio.CancelScope(shield=True):
                await self._close_save()

    def close(self) -> None:
        """Closes the pipe; may be called more than once."""
        if self._read_end >= 0:
            os.close(self._read_end)
            self._read_end = -1
        if self._redacted_errors is not None:
            self._redacted_errors.close()

    async def wait(self) -> ChildEnd:
        """Waits for the child itself (not for its children) and returns how it ended."""
        assert self._process is not None
        code = await self._process.wait()
        if code < 0:
            self.end.signal = signal_name(-code)
        else:
            self.end.exit_code = code
        return self.end

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def ended(self) -> bool:
        """Whether the child has ended, if only just: `running` learns of it from the event loop, a moment later."""
        if self._process is None or not self.running or sys.platform != "linux":
            return not self.running
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def send(self, number: int) -> bool:
        """Sends a signal to the whole group; False if no process is left."""
        assert self._process is not None
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def group_left(self) -> bool:
        """Whether a process of the group is left. If we are the first process of a container, its orphans are ours, and
        the dead ones stay in the group until we take note of their end."""
        assert self._process is not None
        if not self.running:
            with suppress(ChildProcessError):
                while os.waitpid(-self._process.pid, os.WNOHANG)[0]:
                    pass
        return self.send(0)

    async def terminate(self, grace_seconds: float) -> None:
        """Ends the whole group: sends a request first, and kills the remaining processes after the grace period.

        A second caller waits for the first: a further request could make an agent drop its cleaning up.
        """
        with anyio.CancelScope(shield=True):
            async with self._terminating:
                if not self._terminated:
                    await self._terminate(grace_seconds)
                self._terminated = True

    async def _terminate(self, grace_seconds: float) -> None:
        if not self.group_left():
            return
        self.send(signal.SIGTERM)
        with anyio.move_on_after(grace_seconds):
            while self.group_left():  # noqa: ASYNC110 - no signal reports that the last of a group has gone
                await anyio.sleep(POLL_SECONDS)
            return
        self.send(signal.SIGKILL)

    def error_tail(self, most: int = 5_000) -> str:
        """The end of standard error."""
        try:
            with os.fdopen(os.open(self._stderr, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                if self._errors is None or not os.path.samestat(self._errors, os.fstat(file.fileno())):
                    return ""
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - most * 4))
                return file.read().decode("utf-8", "replace")[-most:]
        except OSError:
            return ""

    def drop_empty_files(self) -> None:
        """Removes the standard error file if it is empty."""
        try:
            if self._stderr.stat().st_size == 0:
                self._stderr.unlink()
        except OSError:
            return

    async def _keep(self, data: bytes) -> None:
        if self._save is None:
            return
        try:
            if self._redacted is not None:
                data = self._redacted.push(data)
            await self._save.write(data)
            self.saved = self._save.size
        except Exception as error:
            # Best effort: whatever goes wrong here must not reach the agent.
            self.saved = self._save.size
            self.warnings.append(f"the raw stream is not saved any more: {error}")
            await self._close_save()
            self._save = None

    async def _close_save(self) -> None:
        if self._save is not None:
            try:
                if self._redacted is not None:
                    await self._save.write(self._redacted.flush())
                    self.saved = self._save.size
                await self._save.close()
            except Exception as error:
                self.warnings.append(f"the raw stream may not be whole: {error}")


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
