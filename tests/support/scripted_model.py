"""A model that plays a script: a server of Anthropic's Messages API on loopback, for a real agent."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Any, ClassVar, cast

Answer = dict[str, Any]  # a content block: text, or tool_use without its id
Script = list[Callable[[Any], Answer]]  # each takes the text of the last tool result, None at the start


def text(words: str) -> Answer:
    return {"type": "text", "text": words}


def use(tool: str, **words: Any) -> Answer:
    return {"type": "tool_use", "name": tool, "input": words}


class ScriptedModel:
    """A context manager. Requests that do not offer `tool` (titles, checks of the connection) get a fixed answer and
    consume no step; if they offer `wait`, that is the answer.

    `results` are the tool results that came back, `offered` the names of the tools.
    """

    def __init__(self, script: Script, tool: str, wait: str) -> None:
        self.script, self.tool, self.wait = list(script), tool, wait
        self._begun = False
        self.numbers = count(1)
        self.results: list[str] = []
        self.offered: list[str] = []
        self.turn = threading.Lock()

        class Handler(_Handler):
            model = self

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "ScriptedModel":
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: dict[str, Any]) -> Answer:
        """The next step of the script."""
        offered = [tool.get("name", "") for tool in request.get("tools") or ()]
        if self.tool not in offered:
            return use(self.wait) if self.wait in offered else text("ok")
        with self.turn:
            self.offered = offered
            result = _last_result(request["messages"]) if self._begun else None
            self._begun = True
            if result is not None:
                self.results.append(result)
            return self.script.pop(0)(result) if self.script else text("done")


def _last_result(messages: list[dict[str, Any]]) -> str | None:
    """The text of the last tool result."""
    for message in reversed(messages):
        for block in reversed(_blocks(message["content"])):
            if block.get("type") == "tool_result":
                inner = block.get("content")
                return inner if isinstance(inner, str) else "".join(part.get("text", "") for part in _blocks(inner))
    return None


def _blocks(content: Any) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", content) if isinstance(content, list) else []


class _Handler(BaseHTTPRequestHandler):
    model: ClassVar[ScriptedModel]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.partition("?")[0].endswith("/messages"):
            self._reply("application/json", json.dumps({"input_tokens": 1}).encode())
            return
        block, number = self.model.answer(request), next(self.model.numbers)
        is_use = block["type"] == "tool_use"
        if is_use:
            block = block | {"id": f"toolu_{number:020}"}
        usage = {"input_tokens": 10, "output_tokens": 5}
        message: dict[str, Any] = {
            "id": f"msg_{number:020}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [block],
            "stop_reason": "tool_use" if is_use else "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        if not request.get("stream"):
            self._reply("application/json", json.dumps(message).encode())
            return
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if is_use
            else {"type": "text_delta", "text": block["text"]}
        )
        empty: Answer = block | {"input": {}} if is_use else text("")
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
                "usage": usage,
            },
            {"type": "message_stop"},
        ]
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        self._reply("text/event-stream", "".join(lines).encode())

    def do_GET(self) -> None:
        self._reply("application/json", b"{}")

    do_HEAD = do_GET

    def _reply(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
