"""Claude Code's log records (`claude_code.…`), as OpenTelemetry exports them.

Input tokens leave out cached ones. Requests for titles, quotas and the like are not answers. Results are not in the
records. Source: recordings of 2.1.197 with `CLAUDE_CODE_ENABLE_TELEMETRY=1`; its documentation ("Monitoring").
"""

from agentv_stages.model.telemetry import Attributes, LogFact, Telemetry, prompt_of, renamed, said, whole
from agentv_stages.providers.claude.tools import TABLE

_ANSWERS = ("sdk", "repl_main_thread", "agent:", "compact")
_USAGE = {
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_creation_tokens": "gen_ai.usage.cache_write.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cost_usd": "gen_ai.usage.cost",
    "model": "gen_ai.response.model",
    "request_id": "gen_ai.response.id",
    "agent.name": "gen_ai.agent.name",
}
_CALL = {
    "tool_name": "gen_ai.tool.name",
    "tool_use_id": "gen_ai.tool.call.id",
    "tool_input": "gen_ai.tool.call.arguments",
    "error": "gen_ai.tool.call.result",
}


def _read(name: str, attributes: Attributes) -> LogFact | None:
    source = attributes.get("query_source")
    aside = isinstance(source, str) and not source.startswith(_ANSWERS)
    match name:
        case "user_prompt":
            return prompt_of(attributes.get("prompt"), "<REDACTED>")
        case "api_request":
            passed = sum(whole(attributes.get(f"{kind}_tokens")) for kind in ("input", "cache_read", "cache_creation"))
            used = {**renamed(attributes, _USAGE), "gen_ai.usage.input_tokens": passed}
            return LogFact("aside" if aside else "answer", used)
        case "assistant_response" if not aside:
            text = attributes.get("response")
            known = {"gen_ai.response.id": attributes.get("request_id")}
            if isinstance(text, str) and text not in ("", "<REDACTED>"):
                known["gen_ai.output.messages"] = said("assistant", text)
            return LogFact("text", known)
        case "tool_result":
            call = renamed(attributes, _CALL)
            return LogFact("call", call if attributes.get("success") != "false" else call | {"error.type": "error"})
        case "tool_decision" if attributes.get("decision") == "reject":
            return LogFact("denial", renamed(attributes, _CALL))
        case _:
            return None


TELEMETRY = Telemetry("claude_code.", "session.id", TABLE, _read)
