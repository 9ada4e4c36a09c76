"""The remembered folder gives what the plain one gives, and asks the disk once."""

import os
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.providers import all_providers
from agentv_stages.providers.claude.forks import fingerprint, history_of
from agentv_stream.bulk import listing
from agentv_stream.bulk.listing import ListedFolder
from agentv_stream.sources.folder import LocalFolder
from support.made_sessions import make_folder


def test_companions_are_those_of_the_plain_folder(tmp_path: Path) -> None:
    paths = make_folder(tmp_path, 6)
    folder = ListedFolder()
    for provider in all_providers():
        for path in paths:
            assert provider.companions(str(path), folder) == provider.companions(str(path), LocalFolder())
    assert len(all_providers()[0].companions(str(paths[0]), folder)) == 1


def test_a_folder_with_glob_signs_in_its_name_is_taken_literally(tmp_path: Path) -> None:
    folder = tmp_path / "a[1]*"
    folder.mkdir()
    (folder / "rollout-1.jsonl").write_text("x")
    escaped = str(folder).replace("[", "[[]").replace("*", "[*]")
    assert ListedFolder().glob(f"{escaped}/rollout-*.jsonl*") == [str(folder / "rollout-1.jsonl")]


def test_a_folder_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = make_folder(tmp_path, 3)
    listed: list[str] = []
    real = os.scandir

    def scandir(path: str) -> Any:
        listed.append(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    folder = ListedFolder()
    for _ in range(3):
        for path in paths:
            folder.glob(f"{path.parent}/agent-*.jsonl")
    assert len(listed) == len(set(listed)) == 3


def test_what_cannot_be_read_is_empty(tmp_path: Path) -> None:
    folder = ListedFolder()
    assert folder.glob(f"{tmp_path}/nowhere/*.jsonl") == []
    assert folder.read(str(tmp_path / "nothing"), 10) == b""


class CountedFolder(ListedFolder):
    """A folder that counts what is read, from the disk or not."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def read(self, path: str, limit: int) -> bytes:
        self.reads += 1
        return super().read(path, limit)


def test_a_search_for_forks_reads_each_log_of_a_folder_once(tmp_path: Path) -> None:
    for n in range(20):
        first = "shared" if n < 3 else f"first-{n}"
        (tmp_path / f"{n:02}.jsonl").write_text(f'{{"uuid":"{first}"}}\n{{"uuid":"own-{n}"}}\n')
    folder = CountedFolder()
    for n in range(20):
        path = str(tmp_path / f"{n:02}.jsonl")
        before = n if n < 3 else 0
        found = history_of(path, folder, "shared" if n < 3 else f"first-{n}")
        assert list(found) == [fingerprint(uuid) for m in range(before) for uuid in ("shared", f"own-{m}")]
        assert found == history_of(path, LocalFolder(), "shared" if n < 3 else f"first-{n}")
    assert folder.reads == 20 + 20 + 3  # each log for the index, its own rank, and the whole of the copied ones


def test_heads_of_many_logs_are_not_all_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_HEADS_BYTES", 100)
    folder, disk = ListedFolder(), LocalFolder()
    for n in range(20):
        (tmp_path / f"{n}.jsonl").write_text(f"{n:030}")
    paths = [str(tmp_path / f"{n}.jsonl") for n in range(20)]
    assert [folder.read(path, 25) for path in paths] == [disk.read(path, 25) for path in paths]
    assert 0 < sum(map(len, folder._heads.values())) <= 100  # pyright: ignore[reportPrivateUsage] - what is kept
