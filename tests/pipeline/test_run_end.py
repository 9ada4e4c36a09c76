"""What `run` left, checked afterwards: the exit code and the verdicts are those that it gave itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.checks.check import check_source, expand, report_json, worth_telling
from agentv_stream.checks.check_text import junit, table
from agentv_stream.checks.live_check import open_checks
from agentv_stream.checks.run_end import run_end
from agentv_stream.checks.spec import load_spec
from agentv_stream.errors import EXIT_FINE, EXIT_RUN, EXIT_VERDICT, worst
from agentv_stream.running.options import RunOptions
from agentv_stream.running.run import run_agent
from agentv_stream.settings import Settings
from support.fake_agents import READ_EDIT, agent, stream
from support.schemas import fits

SPEC = "tests:\n  - id: fix\n    assertions:\n      - {type: %s}\n"
KEPT, BROKEN, WISHED = (
    "forbid, calls: [Write]",
    "forbid, calls: [Edit]",
    "tool-trajectory, mode: any_order, minimums: {Edit: 1}",
)
WHOLE = stream(READ_EDIT)

ENDS: dict[str, tuple[str, bytes, str, dict[str, Any], int]] = {
    "fine": ("say(DATA)", WHOLE, KEPT, {}, EXIT_FINE),
    "an exit code behind a success": ("say(DATA); sys.exit(7)", WHOLE, KEPT, {}, EXIT_RUN),
    "without the stream": ("say(DATA); sys.exit(7)", WHOLE, KEPT, {"save_stream": False}, EXIT_RUN),
    "trace events alone": (
        "say(DATA); sys.exit(7)",
        WHOLE,
        KEPT,
        {"save_stream": False, "dump_traces": True, "elsewhere": True},
        EXIT_RUN,
    ),
    "fail-fast": ("say(DATA); hang()", stream(READ_EDIT, whole=False), BROKEN, {"fail_fast": "report"}, EXIT_VERDICT),
    "timeout": ("say(DATA); hang()", WHOLE, KEPT, {"timeout": 3.0}, EXIT_RUN),
    "text": ("say(b'no such model\\n'); sys.exit(1)", b"", WISHED, {}, EXIT_RUN),
    "text alone": ("say(b'hello\\n')", b"", WISHED, {}, EXIT_VERDICT),
    "nothing": ("sys.exit(1)", b"", WISHED, {}, EXIT_RUN),
}


@pytest.mark.parametrize("name", ENDS)
async def test_a_run_is_judged_afterwards_as_it_was_while_it_ran(tmp_path: Path, name: str) -> None:
    code, data, assertion, more, exit_code = ENDS[name]
    place = tmp_path / "s.yaml"
    place.write_text(SPEC % assertion, encoding="utf-8")
    runs = tmp_path / "runs"
    live = open_checks([place], None, more.pop("fail_fast", None), "fix_", lambda text: None)
    settings = Settings(quiet=True, out=tmp_path / "logs" if more.pop("elsewhere", False) else None)
    options = RunOptions(agent(tmp_path, code, data), "fix", "base", runs, grace=0.3, linger=0.3, **more)
    report = await run_agent(options, settings, 1, live)
    assert report.exit_code == exit_code

    checks = worth_telling([check_source(path, [load_spec(place)]) for path in expand([str(runs)])], [str(runs)])
    (check,) = checks
    assert worst([check.exit_code]) == exit_code
    told = json.loads(report_json(checks))
    fits("check", told)
    given = [(one["verdict"], one["score"]) for one in report.value["verdicts"]]
    assert [(one["verdict"], one["score"]) for one in told["results"][0]["cases"]] == given
    assert (check.status, check.reason) == (report.value["status"], report.value["evidence"].get("reason"))
    assert ("the run ended" in table(checks)) == (b'name="run"' in junit(checks)) == (exit_code == EXIT_RUN)
    if name == "text alone":  # the path is in the line above: the reason has room
        assert "no stream of events: not a log of a known agent: it begins with 'hello'; tried all" in table(checks)


@pytest.mark.parametrize(
    "beside",
    [
        b"[]",
        b"not JSON",
        b'{"schema_version":"agentv_stream.result.v1","status":"error","outputs":{"transcript":null}}',  # of consume
        b'{"schema_version":"other","status":"error","run":{}}',
        b'{"schema_version":"agentv_stream.result.v1","status":"dancing","run":{}}',
    ],
)
def test_what_is_no_result_of_a_run_says_nothing(tmp_path: Path, beside: bytes) -> None:
    (tmp_path / "fix_base_1.stream.jsonl").write_bytes(WHOLE)
    (tmp_path / "fix_base_1.json").write_bytes(beside)
    assert run_end(tmp_path / "fix_base_1.stream.jsonl") is None
    assert expand([str(tmp_path)]) == [tmp_path / "fix_base_1.stream.jsonl"]
