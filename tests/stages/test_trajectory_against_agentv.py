"""Random cases judged by AgentV's own graders (4.42, from npm) and by ours with `compat: agentv`: the same scores.

Needs Node and AgentV's package: `make judge` installs it; AGENTV_STREAM_AGENTV names its folder.
"""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.model.event import AnyEvent, SessionEnd, TokenUsage
from support.trajectories import Trace, evaluator_of, judge

CASES = 3_000

GRADE = """
import {createInterface} from 'readline';
const m = await import(process.argv[2]);
console.warn = () => {};
const kinds = {'tool-trajectory': m.ToolTrajectoryGrader, 'skill-trigger': m.SkillTriggerGrader,
  'execution-metrics': m.ExecutionMetricsGrader, 'token-usage': m.TokenUsageGrader, 'latency': m.LatencyGrader};
for await (const line of createInterface({input: process.stdin})) {
  const {config, context} = JSON.parse(line);
  const Grader = kinds[config.type];
  if (config.type === 'tool-trajectory') {
    config.argsMatch = config.args_match;
    for (const step of config.expected || []) {
      if (step.args_match !== undefined) step.argsMatch = step.args_match;
      if (step.max_duration_ms !== undefined) step.maxDurationMs = step.max_duration_ms;
    }
  }
  const grader = config.type === 'skill-trigger' ? new Grader(config) : new Grader({config});
  const result = await grader.evaluate(context);
  console.log(JSON.stringify({score: result.score, verdict: result.verdict}));
}
"""

TOOLS = ("a", "b", "c", "Read", "Skill", "Bash")
VALUES = (1, 2, "x", True, None, {"x": 1}, {"x": 1, "y": 2}, [1, 2], "skills/csv/SKILL.md")
KEYS = ("q", "o", "limit", "skill", "file_path", "path")
OUTPUTS = (None, None, "see skills/csv/SKILL.md", {"p": "skills/csv/x"}, "no")
MATCHES: tuple[Any, ...] = ("exact", "superset", "subset", "ignore", ["q"], ["o.x", "limit"], [])


class Maker:
    """Random cases; the same ones each time."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def args(self) -> dict[str, Any] | None:
        chance = self.chance
        if chance.random() < 0.3:
            return None
        return {key: chance.choice(VALUES) for key in chance.sample(KEYS, chance.randint(0, 3))}

    def case(self) -> tuple[dict[str, Any], dict[str, Any], list[AnyEvent]]:
        """Configuration, AgentV's context, our events."""
        chance = self.chance
        calls: list[dict[str, Any]] = []
        trace = Trace().text()
        for _ in range(chance.choice((0, 1, 2, 3, 4, 5, 8, 12))):
            tool, args = chance.choice(TOOLS), self.args()
            ms, output = chance.choice((None, 5, 50, 500)), chance.choice(OUTPUTS)
            told = {"tool": tool, "input": args, "durationMs": ms, "output": output}
            calls.append({key: value for key, value in told.items() if value is not None})
            trace.call(tool, args, ms, output=output, message_id="one")
        context: dict[str, Any] = {"output": [{"role": "assistant", "content": "hi", "toolCalls": calls}]}
        kind = chance.choice(
            ("tool-trajectory",) * 6 + ("skill-trigger", "execution-metrics", "token-usage", "latency")
        )
        if kind == "tool-trajectory":
            return self.trajectory(calls), context, trace.events
        if kind == "skill-trigger":
            skill = chance.choice(("csv", "x", "nope"))
            return {"type": kind, "skill": skill, "should_trigger": chance.random() < 0.6}, context, trace.events
        return self.budget(kind, calls, context, trace), context, trace.events

    def trajectory(self, calls: list[dict[str, Any]]) -> dict[str, Any]:
        chance = self.chance
        mode = chance.choice(("any_order", "in_order", "exact", "superset", "subset"))
        config: dict[str, Any] = {"type": "tool-trajectory", "mode": mode, "expected": []}
        if mode == "any_order":
            config["minimums"] = {tool: chance.randint(0, 3) for tool in chance.sample(TOOLS, chance.randint(0, 3))}
        for _ in range(chance.randint(0, 5)):
            if calls and chance.random() < 0.7:
                call = chance.choice(calls)
                tool, args = call["tool"], call.get("input")
            else:
                tool, args = chance.choice(TOOLS), self.args()
            step: dict[str, Any] = {"tool": tool}
            if args is not None and chance.random() < 0.7:
                step["args"] = args
            if chance.random() < 0.1:
                step["args"] = "any"
            if chance.random() < 0.4:
                step["args_match"] = chance.choice(MATCHES)
            if chance.random() < 0.4:
                step["max_duration_ms"] = chance.choice((5, 10, 100))
            config["expected"].append(step)
        if chance.random() < 0.3:
            config["args_match"] = chance.choice(MATCHES)
        return config

    def budget(self, kind: str, calls: list[dict[str, Any]], context: dict[str, Any], trace: Trace) -> dict[str, Any]:
        chance = self.chance
        if chance.random() < 0.8:
            given, output, cached = chance.randint(0, 50), chance.randint(0, 50), chance.choice((0, 0, 20))
            context["tokenUsage"] = {"input": given, "output": output, "cached": cached}
            usage = TokenUsage(trace.source(), "-0", "k", input=given + cached, output=output, cached=cached)
            trace.events.append(usage)
        cost, ms = chance.choice((None, 0.1, 0.5)), chance.choice((None, 10, 100))
        context |= {key: value for key, value in (("costUsd", cost), ("durationMs", ms)) if value is not None}
        trace.events.append(SessionEnd(trace.source(), "-0", "complete", cost_usd=cost, duration_ms=ms))
        counts: dict[str, int] = {}
        for call in calls:
            counts[call["tool"]] = counts.get(call["tool"], 0) + 1
        context["trace"] = {"eventCount": len(calls), "toolCalls": counts, "errorCount": 0}
        if kind == "latency":
            return {"type": kind, "threshold": chance.choice((5, 10, 50))}
        if kind == "token-usage":
            names = chance.sample(("max_total", "max_input", "max_output"), chance.randint(1, 3))
            return {"type": kind, **{name: chance.randint(1, 100) for name in names}}
        limits = {
            "max_tool_calls": chance.randint(0, 8),
            "max_tokens": chance.randint(0, 90),
            "max_cost_usd": chance.choice((0.05, 0.1, 0.3)),
            "max_duration_ms": chance.choice((5, 10, 50)),
            "target_exploration_ratio": chance.choice((0, 0.3, 0.5, 1)),
        }
        chosen = {name: limit for name, limit in limits.items() if chance.random() < 0.5}
        return {"type": kind, **(chosen or {"max_tool_calls": 3})}


def test_compat_gives_the_scores_of_agentvs_own_graders(tmp_path: Path) -> None:
    package = os.environ.get("AGENTV_STREAM_AGENTV")
    node = shutil.which("node")
    if not package or node is None:
        pytest.skip("needs node, and AGENTV_STREAM_AGENTV to name AgentV's package (make judge)")
    found = sorted(Path(package, "dist").glob("dist-*.js"))
    assert found, f"{package} is no package of AgentV 4.42"
    maker = Maker(1)
    cases = [maker.case() for _ in range(CASES)]
    (tmp_path / "grade.mjs").write_text(GRADE, encoding="utf-8")
    lines = "".join(json.dumps({"config": config, "context": context}) + "\n" for config, context, _ in cases)
    done = subprocess.run(
        [node, str(tmp_path / "grade.mjs"), str(found[0].resolve())],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(theirs) == CASES
    different: list[Any] = []
    for (config, context, events), wanted in zip(cases, theirs, strict=True):
        result = judge(evaluator_of(config, compat=True), events)
        assert result.score is not None
        if abs(result.score - wanted["score"]) > 1e-9 or result.verdict != wanted["verdict"]:
            different.append((config, context, wanted, result.score))
    assert different == []
