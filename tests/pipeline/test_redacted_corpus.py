"""Over a corpus of recordings, with secrets in their texts: redaction changes no id, no figure and no verdict."""

import json
from pathlib import Path

import pytest

from agentv_stages.redaction.redactor import Redactor, expressions
from agentv_stages.redaction.vault import Vault
from agentv_stream.checks.spec import load_spec
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.redaction.fast_search import fast_search
from support.decoding import read
from support.planted import Planter
from support.recorded_logs import recordings
from support.redacted_facts import facts_of

SPEC = r"""
tests:
  - id: all
    assertions:
      - {type: regex, value: "[A-Za-z0-9]{20}", name: answers with a long word}
      - {type: contains, value: "SERVICE_TOKEN=", name: names a variable}
      - {type: forbid, calls: ["Bash(*ghp_a1B*)", "Bash(* xoxb-*)"], name: no token}
      - {type: forbid, calls: ["Bash(rm *)", "kind:write(*.md)"], name: nothing is removed}
      - {type: "trajectory:tool-args-match", value: {name: Bash, args: {command: "pwd"}}, name: an argument}
      - {type: tool-trajectory, mode: any_order, minimums: {"kind:read": 1, "kind:execute": 2}, name: minimums}
      - {type: tool-trajectory, mode: in_order, expected: [{kind: read}, {kind: write}], name: order}
      - {type: execution-metrics, max_tool_calls: 3, max_turns: 2, max_tokens: 10000, name: limits}
      - {type: max-repeats, max: 1, name: no repeats}
      - {type: repeated-failures, max: 1, name: no failures again}
      - {type: no-progress, max: 2, name: progress}
      - {type: watched-commands, used: [git], name: git}
"""


@pytest.mark.parametrize(
    "folder", ["clients", "features", "samples", "wild", "bobbin", "agtrace", "new-agents", "otlp"]
)
def test_ids_figures_and_verdicts_of_recordings_are_those_of_the_original(folder: str, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    cases = load_spec(tmp_path / "spec.yaml").cases
    may_match = fast_search(expressions())
    seen = replaced = 0
    log = tmp_path / "log.jsonl"
    for path in recordings(folder):
        log.write_bytes(Planter().plant(read(path), 8))
        redactor = Redactor(b"k" * 32, may_match=may_match, vault=Vault())
        try:
            original = facts_of(log, None, cases)
        except (NotALog, EmptyInput):
            continue
        assert json.loads(facts_of(log, redactor, cases)) == json.loads(redactor.hide(original)), path
        seen += 1
        replaced += sum(redactor.counts.values())
    assert seen and replaced > seen
