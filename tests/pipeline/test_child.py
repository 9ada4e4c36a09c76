"""A child process as a source: every byte, its end, its group."""

import signal
import stat
from pathlib import Path

import anyio
import pytest

from agentv_stream.errors import UsageError
from agentv_stream.running.child import Child, signal_name
from support.fake_agents import agent, alive, survivors

DATA = bytes(range(256)) * 8192


async def read(child: Child) -> bytes:
    data = bytearray()
    async for chunk in child.chunks():
        data += chunk.data
    return bytes(data)


async def started(folder: Path, code: str, data: bytes = b"", save: Path | None = None) -> Child:
    child = Child(agent(folder, code, data), save=save, stderr=folder / "err", cwd=folder)
    await child.start()
    return child


async def test_every_byte_is_given_and_saved_and_the_exit_code_told(tmp_path: Path) -> None:
    child = await started(tmp_path, "say(DATA)\nsys.exit(7)", DATA, tmp_path / "raw")
    assert await read(child) == DATA
    end = await child.wait()
    child.close()
    assert (end.exit_code, end.signal, child.running) == (7, None, False)
    assert (tmp_path / "raw").read_bytes() == DATA == bytes(child.head)
    assert (child.received, child.saved) == (len(DATA), len(DATA))
    assert stat.S_IMODE((tmp_path / "raw").stat().st_mode) == 0o600


async def test_death_by_a_signal_has_no_exit_code(tmp_path: Path) -> None:
    child = await started(tmp_path, "os.kill(os.getpid(), signal.SIGUSR1)")
    assert await read(child) == b""
    end = await child.wait()
    child.close()
    assert (end.exit_code, end.signal) == (None, "SIGUSR1")


async def test_standard_error_stands_in_its_file_and_an_empty_one_goes(tmp_path: Path) -> None:
    child = await started(tmp_path, "sys.stderr.write('x' * 6000 + 'the end')")
    await read(child)
    await child.wait()
    child.close()
    assert child.error_tail(10) == "xxxthe end"
    child.drop_empty_files()
    assert (tmp_path / "err").exists()
    child = await started(tmp_path, "")
    await read(child)
    await child.wait()
    child.close()
    child.drop_empty_files()
    assert not (tmp_path / "err").exists()
    assert child.error_tail() == ""


async def test_a_stream_that_cannot_be_saved_is_given_up_and_still_read(tmp_path: Path) -> None:
    child = await started(tmp_path, "say(DATA)", DATA, tmp_path / "err" / "raw")  # `err` is a file
    assert await read(child) == DATA
    await child.wait()
    child.close()
    assert child.saved == 0
    assert len(child.warnings) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
async def test_the_file_of_a_stream_that_is_given_up_is_closed(tmp_path: Path) -> None:
    child = await started(tmp_path, "say(DATA)", DATA, Path("/dev/full"))
    assert await read(child) == DATA
    await child.wait()
    child.close()
    assert len(child.warnings) == 1
    assert "/dev/full" not in [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]


async def test_what_was_read_when_the_reading_is_ended_is_kept_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was in the file, or on its way there, and not counted as saved."""
    child = await started(tmp_path, "say(DATA)\nhang()", DATA, tmp_path / "raw")
    with anyio.CancelScope() as reading:
        keep = child._keep  # pyright: ignore[reportPrivateUsage] - where the cancellation has to come

        async def kept(data: bytes) -> None:
            reading.cancel()
            await keep(data)

        monkeypatch.setattr(child, "_keep", kept)
        await read(child)
    await child.terminate(5.0)
    await child.wait()
    child.close()
    assert child.saved == child.received == (tmp_path / "raw").stat().st_size > 0


async def test_the_whole_group_is_ended_also_who_does_not_heed_the_request(tmp_path: Path) -> None:
    code = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pid = os.fork()\n"
        "if pid:\n"
        "    note(pid)\n"
        "    say(b'ready')\n"
        "hang()\n"
    )
    child = await started(tmp_path, code)
    chunks = child.chunks()
    assert (await anext(chunks)).data == b"ready"
    assert len(alive(tmp_path)) == 2
    with anyio.fail_after(10):
        await child.terminate(0.05)
        end = await child.wait()
    await chunks.aclose()
    child.close()
    assert end.signal == "SIGKILL"
    assert survivors(tmp_path) == []


async def test_silence_is_counted_only_while_nothing_is_worked_off(tmp_path: Path) -> None:
    child = await started(tmp_path, "say(b'x')\nhang()")
    chunks = child.chunks()
    await anext(chunks)
    assert child.silent_since is None

    async def read_on() -> None:
        await anext(chunks, None)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_on)
        while child.silent_since is None:
            await anyio.lowlevel.checkpoint()
        await child.terminate(0.05)
    child.close()
    await child.wait()
    assert child.silent_since is None


async def test_what_cannot_be_started_is_an_error_of_the_call(tmp_path: Path) -> None:
    child = Child(["no-such-agent-program"], save=None, stderr=tmp_path / "err")
    with pytest.raises(UsageError, match="cannot start 'no-such-agent-program'"):
        await child.start()
    child = Child(["true"], save=None, stderr=tmp_path / "err", cwd=tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"cannot start 'true' in .*nowhere, which is not a folder"):
        await child.start()
    child = Child(["true"], save=None, stderr=tmp_path / "nowhere" / "err")
    with pytest.raises(UsageError, match="cannot write"):
        await child.start()


@pytest.mark.parametrize("how", ["no program", "no file"])
async def test_after_a_failed_start_the_pipe_is_closed_once(tmp_path: Path, how: str) -> None:
    """The number of a descriptor that is closed twice may belong to another file by then."""
    errors = tmp_path / "missing" / "err" if how == "no file" else tmp_path / "err"
    child = Child(["/no/such/program"], save=None, stderr=errors)
    with pytest.raises(UsageError):
        await child.start()
    child.close()


def test_signals_have_names() -> None:
    assert (signal_name(signal.SIGTERM), signal_name(250)) == ("SIGTERM", "signal 250")
