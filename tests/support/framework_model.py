"""A model on loopback that plays a script, for real frameworks: OpenAI's chat completions and Gemini's API."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeAlias

Turn: TypeAlias = tuple[str, tuple[tuple[str, dict[str, Any]], ...]]
"""What an answer says, and the calls that it asks for, by name and arguments."""


def completion(number: int, turn: Turn) -> dict[str, Any]:
    text, calls = turn
    asked = [
        {"id": f"call_{number}_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if asked:
        message["tool_calls"] = asked
    return {
        "id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1772359200, "model": "pear-2",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if asked else "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
                  "prompt_tokens_details": {"cached_tokens": 40}},
    }  # fmt: skip


def content(turn: Turn) -> dict[str, Any]:
    text, calls = turn
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in calls]
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 100, "cachedContentTokenCount": 40, "candidatesTokenCount": 20, "totalTokenCount": 120}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "pear-2"}


@contextmanager
def scripted_model(script: tuple[Turn, ...]) -> Generator[str]:
    """The address of a server that gives the next answer of the script to each request."""
    turns = iter(enumerate(script))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            number, turn = next(turns)
            self.answer(content(turn) if "generateContent" in self.path else completion(number, turn))

        def answer(self, value: Mapping[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
