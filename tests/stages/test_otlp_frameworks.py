"""What spans of real frameworks have of their own, each case as small as it shows.

Source: recordings of autogen-agentchat 0.7.5, claude-agent-sdk 0.2.189, langchain 1.5.2, llama-index-core 0.14.25,
openai-agents 0.24.0, pydantic-ai 2.68.0, smolagents 1.26.0, strands-agents 1.62.0 and the Vercel AI SDK 6.0.326 with
the instrumentations of OpenInference and OpenLLMetry (0.62.4), against a scripted model.
"""

import json
from typing import Any

from agentv_stages.model.event import MAIN, AssistantText, Reasoning, ToolCall, ToolResult, UserText
from agentv_stream.summary import SessionReader

LLM, TOOL, AGENT, CHAIN = ({"openinference.span.kind": kind} for kind in ("LLM", "TOOL", "AGENT", "CHAIN"))
ANSWER = "llm.output_messages.0.message."
REQUEST = f"{ANSWER}tool_calls.0.tool_call."


def value_of(value: Any) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value_of(value)} for key, value in attributes.items()]


class Spans:
    """Spans of one trace, each within the one that it names as its parent; times are seconds."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def add(self, times: str, name: str, attributes: dict[str, Any], parent: int = 0, **members: Any) -> int:
        """`times` is "start end". Returns the number of the span."""
        start, end = (f"{int(time) * 10**9}" for time in times.split())
        own = len(self.lines) + 1
        span = {
            "traceId": f"{1:032x}", "spanId": f"{own:016x}", "name": name, "startTimeUnixNano": start,
            "endTimeUnixNano": end, "attributes": pairs(attributes),
            "parentSpanId": f"{parent:016x}" if parent else "",
            "events": [{"name": event, "attributes": pairs(a)} for event, a in members.get("events", ())],
            "status": {"code": 2 if members.get("error") else 0},
        }  # fmt: skip
        scope = {"scope": {"name": members.get("scope", "s")}, "spans": [span]}
        self.lines.append(json.dumps({"resourceSpans": [{"scopeSpans": [scope]}]}).encode() + b"\n")
        return own

    def read(self) -> "Read":
        return Read(b"".join(self.lines))


class Read:
    """A session that was read."""

    def __init__(self, data: bytes) -> None:
        reader = SessionReader(iter([data]), "log.otlp.jsonl", messages=True)
        self.events = [event for batch in reader.batches() for event in batch.events]
        self.result = reader.result()
        self.texts = [e.text for e in self.events if isinstance(e, AssistantText) and e.text]
        self.prompts = [e.text for e in self.events if isinstance(e, UserText)]

    def calls(self) -> list[tuple[str, Any, Any, str]]:
        """Name, input, output, outcome."""
        ended = {(r.source.stream, r.call_id): r for r in self.events if isinstance(r, ToolResult)}
        found: list[tuple[str, Any, Any, str]] = []
        for call in self.events:
            if isinstance(call, ToolCall):
                result = ended.get((call.source.stream, call.call_id))
                outcome = result.outcome if result else None
                found.append((call.name, call.input, result.output if result else None, str(outcome)))
        return found

    def streams(self) -> list[tuple[str, bool]]:
        """Each call's name, and whether it is the main agent's."""
        return [(e.name, e.source.stream == MAIN) for e in self.events if isinstance(e, ToolCall)]


def request(name: str, arguments: str, own: str = "c1") -> dict[str, Any]:
    """An answer of OpenInference that asks for a call."""
    function = {f"{REQUEST}function.name": name, f"{REQUEST}function.arguments": arguments}
    return {**LLM, f"{ANSWER}role": "assistant", f"{REQUEST}id": own, **function}


def test_a_call_with_spans_of_the_framework_and_of_its_instrumentation_is_one() -> None:
    spans = Spans()
    root = spans.add("0 9", "host", AGENT)
    spans.add("1 2", "create", request("find", '{"guests": 2}'), root)
    outer = spans.add("3 5", "host.find", {**TOOL, "tool.name": "find", "input.value": '{"guests": 2}',
                                           "output.value": "window"}, root)  # fmt: skip
    own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.id": "c1"}
    spans.add("3 4", "execute_tool find", own, outer)
    assert spans.read().calls() == [("find", {"guests": 2}, "window", "ok")]


def test_a_call_within_a_call_of_another_id_counts_too() -> None:
    spans = Spans()
    root = spans.add("0 9", "host", AGENT)
    own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    outer = spans.add("3 5", "execute_tool find", {**own, "gen_ai.tool.call.id": "c1"}, root)
    spans.add("3 4", "execute_tool find", {**own, "gen_ai.tool.call.id": "c2"}, outer)
    assert len(spans.read().calls()) == 2


def test_calls_without_ids_are_joined_by_their_arguments_before_their_order() -> None:
    spans = Spans()
    root = spans.add("0 9", "host", AGENT)
    second = REQUEST.replace("calls.0", "calls.1")
    more = {f"{second}id": "c2", f"{second}function.name": "book", f"{second}function.arguments": '{"table": "attic"}'}
    spans.add("1 2", "response", request("book", '{"table": "window"}') | more, root)
    for times, table, error in (("3 5", "attic", True), ("4 5", "window", False)):
        made = {**TOOL, "tool.name": "book", "input.value": json.dumps({"table": table}), "output.value": table}
        spans.add(times, "book", made, root, error=error)
    calls = spans.read().calls()
    assert sorted(calls, key=str) == [
        ("book", {"table": "attic"}, "attic", "error"), ("book", {"table": "window"}, "window", "ok")
    ]  # fmt: skip


def test_a_handoff_is_the_call_that_asked_for_it() -> None:
    spans = Spans()
    root = spans.add("0 9", "host", AGENT)
    spans.add("1 2", "response", request("transfer_to_helper", "{}"), root)
    spans.add("3 4", "handoff to helper", TOOL, root)
    assert [call[0] for call in spans.read().calls()] == ["transfer_to_helper"]


def test_what_prepares_a_request_is_no_answer() -> None:
    spans = Spans()
    root = spans.add("0 9", "FunctionAgent.run", CHAIN)
    spans.add("1 2", "OpenAILike._prepare_chat_with_tools", LLM, root)
    spans.add("2 3", "OpenAILike.achat", {**LLM, f"{ANSWER}content": "Done."}, root)
    assert spans.read().result.tool_use_summary["turns"] == 1


def test_reasoning_and_cached_tokens_may_be_among_details() -> None:
    spans = Spans()
    usage = {
        "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.details.reasoning_tokens": 5, "gen_ai.usage.details.cache_read_tokens": 40,
    }  # fmt: skip
    spans.add("1 2", "chat m", usage)
    tokens = spans.read().result.tokens
    assert (tokens["input"], tokens["cached"], tokens["reasoning"]) == (100, 40, 5)


def test_the_vercel_sdk_has_results_as_json_and_thoughts_and_tokens_of_its_own() -> None:
    spans = Spans()
    root = spans.add("0 9", "ai.generateText", {"ai.operationId": "ai.generateText", "ai.usage.inputTokens": 100})
    answer = {
        "ai.operationId": "ai.generateText.doGenerate", "ai.response.text": "I look.", "ai.response.reasoning": "Hm.",
        "ai.response.toolCalls": '[{"toolCallId": "c1", "toolName": "find", "input": "{\\"guests\\": 2}"}]',
        "ai.usage.inputTokens": 100, "ai.usage.inputTokenDetails.cacheReadTokens": 40,
        "ai.usage.outputTokens": 20, "ai.usage.outputTokenDetails.reasoningTokens": 5,
    }  # fmt: skip
    spans.add("1 2", "ai.generateText.doGenerate", answer, root)
    made = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "find", "ai.toolCall.id": "c1"}
    spans.add("3 4", "ai.toolCall", made | {"ai.toolCall.result": '"window, \\"2\\""'}, root)
    session = spans.read()
    assert session.calls() == [("find", {"guests": 2}, 'window, "2"', "ok")]
    assert [e.text for e in session.events if isinstance(e, Reasoning)] == ["Hm."]
    tokens = session.result.tokens
    assert (tokens["input"], tokens["cached"], tokens["output"], tokens["reasoning"]) == (100, 40, 20, 5)


def test_model_calls_below_a_call_are_those_of_a_subagent() -> None:
    spans = Spans()
    root = spans.add("0 9", "host", CHAIN)
    spans.add("1 2", "ChatOpenAI", request("helper", '{"input": "find one"}'), root)
    helper = spans.add("3 7", "helper", {**TOOL, "tool.name": "helper", "input.value": "find one"}, root)
    inner = spans.add("3 7", "helper", CHAIN, helper)
    spans.add("4 5", "ChatOpenAI", request("find", '{"guests": 3}', "c2"), inner)
    spans.add("6 7", "find", {**TOOL, "tool.name": "find", "output.value": "window"}, inner)
    session = spans.read()
    assert session.streams() == [("helper", True), ("find", False)]
    assert session.result.tool_use_summary["turns"] == 1
    assert session.prompts == ["find one"]


def test_an_agent_named_like_an_open_call_is_started_by_it() -> None:
    for beside in (False, True):
        spans = Spans()
        root = spans.add("0 9", "host.run", AGENT)
        spans.add("1 2", "generate", request("helper", '{"task": "find one"}'), root)
        if beside:
            spans.add("3 7", "helper.tool", {**TOOL, "tool.name": "helper", "output.value": "window"}, root)
        agent = spans.add("4 6", "helper.run", {**AGENT, "output.value": "window"}, root)
        spans.add("4 5", "generate", request("find", "{}", "c2"), agent)
        session = spans.read()
        assert session.streams() == [("helper", True), ("find", False)]
        assert session.calls()[0] == ("helper", {"task": "find one"}, "window", "ok")


def test_a_chain_around_a_whole_run_says_how_it_ended() -> None:
    for error in (False, True):
        spans = Spans()
        root = spans.add("0 9", "LangGraph", CHAIN, error=error)
        spans.add("1 2", "ChatOpenAI", {**LLM, f"{ANSWER}content": "Done."}, root)
        assert spans.read().result.status == ("error" if error else "complete")


def test_events_of_a_span_have_messages_in_blocks_and_what_a_call_got_and_gave() -> None:
    use = {"toolUse": {"toolUseId": "c1", "name": "find", "input": {"guests": 2}}}
    back = {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "window"}]}}
    for with_span in (False, True):
        spans = Spans()
        asked = ("gen_ai.user.message", {"content": json.dumps([{"text": "Book a table."}])})
        root = spans.add("0 9", "invoke_agent host", {"gen_ai.operation.name": "invoke_agent"}, events=[asked])
        chosen = ("gen_ai.choice", {"message": json.dumps([{"text": "I look."}, use])})
        spans.add("1 2", "chat", {"gen_ai.operation.name": "chat"}, root, events=[asked, chosen])
        if with_span:
            passed = ("gen_ai.tool.message", {"content": '{"guests": 2}', "id": "c1"})
            gave = ("gen_ai.choice", {"message": json.dumps([{"text": "window"}]), "id": "c1"})
            made = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
            spans.add("3 4", "execute_tool find", made, root, events=[passed, gave])
        later = ("gen_ai.tool.message", {"content": json.dumps([back])})
        done = ("gen_ai.choice", {"message": json.dumps([{"text": "Done."}])})
        spans.add("5 6", "chat", {"gen_ai.operation.name": "chat"}, root, events=[asked, later, done])
        session = spans.read()
        assert session.calls() == [("find", {"guests": 2}, [{"text": "window"}], "ok")]
        assert (session.prompts, session.texts) == (["Book a table."], ["I look.", "Done."])


def test_a_block_with_a_result_says_whether_the_call_failed() -> None:
    for block in (
        {"toolResult": {"toolUseId": "c1", "status": "error", "content": "no"}},
        {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "no"},
    ):
        spans = Spans()
        spans.add("1 2", "chat", {**request("find", "{}"), "gen_ai.operation.name": "chat"})
        said = [{"role": "tool", "content": [block]}, {"role": "user", "content": "go on"}]
        spans.add("3 4", "chat", {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(said)})
        assert spans.read().calls() == [("find", {}, "no", "error")]


def test_contents_in_an_event_of_the_span_itself_are_its_own() -> None:
    spans = Spans()
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}])
    details = ("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": said})
    spans.add("1 2", "chat", {"gen_ai.operation.name": "chat"}, events=[details])
    assert spans.read().texts == ["Done."]


def test_messages_of_nested_model_spans_are_not_mixed() -> None:
    spans = Spans()
    outer = spans.add("1 4", "response", {**LLM, f"{ANSWER}content": "I book.",
                                          **{k.replace("messages.0", "messages.1"): v
                                             for k, v in request("book", "{}").items()}})  # fmt: skip
    spans.add("2 3", "Response", request("book", "{}") | {f"{ANSWER}content": "I book."}, outer)
    assert len(spans.read().calls()) == 1


def test_an_agent_without_spans_of_model_calls_says_what_the_model_did() -> None:
    spans = Spans()
    said = {
        "llm.output_messages.0.message.content.0": "I look.", "llm.token_count.prompt": 460,
        "llm.output_messages.1.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": "find",
        "llm.output_messages.2.message.content.0": "Done.", "llm.token_count.completion": 4,
    }  # fmt: skip
    root = spans.add("0 9", "query", AGENT | said, scope="openinference.instrumentation.claude_agent_sdk")
    spans.add("3 4", "find", {**TOOL, "tool.name": "find", "tool.id": "c1"}, root, error=True,
              events=[("exception", {"exception.message": "no such tool"})])  # fmt: skip
    session = spans.read()
    assert session.calls() == [("find", {}, "no such tool", "error")]
    assert session.texts == ["I look.", "Done."]
    tokens = session.result.tokens  # the SDK's sum of output tokens is that of messages that have only begun
    assert (tokens["input"], tokens["output"], tokens["output_at_least"]) == (460, None, 4)


def test_a_task_that_names_a_tool_is_a_call() -> None:
    output = {"blocks": [{"text": "there is no attic"}], "raw_output": "there is no attic", "is_error": True}
    spans = Spans()
    root = spans.add("0 9", "FunctionAgent.workflow", {"traceloop.span.kind": "workflow"})
    task = {
        "traceloop.span.kind": "task", "traceloop.entity.name": "BaseWorkflowAgent.task", "tool.name": "book",
        "tool.arguments": '{"table": "attic"}',
        "traceloop.entity.output": json.dumps({"tool_id": "c1", "tool_output": output}),
    }  # fmt: skip
    spans.add("1 2", "BaseWorkflowAgent.task", task, root)
    assert spans.read().calls() == [("book", {"table": "attic"}, "there is no attic", "error")]
