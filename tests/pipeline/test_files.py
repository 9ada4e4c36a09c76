"""Finished files as plain bytes, whatever packed them."""

import gzip
import os
from pathlib import Path

import pytest
import zstandard

from agentv_stream.errors import SourceError
from agentv_stream.sources.files import CHUNK_BYTES, check_readable, compression, open_plain, read_pieces

DATA = os.urandom(3 * CHUNK_BYTES + 17)
PACKED = {
    "plain": DATA,
    "gzip": gzip.compress(DATA),
    "gzip-members": gzip.compress(DATA[:1000]) + gzip.compress(DATA[1000:]),
    "zstd": zstandard.compress(DATA),
    "zstd-frames": zstandard.compress(DATA[:1000]) + zstandard.compress(b"") + zstandard.compress(DATA[1000:]),
}


@pytest.mark.parametrize("name", PACKED)
def test_the_bytes_are_the_same_whatever_packed_them_and_whatever_the_name_says(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(PACKED[name])
    pieces = list(read_pieces(path))
    assert b"".join(pieces) == DATA
    assert max(map(len, pieces)) <= CHUNK_BYTES
    assert compression(path) == (None if name == "plain" else name.partition("-")[0])
    with open_plain(path) as file:
        assert file.read(10) == DATA[:10]


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_of_a_broken_archive_what_came_before_is_given_and_then_the_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(PACKED[name][: len(PACKED[name]) // 2])
    got = b""
    with pytest.raises(SourceError, match=r"cannot read .*log"):
        for piece in read_pieces(path):
            got += piece
    assert len(got) > CHUNK_BYTES // 2
    assert DATA.startswith(got)


def test_an_empty_file_has_no_pieces(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert list(read_pieces(tmp_path / "empty")) == []
    assert compression(tmp_path / "empty") is None


def test_what_is_missing_or_a_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        check_readable(tmp_path / "missing")
    with pytest.raises(SourceError, match=r"it is a directory; `agentv-stream import .*` reads a folder"):
        check_readable(tmp_path)
    with pytest.raises(SourceError, match=r"missing: No such file or directory$"):
        list(read_pieces(tmp_path / "missing"))
    with pytest.raises(SourceError, match=f"{tmp_path.name}: Is a directory$"):
        list(read_pieces(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_is_not_ours_to_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x")
    path.chmod(0)
    with pytest.raises(SourceError, match="permission denied"):
        check_readable(path)
