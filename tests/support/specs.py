"""Strategies for random trajectories and evaluators over small alphabets, so that they meet often."""

import json
from typing import Any

from hypothesis import strategies as st

from agentv_stages.model.event import AnyEvent, SessionEnd, TokenUsage, ToolCall
from support.trajectories import Trace

TOOLS = ("Read", "Edit", "Bash", "Skill", "a")
ARGS = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from(("q", "o", "skill")), st.sampled_from((1, 2, "x", {"x": 1})), max_size=2),
)


@st.composite
def traces(draw: st.DrawFn) -> list[AnyEvent]:
    """Calls, results in any order (or never), texts, usage and ends, on two streams."""
    trace = Trace()
    code = st.sampled_from((None, 0, 1))
    open_calls: list[ToolCall] = []
    for _ in range(draw(st.integers(0, 14))):
        what = draw(st.sampled_from(("call", "call", "call", "result", "text", "usage", "end")))
        stream = draw(st.sampled_from(("main", "main", "main", "sidechain:s")))
        if what == "call":
            command = draw(st.sampled_from((None, "rm x", "cat skills/csv/SKILL.md", "bobbin find y")))
            trace.call(draw(st.sampled_from(TOOLS)), draw(ARGS), result=False, stream=stream, command=command)
            made = trace.events[-1]
            assert isinstance(made, ToolCall)
            open_calls.append(made)
        elif what == "result" and open_calls:
            call = open_calls.pop(draw(st.integers(0, len(open_calls) - 1)))
            output = draw(st.sampled_from((None, "ok", "skills/csv/SKILL.md")))
            trace.result(
                call, draw(st.sampled_from((None, 5, 50))), output, draw(st.sampled_from(("ok", "error"))), draw(code)
            )
        elif what == "text":
            trace.text("hello", stream=stream)
        elif what == "usage":
            number = draw(st.integers(0, 50))
            scope = draw(st.sampled_from(("call", "session")))
            trace.events.append(TokenUsage(trace.source(stream), "-0", str(number), scope, input=number, output=number))  # type: ignore[arg-type]  # a literal, widened by the strategy
        elif what == "end":
            cost = draw(st.sampled_from((None, 0.1, 0.6)))
            trace.events.append(SessionEnd(trace.source(), "-0", "complete", cost_usd=cost, duration_ms=30))
    return trace.events


@st.composite
def endings(draw: st.DrawFn) -> dict[str, Any]:
    """How a call must have ended, and on which stream it must be."""
    ending: dict[str, Any] = {}
    if draw(st.booleans()):
        ending["outcome"] = draw(st.sampled_from(("ok", "error", ["error", "unpaired"])))
    if draw(st.booleans()):
        ending["max_ms"] = draw(st.sampled_from((10, 100)))
    if draw(st.booleans()):
        ending["exit_code"] = draw(st.sampled_from((0, [0, 1])))
    if draw(st.booleans()):
        ending["stream"] = draw(st.sampled_from(("main", "sub", "sidechain:*")))
    return ending


@st.composite
def steps(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Expected steps of tool-trajectory."""
    out: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 4))):
        step: dict[str, Any] = {"tool": draw(st.sampled_from(TOOLS))}
        args = draw(ARGS)
        if args is not None:
            step["args"] = args
            step["args_match"] = draw(st.sampled_from(("exact", "superset", "subset", "ignore", ["q"], ["o.x"])))
        if draw(st.booleans()):
            step["max_duration_ms"] = draw(st.sampled_from((10, 100)))
        if draw(st.integers(0, 3)) == 0:
            step |= draw(endings())
        out.append(step)
    return out


@st.composite
def forbidden(draw: st.DrawFn) -> dict[str, Any]:
    return {"call": draw(st.sampled_from(("Read", "Bash", "kind:write"))), **draw(endings())}


AGGREGATORS = ("weighted_average", "minimum", "maximum", "threshold", "all_or_nothing")


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """Configurations of evaluators of every type that looks at a trajectory, some of them in (nested) composites."""
    if draw(st.integers(0, 3)):
        return draw(_alone())
    member = _alone() if draw(st.booleans()) else configs()
    members = draw(st.lists(member, min_size=1, max_size=3))
    for one in members:
        if draw(st.booleans()):
            one["required"] = draw(st.sampled_from((True, False, 0.5)))
    config: dict[str, Any] = {"type": "composite", "assertions": members}
    config["aggregator"] = draw(st.sampled_from(AGGREGATORS))
    if draw(st.booleans()):
        config["negate"] = True
    if draw(st.booleans()):
        config["threshold"] = draw(st.sampled_from((0, 0.3, 1.0)))
    return config


@st.composite
def _alone(draw: st.DrawFn) -> dict[str, Any]:
    mode = st.sampled_from(("any_order", "in_order", "exact", "superset", "subset"))
    config: dict[str, Any] = draw(
        st.one_of(
            st.fixed_dictionaries({"type": st.just("tool-trajectory"), "mode": mode, "expected": steps()}),
            st.fixed_dictionaries(
                {
                    "type": st.just("tool-trajectory"),
                    "mode": st.just("any_order"),
                    "minimums": st.dictionaries(
                        st.sampled_from(TOOLS), st.one_of(st.integers(0, 3), endings()), max_size=3
                    ),
                }
            ),
            st.fixed_dictionaries(
                {"type": st.just("skill-trigger"), "skill": st.just("csv"), "should_trigger": st.booleans()}
            ),
            st.fixed_dictionaries(
                {"type": st.sampled_from(("skill-used", "not-skill-used")), "value": st.sampled_from(("csv", "x"))}
            ),
            st.fixed_dictionaries(
                {
                    "type": st.just("trajectory:tool-used"),
                    "value": st.sampled_from(("Read", "a*", {"name": "Read", "max": 1})),
                    "inverse": st.booleans(),
                }
            ),
            st.fixed_dictionaries(
                {
                    "type": st.just("trajectory:tool-sequence"),
                    "value": st.fixed_dictionaries(
                        {
                            "steps": st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3),
                            "mode": st.sampled_from(("in_order", "exact")),
                        }
                    ),
                }
            ),
            st.fixed_dictionaries(
                {
                    "type": st.just("execution-metrics"),
                    "max_tool_calls": st.integers(0, 6),
                    "max_tokens": st.integers(0, 80),
                    "max_cost_usd": st.just(0.5),
                    "target_exploration_ratio": st.just(0.5),
                }
            ),
            st.fixed_dictionaries({"type": st.just("max-turns"), "max": st.integers(0, 6)}),
            st.fixed_dictionaries({"type": st.just("first-edit-turn"), "max": st.integers(0, 6)}),
            st.fixed_dictionaries({"type": st.just("forbid"), "calls": st.just(["Bash(rm *)"])}),
            st.fixed_dictionaries({"type": st.just("forbid"), "calls": st.lists(forbidden(), min_size=1, max_size=2)}),
            st.fixed_dictionaries({"type": st.just("watched-commands"), "used": st.just(["bobbin"])}),
            st.fixed_dictionaries({"type": st.just("max-repeats"), "max": st.integers(1, 3)}),
            st.fixed_dictionaries({"type": st.just("contains"), "value": st.just("hello")}),
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from(("cycles", "repeated-failures", "no-progress")),
                    "max": st.integers(1, 2),
                }
            ),
        )
    )
    if draw(st.booleans()):
        config["negate"] = True
    if any(f'"{key}"' in json.dumps(config) for key in ("outcome", "exit_code", "max_ms", "stream")):
        config["compat"] = False  # AgentV does not have them
    if draw(st.booleans()):
        config["streams"] = "all"
    if draw(st.booleans()):
        config["threshold" if config["type"] != "latency" else "min_score"] = draw(st.sampled_from((0.3, 0.5, 1.0)))
    return config
