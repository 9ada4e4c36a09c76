"""`.zst` files: every frame, and never an end that is none."""

import io
import os

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from agentv_stream.sources.zstd_file import STEP, ZstdFile, open_zstd

FRAMES = [os.urandom(100_000), b"", b"x" * 3_000_000, b"end"]
PLAIN = b"".join(FRAMES)
PACKED = b"".join(zstandard.compress(frame) for frame in FRAMES)


@given(st.lists(st.binary(max_size=200), max_size=5), st.integers(1, 50))
def test_all_frames_are_read_whatever_the_size_of_a_read(frames: list[bytes], size: int) -> None:
    file = open_zstd(io.BytesIO(b"".join(zstandard.compress(frame) for frame in frames)))
    got = b""
    while data := file.read(size):
        got += data
    assert got == b"".join(frames)


@given(st.integers(1, len(PACKED) - 1))
def test_a_file_that_breaks_off_anywhere_is_an_error_behind_what_came_before(cut: int) -> None:
    file = open_zstd(io.BytesIO(PACKED[:cut]))
    ends, at = set[int](), 0
    for frame in FRAMES:
        at += len(zstandard.compress(frame))
        ends.add(at)
    got = b""
    if cut in ends:  # between two frames nothing is missing
        assert PLAIN.startswith(file.read())
        return
    with pytest.raises(EOFError):
        while data := file.read1():
            got += data
    assert PLAIN.startswith(got)


def test_damaged_bytes_are_an_error() -> None:
    broken = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(PLAIN))  # as the program zstd does
    broken[len(broken) // 2] ^= 0xFF
    with pytest.raises(zstandard.ZstdError):
        open_zstd(io.BytesIO(bytes(broken))).read()
    with pytest.raises(zstandard.ZstdError):
        open_zstd(io.BytesIO(b"no archive")).read()


@pytest.mark.parametrize("target", [0, 5, 100_000, 100_001, len(PLAIN) - 1, len(PLAIN), len(PLAIN) + 7])
@pytest.mark.parametrize("start", [0, 200_000])
def test_seeking_gives_what_stands_there(start: int, target: int) -> None:
    for file in (open_zstd(io.BytesIO(PACKED)), ZstdFile(io.BytesIO(PACKED))):
        file.seek(start)
        file.seek(target)
        assert file.read(3) == PLAIN[target : target + 3]
        assert file.tell() == min(target + 3, len(PLAIN))


def test_little_packed_that_unpacks_to_much_is_unpacked_bit_by_bit() -> None:
    bomb = zstandard.compress(bytes(500_000_000), 19)
    assert len(bomb) > 2 * STEP
    file = ZstdFile(io.BytesIO(bomb))
    assert file.read(10) == bytes(10)
    assert len(file._plain) < 100_000_000  # pyright: ignore[reportPrivateUsage] - memory is what it is about


@pytest.mark.parametrize("closefd", [True, False])
def test_the_packed_file_is_closed_with_it_unless_told_not_to(closefd: bool) -> None:
    packed = io.BytesIO(PACKED)
    open_zstd(packed, closefd=closefd).close()
    assert packed.closed is closefd
