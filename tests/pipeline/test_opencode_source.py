from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stream.errors import UsageError
from agentv_stream.stores.database import StoreError
from agentv_stream.stores.rows import read_session
from agentv_stream.stores.source import StoreSource

T0 = 1772359200000


def session(name: str, title: str, parent: str | None = None, texts: int = 1) -> dict[str, Any]:
    info = {"id": name, "parentID": parent, "directory": "/w", "title": title, "time": {"created": T0}}
    return {"info": info, "texts": [f"text {i} of {name}" for i in range(texts)]}


def make_store(root: Path, *sessions: dict[str, Any]) -> Path:
    for one in sessions:
        info = one["info"]
        put(root / "storage/session/p" / f"{info['id']}.json", info)
        for i, text in enumerate(one["texts"]):
            message = f"msg_{info['id']}_{i:06}"
            put(
                root / "storage/message" / info["id"] / f"{message}.json",
                {"role": "assistant", "time": {"created": T0}},
            )
            put(root / "storage/part" / message / "prt_1.json", {"type": "text", "text": text})
    return root


def put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(value))


async def read(source: StoreSource) -> bytes:
    return b"".join([chunk.data async for chunk in source.chunks()])


async def test_the_chunks_are_the_rows_of_the_session_as_lines(tmp_path: Path) -> None:
    store = make_store(tmp_path, session("ses_1", "one", texts=3), session("ses_2", "two"))
    data = await read(StoreSource(store, "ses_1"))
    assert data == b"".join(row + b"\n" for row in read_session(store, "ses_1"))
    assert data.count(b"\n") == 4


async def test_a_long_session_comes_in_pieces(tmp_path: Path) -> None:
    one = session("ses_1", "one")
    one["texts"] = ["x" * 100_000] * 6
    source = StoreSource(make_store(tmp_path, one), "ses_1")
    sizes = [len(chunk.data) async for chunk in source.chunks()]
    assert len(sizes) > 1
    assert max(sizes) < 400_000


def test_the_only_session_needs_no_id(tmp_path: Path) -> None:
    store = make_store(tmp_path, session("ses_1", "one"), session("ses_2", "child", "ses_1"))
    assert StoreSource(store).session_id == "ses_1"


def test_of_several_sessions_one_has_to_be_named_and_titles_do_not_act(tmp_path: Path) -> None:
    store = make_store(tmp_path, session("ses_1", "one"), session("ses_2", "\x1b[2Jtwo"))
    with pytest.raises(UsageError) as caught:
        StoreSource(store)
    assert "ses_1" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_store_without_sessions_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        StoreSource(tmp_path)


async def test_an_unknown_session_is_an_error_when_it_is_read(tmp_path: Path) -> None:
    source = StoreSource(make_store(tmp_path, session("ses_1", "one")), "ses_404")
    with pytest.raises(StoreError):
        await read(source)
