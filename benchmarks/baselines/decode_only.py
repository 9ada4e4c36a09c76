"""Decoding and nothing else: msgspec Structs that name the fields which the pipeline uses, payloads left as Raw.

This is the floor of any pipeline that decodes Claude records in Python: what our whole chain is compared with.
It counts blocks so that the work cannot be skipped, and reads as the pipeline reads: 256 KiB, unbuffered, LF only.
"""

import json
import sys

import msgspec

# A Raw cannot stand in a union with None.
_NULL = msgspec.Raw(b"null")


class Block(msgspec.Struct, gc=False):
    type: str
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = _NULL
    text: msgspec.Raw = _NULL
    thinking: msgspec.Raw = _NULL
    tool_use_id: str | None = None
    content: msgspec.Raw = _NULL
    is_error: bool | None = None


class Usage(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class Message(msgspec.Struct, gc=False):
    role: str | None = None
    id: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    stop_reason: str | None = None
    usage: Usage | None = None


class Record(msgspec.Struct, gc=False):
    type: str
    subtype: str | None = None
    message: Message | None = None
    uuid: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    session_id_on_disk: str | None = msgspec.field(name="sessionId", default=None)
    parent_tool_use_id: str | None = None
    is_sidechain: bool = msgspec.field(name="isSidechain", default=False)
    request_id: str | None = msgspec.field(name="requestId", default=None)
    cwd: str | None = None
    version: str | None = None
    tool_use_result: msgspec.Raw = _NULL
    tool_use_result_on_disk: msgspec.Raw = msgspec.field(name="toolUseResult", default=_NULL)


def main(path: str) -> None:
    decode = msgspec.json.Decoder(Record).decode
    records = blocks = calls = 0
    rest = b""
    with open(path, "rb", buffering=0) as source:  # noqa: PTH123 (unbuffered, as the pipeline reads)
        while chunk := source.read(1 << 18):
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                record = decode(line)
                records += 1
                if record.message is not None and type(record.message.content) is list:
                    for block in record.message.content:
                        blocks += 1
                        if block.type == "tool_use":
                            calls += 1
    print(json.dumps({"records": records, "blocks": blocks, "total": calls}))


if __name__ == "__main__":
    main(sys.argv[1])
