"""One spec judges runs of three frameworks, each made here by the real one with a scripted model on loopback.

A test is skipped where the framework is not installed: pip install langchain langchain-openai openai-agents google-adk.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentv_stream import check, read
from support.framework_model import Turn, scripted_model

SCRIPT: tuple[Turn, ...] = (
    ("I look for a table.", (("find_table", {"guests": 2}),)),
    ("I book it.", (("book_table", {"table": "window"}), ("book_table", {"table": "attic"}))),
    ("Booked the window table.", ()),
)
OUTCOMES = [("find_table", "ok"), ("book_table", "ok"), ("book_table", "error")]
SPEC = """
tests:
  - id: table
    input: Book a table for two.
    criteria: The window table is booked.
    assertions:
      - name: steps
        type: tool-trajectory
        mode: in_order
        expected:
          - tool: find_table
            args: {guests: 2}
          - tool: book_table
            args: {table: window}
      - name: answer
        type: contains
        value: Booked the window
      - name: budget
        type: execution-metrics
        max_tool_calls: 3
      - name: too many
        type: execution-metrics
        max_tool_calls: 2
"""
TOOLS = '''
import os, sys

def find_table(guests: int) -> str:
    """Finds a table."""
    return f"window, for {guests}"

def book_table(table: str) -> str:
    """Books a table."""
    if table == "attic":
        raise ValueError("there is no attic")
    return f"booked {table}"

URL, OUT = sys.argv[1:3]
PROMPT = "Book a table for two."
'''
LANGCHAIN = """
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage, messages_to_dict
from langchain_openai import ChatOpenAI
import json

@wrap_tool_call
def told(request, handler):
    try:
        return handler(request)
    except ValueError as error:
        return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")

model = ChatOpenAI(model="pear-2", base_url=URL + "/v1", api_key="x")
agent = create_agent(model, [find_table, book_table], middleware=[told])
state = agent.invoke({"messages": [{"role": "user", "content": PROMPT}]})
open(OUT + ".json", "w").write(json.dumps(messages_to_dict(state["messages"])))
"""
OPENAI = """
from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
set_tracing_disabled(True)
model = OpenAIChatCompletionsModel("pear-2", AsyncOpenAI(base_url=URL + "/v1", api_key="x"))
agent = Agent(name="host", model=model, tools=[function_tool(find_table), function_tool(book_table)])
Runner.run_sync(agent, PROMPT, session=SQLiteSession("s-1", OUT + ".db"))
"""
ADK = """
import asyncio, json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types

async def main():
    agent = LlmAgent(
        name="host", model=Gemini(model="gemini-pear", base_url=URL), tools=[find_table, book_table],
        on_tool_error_callback=lambda tool, args, tool_context, error: {"isError": True, "error": str(error)},
    )
    runner = InMemoryRunner(agent, app_name="tables")
    session = await runner.session_service.create_session(app_name="tables", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text=PROMPT)])
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        pass

asyncio.run(main())

def value(x):
    if isinstance(x, bool):
        return {"boolValue": x}
    if isinstance(x, int):
        return {"intValue": str(x)}
    if isinstance(x, float):
        return {"doubleValue": x}
    if isinstance(x, (list, tuple)):
        return {"arrayValue": {"values": [value(i) for i in x]}}
    return {"stringValue": str(x)}

def pairs(attributes):
    return [{"key": k, "value": value(v)} for k, v in (attributes or {}).items()]

with open(OUT + ".otlp.jsonl", "w") as out:
    for s in exporter.get_finished_spans():
        span = {"traceId": f"{s.context.trace_id:032x}", "spanId": f"{s.context.span_id:016x}", "name": s.name,
                "startTimeUnixNano": str(s.start_time), "endTimeUnixNano": str(s.end_time),
                "attributes": pairs(s.attributes), "status": {"code": s.status.status_code.value},
                "events": [{"name": e.name, "attributes": pairs(e.attributes)} for e in s.events]}
        if s.parent:
            span["parentSpanId"] = f"{s.parent.span_id:016x}"
        scope = {"scope": {"name": s.instrumentation_scope.name}, "spans": [span]}
        out.write(json.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}) + "\\n")
"""
PROGRAMS = {
    "langchain": (("langchain", "langchain_openai"), LANGCHAIN, "langchain-messages"),
    "openai-agents": (("agents",), OPENAI, "openai-agents-items"),
    "google-adk": (("google.adk", "opentelemetry.sdk"), ADK, "otlp"),
}


@pytest.fixture(params=list(PROGRAMS))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """The log of a run, and its dialect. The framework runs in a process of its own: it changes much of the one it is
    in."""
    needed, program, dialect = PROGRAMS[request.param]
    for module in needed:
        pytest.importorskip(module, reason=f"{request.param} is not installed")
    environment = {
        **os.environ, "HOME": str(tmp_path), "GOOGLE_API_KEY": "x", "LANGSMITH_TRACING": "false",
        "NO_PROXY": "*", "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    }  # fmt: skip
    with scripted_model(SCRIPT) as url:
        command = [sys.executable, "-c", TOOLS + program, url, str(tmp_path / "run")]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (log,) = tmp_path.glob("run.*")
    yield log, dialect


def test_one_spec_judges_the_runs_of_all_frameworks(run: tuple[Path, str], tmp_path: Path) -> None:
    log, dialect = run
    session = read(log)
    assert session.result.session.dialect == dialect
    assert [(call.name, call.outcome) for call in session.calls] == OUTCOMES
    assert [call.input for call in session.calls] == [arguments for _, calls in SCRIPT for _, arguments in calls]
    spec = tmp_path / "table.yaml"
    spec.write_text(SPEC)
    (verdict,) = check(session, spec, case="table")
    assert {e.name: e.verdict for e in verdict.evaluators} == {
        "steps": "pass", "answer": "pass", "budget": "pass", "too many": "fail"
    }  # fmt: skip
    assert Counter(call.outcome for call in session.calls) == {"ok": 2, "error": 1}
