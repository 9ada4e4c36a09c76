"""Debian's Prometheus scrapes a running tail; the dashboard and the alert rules in examples/ find their metrics."""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import summarize
from support.growing_logs import claude_records

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
RECORDINGS = [EXAMPLES / "claude.jsonl", EXAMPLES / "codex.jsonl"]
RULES = EXAMPLES / "monitoring" / "prometheus-alerts.yaml"
DASHBOARD = EXAMPLES / "monitoring" / "grafana-dashboard.json"
SECRET = b"ghp_" + b"a1B2c3D4e5" * 3 + b"f6G7h8"
SPEC = "tests:\n  - id: short\n    assertions:\n      - {type: max-turns, max: 1}\n"
WAIT_SECONDS = 60
STEP_SECONDS = 0.2

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="Prometheus is not installed (apt-get install prometheus)",
)


def get(address: str) -> str:
    with contextlib.closing(urllib.request.urlopen(address, timeout=10)) as reply:
        text: str = reply.read().decode()
    return text


def until(check: Callable[[], Any], what: str) -> Any:
    """The first value of `check` that is true; servers that do not answer yet are asked again."""
    pause = threading.Event()
    for _ in range(round(WAIT_SECONDS / STEP_SECONDS)):
        with contextlib.suppress(OSError):
            if found := check():
                return found
        pause.wait(STEP_SECONDS)
    raise AssertionError(f"not in {WAIT_SECONDS} s: {what}")


def session(model: bytes, turns: int) -> list[bytes]:
    """Lines of a session with one failed call and a secret."""
    lines = [line + b"\n" for line in claude_records("aaaa-1", turns)]
    lines[3] = lines[3].replace(b'"tool_use_id"', b'"is_error": true, "tool_use_id"')
    return [line.replace(b"claude-x", model).replace(b"please work", b"use " + SECRET) for line in lines]


class Scraped:
    """A tail with metrics and a Prometheus that scrapes it every second."""

    def __init__(self, folder: Path, tail: str, prometheus: str) -> None:
        self.folder, self.tail, self.prometheus = folder, tail, prometheus

    def query(self, expression: str) -> list[dict[str, Any]]:
        words = urllib.parse.urlencode({"query": expression})
        answer = json.loads(get(f"{self.prometheus}/api/v1/query?{words}"))
        assert answer["status"] == "success", expression
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def value(self, expression: str) -> float:
        return sum(float(sample["value"][1]) for sample in self.query(expression))


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    """A session is written in two parts, and each is scraped: rates need two samples."""
    folder = tmp_path_factory.mktemp("prometheus")
    logs = folder / "logs"
    logs.mkdir()
    (folder / "spec.yaml").write_text(SPEC, encoding="utf-8")
    parts = {logs / "aaaa-1.jsonl": (session(b"claude-sonnet-4-5", 8), 13)}
    for recording in RECORDINGS:  # one reports its cost, one its reasoning
        lines = recording.read_bytes().splitlines(keepends=True)
        parts[logs / recording.name] = (lines, len(lines) // 2)
    for log, (lines, half) in parts.items():
        log.write_bytes(b"".join(lines[:half]) + b"not json\n")
    command = [sys.executable, "-m", "agentv_stream", "tail", str(logs), "--out", str(folder / "out"), "--redact"]
    command += [
        "--state",
        str(folder / "state"),
        "--metrics",
        "0",
        "--settle",
        "0",
        "--check",
        str(folder / "spec.yaml"),
    ]
    with contextlib.ExitStack() as stack:
        tail = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        stack.callback(tail.wait)
        stack.callback(tail.terminate)
        assert tail.stderr is not None
        stack.callback(tail.stderr.close)
        served = next(line for line in tail.stderr if "metrics are served" in line)
        target = served.rpartition("http://")[2].partition("/")[0]
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "agentv-stream", "static_configs": [{"targets": [target]}]}],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
        server = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=error",
            ]
        )
        stack.callback(server.wait)
        stack.callback(server.terminate)
        found = Scraped(folder, f"http://{target}", f"http://127.0.0.1:{port}")
        until(lambda: found.value("agentv_stream_faults_total") == len(parts), "the first parts are scraped")
        for log, (lines, half) in parts.items():
            with log.open("ab") as file:
                file.writelines(lines[half:])
        ended = 'agentv_stream_sessions_ended_total{status="complete"}'
        until(lambda: found.value(ended) == len(RECORDINGS), "the second parts are scraped")
        yield found


@needs_prometheus
def test_what_was_read_arrives(scraped: Scraped) -> None:
    results = [summarize(recording) for recording in RECORDINGS]
    tokens = sum((result.tokens.input or 0) + (result.tokens.output or 0) for result in results)
    assert scraped.value("sum(agentv_stream_tokens_total)") == tokens + sum(10 + 20 + turn for turn in range(8))
    (sample,) = scraped.query('agentv_stream_tokens_total{type="output",model="claude-sonnet-4-5"}')
    assert (sample["metric"]["provider"], sample["value"][1]) == ("claude", str(sum(20 + turn for turn in range(8))))
    assert scraped.value("agentv_stream_reasoning_tokens_total") == sum(r.tokens.reasoning or 0 for r in results)
    assert scraped.value("agentv_stream_reported_cost_usd_total") == sum(r.cost_usd or 0 for r in results)
    calls = sum(result.tool_use_summary["total_tool_calls"] for result in results) + 8
    assert scraped.value("agentv_stream_tool_calls_total") == calls
    assert scraped.value('agentv_stream_tool_calls_total{outcome="error"}') >= 1
    assert scraped.value('agentv_stream_tool_call_duration_seconds_count{kind="read"}') >= 8
    assert scraped.value("agentv_stream_redactions_total") >= 1
    assert scraped.value('agentv_stream_verdicts_total{case="short",verdict="fail"}') == 3
    assert scraped.value("agentv_stream_build_info") == 1


@needs_prometheus
def test_promtool_finds_nothing_wrong(scraped: Scraped) -> None:
    page = get(f"{scraped.tail}/metrics")
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = subprocess.run(["promtool", "check", "rules", str(RULES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_prometheus
def test_every_rule_is_evaluated(scraped: Scraped) -> None:
    def evaluated() -> list[dict[str, Any]]:
        groups = json.loads(get(f"{scraped.prometheus}/api/v1/rules"))["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        return rules if all(rule["health"] != "unknown" for rule in rules) else []

    rules = until(evaluated, "all rules are evaluated")
    assert {rule["name"]: rule.get("lastError", "") for rule in rules if rule["health"] != "ok"} == {}


def queries() -> list[tuple[str, str]]:
    panels = json.loads(DASHBOARD.read_bytes())["panels"]
    return [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]


@needs_prometheus
@pytest.mark.parametrize(("title", "expression"), queries())
def test_every_query_of_the_dashboard_finds_something(title: str, expression: str, scraped: Scraped) -> None:
    shown = expression.replace("$__rate_interval", "5m").replace("$instance", ".*").replace("$provider", ".*")
    assert "$" not in shown
    if "estimated_cost_usd" in expression:
        pytest.importorskip("genai_prices", reason="the extra prices is not installed")
    until(lambda: scraped.query(shown), title)


def test_the_dashboard_asks_only_for_metrics_that_are_documented() -> None:
    documented = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    for _, expression in queries():
        for word in expression.split("agentv_stream_")[1:]:
            name = word.partition("{")[0].removesuffix("_bucket")
            assert f"`{name}" in documented, name
