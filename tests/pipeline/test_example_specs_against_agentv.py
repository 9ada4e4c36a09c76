"""The evaluators of AgentV's example specs score five agents' sessions as AgentV's own graders score their transcripts.

AgentV reads the transcripts that `consume` writes, and sees the rows of sub-agents; `agentv_stream.check` reads the
logs, with `compat: agentv` and `streams: all`. The transcripts' `input` includes the tokens read from and written to
a cache; AgentV's graders are given it without them, as docs/trajectory.md says of `compat: agentv`.
Needs the corpus, Node, and AgentV's package: `make judge` installs it; AGENTV_STREAM_AGENTV names its folder.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import agentv_stream
from agentv_stages.trajectory.json_values import is_list, is_object
from support.consuming import LIMIT_SECONDS, consume
from support.decoding import corpus

AGENTS = ["claude", "codex", "copilot", "gemini", "opencode"]
SCENARIOS = ["s1", "s2", "s4", "s7", "s11"]
KINDS = {"tool-trajectory", "execution-metrics", "token-usage", "latency", "cost", "skill-trigger"}
GRADE = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const m = await import(pathToFileURL(process.argv[2]).href);
console.warn = () => {};
const kinds = {"tool-trajectory": m.ToolTrajectoryGrader, "skill-trigger": m.SkillTriggerGrader,
  "execution-metrics": m.ExecutionMetricsGrader, "token-usage": m.TokenUsageGrader, "latency": m.LatencyGrader,
  "cost": m.CostGrader};
const {configs, transcripts} = JSON.parse(readFileSync(0, "utf8"));
for (const {path, cache_write} of transcripts) {
  const [group] = m.groupTranscriptJsonLines(await m.readTranscriptJsonl(path));
  const usage = group.tokenUsage;
  const input = usage && usage.input - (usage.cached ?? 0) - (cache_write ?? 0);
  const context = {output: group.messages, trace: m.computeTraceSummary(group.messages).trace,
    tokenUsage: usage && {...usage, input},
    costUsd: group.costUsd ?? undefined, durationMs: group.durationMs ?? undefined};
  const scores = [];
  for (const given of configs) {
    const config = {...given, argsMatch: given.args_match, expected: (given.expected ?? []).map(
      (step) => ({...step, argsMatch: step.args_match, maxDurationMs: step.max_duration_ms}))};
    const Grader = kinds[config.type];
    const grader = config.type === "skill-trigger" ? new Grader(config) : new Grader({config});
    const {score, verdict} = await grader.evaluate(context);
    scores.push([score, verdict]);
  }
  console.log(JSON.stringify(scores));
}
"""


def evaluators(value: Any) -> Iterator[dict[str, Any]]:
    """Each evaluator in a spec, however deep."""
    if is_object(value):
        if value.get("type") in KINDS:
            yield dict(value)
        value = list(value.values())
    if is_list(value):
        for member in value:
            yield from evaluators(member)


def example_evaluators() -> list[dict[str, Any]]:
    """The different evaluators of all example specs, in the order of their files."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(corpus("agentv/specs").rglob("*.y*ml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            for config in evaluators(document):
                bare = {key: value for key, value in config.items() if key not in ("name", "weight", "required")}
                found.setdefault(json.dumps(bare, sort_keys=True), bare)
    return list(found.values())


def grader_module() -> Path:
    package = os.environ.get("AGENTV_STREAM_AGENTV")
    if not package or shutil.which("node") is None:
        pytest.skip("needs node, and AGENTV_STREAM_AGENTV to name AgentV's package (make judge)")
    return sorted(Path(package, "dist").glob("dist-*.js"))[0].resolve()


def test_example_evaluators_score_sessions_as_agentv_does(tmp_path: Path) -> None:
    module = grader_module()
    configs = example_evaluators()
    assert len(configs) > 20
    logs = [
        log
        for agent in AGENTS
        for scenario in SCENARIOS
        if (log := corpus(f"clients/{agent}") / scenario / "stream.jsonl").is_file()
    ]
    assert len(logs) > 15
    transcripts: list[dict[str, Any]] = []
    for number, log in enumerate(logs):
        folder = tmp_path / str(number)
        folder.mkdir()
        (path,) = consume(folder, log, "--out", "o").transcripts()
        transcripts.append({"path": str(path), "cache_write": agentv_stream.read(log).tokens.cache_write})
    (tmp_path / "grade.mjs").write_text(GRADE, encoding="utf-8")
    done = subprocess.run(
        ["node", str(tmp_path / "grade.mjs"), str(module)],
        input=json.dumps({"configs": configs, "transcripts": transcripts}),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=True,
    )
    spec = tmp_path / "examples.eval.yaml"
    spec.write_text(json.dumps({"compat": "agentv", "streams": "all", "tests": [{"id": "all", "assertions": configs}]}))
    scored = 0
    different: list[Any] = []
    for log, line in zip(logs, done.stdout.splitlines(), strict=True):
        (case,) = agentv_stream.check(log, spec, case="all")
        for config, ours, (score, verdict) in zip(configs, case.evaluators, json.loads(line), strict=True):
            scored += 1
            if ours.score is None or abs(ours.score - score) > 1e-9 or ours.verdict != verdict:
                different.append((log.parts[-3:], config, ours.score, ours.verdict, score, verdict))
    assert different == [], "\n".join(map(str, different))
    assert scored == len(configs) * len(logs)
