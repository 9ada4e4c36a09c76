"""The command `redact`, and the key that makes its markers."""

import json
import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentv_stages.redaction.redactor import Redactor, expressions
from agentv_stages.redaction.vault import MARKER
from agentv_stream.errors import SourceError
from agentv_stream.redaction.fast_search import fast_search
from agentv_stream.redaction.key import FILE, installation_key
from support.consuming import finished

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT" + "5vW7yZ2bC4dF6gH8"
LOG = f'{{"id":"a","text":"first\\n{TOKEN}"}}\n{{"id":"b","n":1.50}}\nno JSON, AKIA2Q4W6E7RTYUIOPLK'


def run(*arguments: str, folder: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "AGENTV_STREAM_STATE": str(folder / "state")}
    return finished("redact", *arguments, given=given, environ=environment)


def test_a_filter_changes_the_secrets_and_nothing_else(tmp_path: Path) -> None:
    done = run(folder=tmp_path, given=LOG.encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert [m[:17] for m in MARKER.findall(done.stdout)] == [b"[redacted:github-", b"[redacted:aws-key"]
    kinds = iter((TOKEN.encode(), b"AKIA2Q4W6E7RTYUIOPLK"))
    assert MARKER.sub(lambda _: next(kinds), done.stdout) == LOG.encode()


def test_runs_of_one_user_make_equal_markers_and_users_different_ones(tmp_path: Path) -> None:
    first, again, other = (run(folder=tmp_path / name, given=LOG.encode()).stdout for name in ("a", "a", "b"))
    assert first == again != other


def test_a_file_and_a_packed_one_are_read(tmp_path: Path) -> None:
    import gzip

    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    plain.write_text(LOG)
    packed.write_bytes(gzip.compress(LOG.encode()))
    assert run(str(plain), folder=tmp_path).stdout == run(str(packed), folder=tmp_path).stdout != b""


def test_the_list_says_where_and_what_but_not_the_secret(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_text(LOG)
    done = run("--list", str(log), folder=tmp_path)
    at = LOG.index("ghp_"), LOG.index("AKIA")
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        f"{log}:1: github-token at byte {at[0]}, 40 bytes …{TOKEN[-4:]}",
        f"{log}:3: aws-key at byte {at[1]}, 20 bytes …OPLK",
    ]
    assert run("--list", folder=tmp_path, given=b"{}\n").returncode == 0


def test_what_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    done = run(str(tmp_path / "none"), folder=tmp_path)
    assert (done.returncode, done.stdout) == (4, b"")
    assert done.stderr.count(b"\n") == 1


def test_the_key_is_created_once_and_private(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(installation_key, [tmp_path / "state"] * 16))
    assert len(keys) == 1 and len(keys.pop()) == 32
    assert stat.S_IMODE((tmp_path / "state" / FILE).stat().st_mode) == 0o600


def test_a_damaged_key_is_an_error_not_another_key(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("")
    with pytest.raises(SourceError, match="is no redaction key"):
        installation_key(tmp_path)


def test_the_faster_search_finds_what_the_rules_find() -> None:
    pytest.importorskip("hyperscan", reason="the extra `redact` is not installed")
    may_match = fast_search(expressions())
    assert may_match is not None
    lines = [
        *LOG.splitlines(),
        json.dumps({"a": "x=1"}),
        '{"a":"\\u0041KIA2Q4W6E7RTYUIOPLK"}',
        "postgres:\\/\\/a:b1c2d3@h",
    ]
    for line in (text.encode() for text in lines):
        assert Redactor(b"k", may_match=may_match).redact(line) == Redactor(b"k").redact(line)
    assert not may_match(b'{"type":"text","id":"toolu_01AbCdEfGhIjKlMnOpQrStUv"}')
    assert fast_search([rb"(?<=a)b"]) is None  # a user's rule that it cannot read


def test_the_compiled_search_is_kept_in_the_cache_and_a_damaged_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hyperscan", reason="the extra `redact` is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):
        assert fast_search(expressions()) is not None
    (kept,) = (tmp_path / "agentv-stream" / "redaction").iterdir()
    whole = kept.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    for damaged in (b"", whole[:-100], whole[:500] + b"!" + whole[501:]):
        kept.write_bytes(damaged)
        may_match = fast_search(expressions())
        assert may_match is not None and may_match(LOG.encode()) and not may_match(b"nothing")
        assert kept.read_bytes() == whole
    for number in range(20):
        fast_search([b"rule %d" % number])
    assert len(list(kept.parent.iterdir())) == 8


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hyperscan", reason="the extra `redact` is not installed")
    (tmp_path / "agentv-stream").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    may_match = fast_search(expressions())
    assert may_match is not None and may_match(LOG.encode())
