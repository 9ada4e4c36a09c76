"""docs/adding-a-provider.md, done as it says: a made-up agent, installed as a plug-in through an entry point."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.consuming import finished

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> dict[str, str]:
    """The named blocks of the page: file name -> text."""
    page = (ROOT / "docs" / "adding-a-provider.md").read_text(encoding="utf-8")
    return dict(BLOCK.findall(page))


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like site-packages in which the page's distribution is installed."""
    site = tmp_path_factory.mktemp("site")
    found = blocks()
    for name, text in found.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    points = tomllib.loads(found["pyproject.toml"])["project"]["entry-points"]
    info = site / "abacus_agent-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: abacus-agent\nVersion: 0.3\n", encoding="utf-8")
    lines = [
        line
        for group, entries in points.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return site


def run(
    plugin: Path, *arguments: str, stdin: bytes | None = None, cwd: Path, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, because plug-ins are looked for once in a process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AGENTV_STREAM_")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(plugin), os.environ.get("PYTHONPATH"))))
    if arguments[:2] == PROGRAM and not (plugin / "agentv_stages").exists():  # of the project's own code
        return finished(*arguments[2:], folder=cwd, given=stdin, environ=environment | (variables or {}))
    command = [sys.executable, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, env=environment, timeout=60, check=False)


PROGRAM = ("-m", "agentv_stream")


def test_consume_detects_decodes_and_counts(plugin: Path, tmp_path: Path) -> None:
    recording = (plugin / "abacus.jsonl").read_bytes()
    done = run(plugin, *PROGRAM, "consume", "--out", "out", "--stats", "stats.json", stdin=recording, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    result: dict[str, Any] = json.loads((tmp_path / "stats.json").read_bytes())
    assert result["session"] == {
        "id": "ab-7",
        "provider": "abacus",
        "dialect": "abacus-json",
        "model": "bead-2",
        "version": "0.3",
        "cwd": "/home/ada/orchard",
        "started_at": "2026-03-02T09:30:00.000Z",
    }
    assert result["status"] == "complete"
    assert (result["unknown"], result["faults"], result["ignored"]) == ({}, {}, {"tick": 1})
    summary = result["tool_use_summary"]
    assert summary["tool_sequence"] == ["Read", "Edit", "Bash"]
    assert summary["kind_sequence"] == ["read", "write", "read"]
    assert summary["turns"] == 3
    assert summary["first_edit_turn"] == 2
    assert summary["by_outcome"]["error"] == 1
    assert (result["tokens"]["input"], result["tokens"]["cached"], result["tokens"]["output"]) == (1500, 600, 120)
    assert result["losses"] == ["cost"]
    (transcript,) = (tmp_path / "out").glob("*.transcript.jsonl")
    rows = [json.loads(line) for line in transcript.read_bytes().splitlines()]
    assert [row["role"] for row in rows] == ["user", "assistant", "assistant", "assistant"]
    assert rows[1]["tool_calls"][0]["input"] == {"path": "slug.py", "file_path": "slug.py"}


def test_the_api_and_the_tables_know_it_too(plugin: Path, tmp_path: Path) -> None:
    code = (
        "import json, agentv_stream as a; "
        "adapter = a.create_adapter('abacus-cli'); "
        'line = b\'{"abacus":"do","answer":1,"call":"c","name":"ext/docs/lookup","with":{}}\'; '
        "(call,) = a.decode_record('abacus', line); "
        "print(json.dumps([adapter.classify('change_file'), call.tool, call.origin, call.server]))"
    )
    done = run(plugin, "-c", code, cwd=tmp_path)
    assert json.loads(done.stdout) == [["system", "write"], "mcp__docs__lookup", "mcp", "docs"], done.stderr.decode()
    table = run(plugin, *PROGRAM, "tools", "--provider", "abacus", "--json", cwd=tmp_path)
    assert {row["native"] for row in json.loads(table.stdout)} == {"open_file", "change_file", "sh"}


def test_without_the_plugin_the_recording_is_nobodys(plugin: Path, tmp_path: Path) -> None:
    recording = (plugin / "abacus.jsonl").read_bytes()
    done = run(tmp_path, *PROGRAM, "consume", "--out", "out", stdin=recording, cwd=tmp_path)
    assert done.returncode == 4
    assert b"not a log of a known agent" in done.stderr


def test_the_page_names_all_that_an_installer_needs(plugin: Path, tmp_path: Path) -> None:
    assert {"name", "version"} <= tomllib.loads(blocks()["pyproject.toml"])["project"].keys()
    told = run(plugin, *PROGRAM, "providers", "--provider", "abacus", cwd=tmp_path).stdout.decode()
    assert told.splitlines()[0] == "Abacus (abacus, also abacus-cli)"
    assert "    from: abacus run --json PROMPT\n    versions: 0.3\n    end: `bye`\n" in told


TARGETS = "targets:\n  - {name: mine, provider: abacus, model: bead-2, executable: ./abacus}\n"


def run_target(site: Path, folder: Path) -> dict[str, Any]:
    """The result of a run of a target of that kind; the agent prints the page's recording."""
    program = folder / "abacus"
    program.write_text(f'#!/bin/sh\n[ "$*" = "run --json -m bead-2 Fix it." ] && cat {site / "abacus.jsonl"}\n')
    program.chmod(0o755)
    (folder / "targets.yaml").write_text(TARGETS)
    words = ("run", "--targets", "targets.yaml", "--target", "mine", "--prompt", "Fix it.", "--out", "r", "-q")
    done = run(site, *PROGRAM, *words, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    (path,) = (folder / "r").glob("*.json")
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


def test_a_target_of_its_kind_is_run(plugin: Path, tmp_path: Path) -> None:
    value = run_target(plugin, tmp_path)
    assert (value["session"]["provider"], value["status"], value["tool_use_summary"]["turns"]) == (
        "abacus",
        "complete",
        3,
    )


def test_what_it_does_over_acp_is_a_fact_of_its_own(plugin: Path, tmp_path: Path) -> None:
    """By its table `open_file` is a Read, and a plan stands for its todo tool."""
    site = tmp_path / "site"
    shutil.copytree(plugin, site)
    package = site / "abacus_agent" / "__init__.py"
    text = package.read_text(encoding="utf-8")
    habits = (
        "tools=TABLE,\n    acp=AcpHabits(marks=('abacus',), plan_tool='tally', searches=frozenset(('open_file',))),"
    )
    assert "tools=TABLE," in text
    text = "from agentv_stages.model.acp import AcpHabits\n" + text.replace("tools=TABLE,", habits)
    package.write_text(text, encoding="utf-8")
    updates: list[dict[str, Any]] = [
        {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "open_file", "kind": "read", "status": "completed"},
        {"sessionUpdate": "plan", "entries": []},
    ]
    info = {"protocolVersion": 1, "agentInfo": {"name": "abacus-acp", "version": "1"}}
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "result": info},
        *({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": u}} for u in updates),
        {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}},
    ]
    recorded = "\n".join(map(json.dumps, lines)).encode()
    done = run(site, *PROGRAM, "consume", "--out", "out", "--stats", "stats.json", stdin=recorded, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    result = json.loads((tmp_path / "stats.json").read_bytes())
    assert result["tool_use_summary"]["by_tool"] == {"Read": 1, "tally": 1}


def test_a_provider_of_the_project_touches_its_package_and_its_name(plugin: Path, tmp_path: Path) -> None:
    """With nothing else changed it is detected, decoded, listed, and started for a target."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "stages" / "agentv_stages", site / "agentv_stages", ignore=shutil.ignore_patterns("*.pyc"))
    providers = site / "agentv_stages" / "providers"
    shutil.copytree(plugin / "abacus_agent", providers / "abacus", ignore=shutil.ignore_patterns("__pycache__"))
    for module in (providers / "abacus").glob("*.py"):
        module.write_text(module.read_text().replace("abacus_agent", "agentv_stages.providers.abacus"))
    names = providers / "__init__.py"
    before = names.read_text()
    names.write_text(before.replace('"generic"),', '"generic", "abacus"),'))
    assert names.read_text() != before
    shutil.copy(plugin / "abacus.jsonl", site)
    assert run_target(site, tmp_path)["session"]["provider"] == "abacus"
    told = run(site, *PROGRAM, "providers", "--provider", "abacus", cwd=tmp_path).stdout.decode()
    assert told.startswith("Abacus (abacus, also abacus-cli)\n  abacus-json  (live)\n    from: abacus run --json")
    code = "from agentv_stream.running.prompt import prompt_of; print(prompt_of(['npx', 'abacus', 'run', 'Fix it.']))"
    assert run(site, "-c", code, cwd=tmp_path).stdout == b"Fix it.\n"
    recorded = (plugin / "abacus.jsonl").read_bytes()
    consumed = run(site, *PROGRAM, "consume", "--out", "out", stdin=recorded, cwd=tmp_path)
    assert b"[abacus bead-2]" in consumed.stderr


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise RuntimeError('out of beads')", "RuntimeError: out of beads"),
        ("PROVIDER = 3", "no Provider"),
        ("from agentv_stages.providers.claude import PROVIDER", "there is a provider claude already"),
    ],
)
def test_a_plugin_that_is_broken_is_left_out(plugin: Path, tmp_path: Path, code: str, told: str) -> None:
    """It ended every reading of a log that no provider of ours knows, and each listing of sessions."""
    site = tmp_path / "site"
    shutil.copytree(plugin, site)
    (site / "abacus_agent" / "__init__.py").write_text(code, encoding="utf-8")
    (tmp_path / "notes.jsonl").write_bytes(b"{}\n")
    done = run(site, *PROGRAM, "stats", "notes.jsonl", str(ROOT / "examples" / "codex.jsonl"), cwd=tmp_path)
    assert done.returncode == 4
    assert b"notes.jsonl: not a log of a known agent" in done.stderr
    left_out = "the plug-in provider abacus (abacus_agent:PROVIDER, of abacus-agent 0.3) is left out: "
    assert left_out in done.stderr.decode()
    assert told in done.stderr.decode()
    assert b"codex" in done.stdout


def test_a_detection_that_fails_is_no_failure_of_the_log(plugin: Path, tmp_path: Path) -> None:
    """A KeyError for a record of somebody else ended the reading of every log that is not recognised at once."""
    site = tmp_path / "site"
    shutil.copytree(plugin, site)
    package = site / "abacus_agent" / "__init__.py"
    text = package.read_text(encoding="utf-8")
    found = 'return 1.0 if head and all(isinstance(line.get("abacus"), str) for line in head) else 0.0'
    assert found in text
    package.write_text(text.replace(found, 'return 1.0 if head[0]["abacus"] else 0.0'), encoding="utf-8")
    (tmp_path / "notes.jsonl").write_bytes(b'{"note":"buy apples"}\n')
    done = run(site, *PROGRAM, "stats", "notes.jsonl", str(site / "abacus.jsonl"), "--json", cwd=tmp_path)
    assert done.returncode == 4
    assert b"notes.jsonl: not a log of a known agent" in done.stderr
    assert "the detection of the plug-in dialect abacus-json failed: KeyError: 'abacus'" in done.stderr.decode()
    assert b"abacus" in done.stdout


def test_a_record_for_which_the_decoder_fails_is_a_fault(plugin: Path, home: Path, tmp_path: Path) -> None:
    """A KeyError ended the listing of all sessions, of every agent."""
    site = tmp_path / "site"
    shutil.copytree(plugin, site)
    changes = {
        "decoder.py": ('elif kind == "spent" and', 'elif kind == "spent" and {}["made"] and'),
        "__init__.py": ("tools=TABLE,", "tools=TABLE, companions=lambda path, folder: {}[path],"),
    }
    for name, (before, after) in changes.items():
        module = site / "abacus_agent" / name
        text = module.read_text(encoding="utf-8")
        assert before in text
        module.write_text(text.replace(before, after), encoding="utf-8")
    listed = at_home(site, home, "sessions", "--json")
    assert (listed.returncode, json.loads(listed.stdout)["session_id"]) == (0, "ab-7"), listed.stderr.decode()
    assert b"`companions` of the plug-in provider abacus failed: KeyError in __init__.py:" in listed.stderr
    counted = at_home(site, home, "stats", "ab-7", "--json", "-")
    total = json.loads(counted.stdout)["total"]
    assert (total["tool_calls"], total["tokens"]["input"], total["faults"]) == (3, None, {"schema": 1})
    assert b"the decoder of the plug-in dialect abacus-json failed: KeyError in decoder.py:" in listed.stderr


@pytest.mark.parametrize("method", ["__init__(self, context: DecodeContext)", "flush(self, batch: Batch)"])
def test_a_decoder_that_fails_ends_no_other_reading(plugin: Path, home: Path, tmp_path: Path, method: str) -> None:
    site = tmp_path / "site"
    shutil.copytree(plugin, site)
    module = site / "abacus_agent" / "decoder.py"
    head = f"def {method} -> None:\n"
    text = module.read_text(encoding="utf-8")
    assert head in text
    module.write_text(text.replace(head, head + "        raise KeyError('beads')\n"), encoding="utf-8")
    counted = at_home(site, home, "stats", "ab-7", str(ROOT / "examples" / "codex.jsonl"), "--json", "-")
    assert json.loads(counted.stdout)["groups"].keys() == {"abacus", "codex"}, counted.stderr.decode()
    assert json.loads(counted.stdout)["groups"]["abacus"]["faults"].keys() == {"schema"}


def test_the_page_holds_to_the_types_and_the_style_of_the_project(plugin: Path, tmp_path: Path) -> None:
    checks = (
        ("mypy", "--strict", "--no-incremental", "--config-file", os.devnull, "abacus_agent"),
        ("ruff", "check", "--isolated", "--line-length", "120", "--select", "E,F,W,B,UP,SIM", "abacus_agent"),
    )
    for tool, *arguments in checks:
        done = run(plugin, "-m", tool, *arguments, cwd=plugin)
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


KIT = ("-p", "agentv_stream.testing.plugin", "-p", "no:cacheprovider", "-q", "--no-header", "test_abacus.py")


RUN_KITS = """
import json, os, sys
import pytest, agentv_stream.testing
for line in sys.stdin:
    site, arguments = json.loads(line)
    pid = os.fork()
    if not pid:
        os.chdir(site)
        sys.path.insert(0, site)
        with open("kit.log", "w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        code = pytest.main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def kits(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[str]"]:
    """Runs the conformance kit for one plug-in after the other, each in a process of its own."""
    place = tmp_path_factory.mktemp("kits")
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # those of this project's tests take long to load
    with subprocess.Popen(
        [sys.executable, "-c", RUN_KITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=place, env=alone
    ) as process:
        yield process


def kit(kits: "subprocess.Popen[str]", site: Path, *options: str) -> tuple[int, str]:
    """The conformance kit, run by pytest as the author of the plug-in runs it."""
    assert kits.stdin is not None and kits.stdout is not None
    kits.stdin.write(json.dumps([str(site), [*KIT, *options]]) + "\n")
    kits.stdin.flush()
    return int(kits.stdout.readline()), (site / "kit.log").read_text(encoding="utf-8")


def test_the_conformance_kit_passes_the_plugin_of_the_page(
    kits: "subprocess.Popen[str]", plugin: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    shutil.copytree(plugin, site)
    code, text = kit(kits, site)
    assert (code, "10 passed" in text) == (0, True), text


DECODE = "line = decode_line(record.data)"
BROKEN = {
    "another agent's log": ("test_it_takes_no_other_log", 'isinstance(line.get("abacus"), str)', "line"),
    "its own log": ("test_detection", "return 1.0 if head and", "return 0.0 if head and"),
    "one id for two events": (
        "test_laws",
        'add(ToolResult(source, "", line.call',
        'add(SessionInfo(source, "", line.call)); add(SessionInfo(source, "", line.call',
    ),
    "state of all decoders": ("test_laws", "self.state = State()", "self.state = SHARED"),
    "no JSON": ("test_laws", "answer, line.text, model", "answer, Raw(b'Reading it'), model"),
    "input without cache": ("test_laws", "total = line.in_ + line.from_cache", "total = line.in_ - 400"),
    "used and refused": (
        "test_odd_shapes",
        "kind = batch.events.append, line.abacus",
        "kind = batch.events.append, line.abacus\n"
        "        add(UserText(source, '', line.text, 'x')); decode_line(line.text)",
    ),
    "not UTF-8": ("test_odd_shapes", DECODE, "1 / (b'\\xff' not in record.data)\n        " + DECODE),
    "depth": ("test_odd_shapes", DECODE, "1 / (b'[' * 4_000 not in record.data)\n        " + DECODE),
    "growing state": ("test_memory", DECODE, "SHARED.seen.append(record.offset)\n        " + DECODE),
    "unknown type": ("test_reading", 'batch.ignore("tick")', "batch.unknown_type(kind, record)"),
    "lost result": ("test_reading", 'elif kind == "done":', 'elif kind == "done" and line.call != "c2":'),
    "tokens twice": ("test_figures", "output=made)", "output=made and 2 * made)"),
    "outcome": ("test_figures", '"error" if line.code else "ok"', '"ok"'),
    "no end": (
        "test_facts",
        'About("abacus run --json PROMPT", versions="0.3", end="`bye`")',
        'About("abacus run --json PROMPT")',
    ),
    "no log": (
        "test_every_dialect_has_a_log",
        '"abacus-json",\n            detect',
        '"abacus-lines",\n            detect',
    ),
}
"""What is wrong with a plug-in: the test of the kit that finds it, and the change that makes it wrong."""
SHARED = """class Shared(Struct):
    model: str | None = None
    seen: list[int] = []


SHARED = Shared()


class State("""


@pytest.mark.parametrize("wrong", list(BROKEN))
def test_the_conformance_kit_finds_a_broken_plugin(
    kits: "subprocess.Popen[str]", plugin: Path, tmp_path: Path, wrong: str
) -> None:
    site = tmp_path / "site"
    shutil.copytree(plugin, site, ignore=shutil.ignore_patterns("__pycache__"))
    name, before, after = BROKEN[wrong]
    texts = {path: path.read_text(encoding="utf-8") for path in (site / "abacus_agent").glob("*.py")}
    assert sum(before in text for text in texts.values()) == 1
    for path, text in texts.items():
        path.write_text(text.replace(before, after).replace("class State(", SHARED), encoding="utf-8")
    code, text = kit(kits, site, "-k", name)
    assert code == 1 and re.search(rf"^FAILED .*::{name}\b", text, re.MULTILINE), text


def at_home(site: Path, home: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """The program for a person whose agent keeps its logs in `~/.abacus/runs`."""
    os_home = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_STATE_HOME": str(home / "state")}
    return run(site, *PROGRAM, *words, cwd=home, variables=os_home)


@pytest.fixture
def home(plugin: Path, tmp_path: Path) -> Path:
    runs = tmp_path / "home" / ".abacus" / "runs"
    runs.mkdir(parents=True)
    shutil.copy(plugin / "abacus.jsonl", runs / "ab-7.jsonl")
    return tmp_path / "home"


def test_its_sessions_are_listed_and_counted(plugin: Path, home: Path) -> None:
    listed = at_home(plugin, home, "sessions", "--json")
    (session,) = map(json.loads, listed.stdout.splitlines())
    assert (session["provider"], session["session_id"]) == ("abacus", "ab-7"), listed.stderr.decode()
    shown = at_home(plugin, home, "show", "ab-7")
    assert b"Reading it first." in shown.stdout, shown.stderr.decode()
    counted = at_home(plugin, home, "stats", "ab-7", "--json", "-")
    assert json.loads(counted.stdout)["total"]["tool_calls"] == 3, counted.stdout.decode()


def test_its_sessions_are_followed(plugin: Path, home: Path) -> None:
    done = at_home(plugin, home, "tail", "--all", "--once", "--out", "followed", "-q")
    assert done.returncode == 0, done.stderr.decode()
    (transcript,) = (home / "followed").rglob("*.transcript.jsonl")
    rows = [json.loads(line) for line in transcript.read_bytes().splitlines()]
    assert [row["role"] for row in rows] == ["user", "assistant", "assistant", "assistant"]


def test_its_command_line_is_run(plugin: Path, tmp_path: Path) -> None:
    program = tmp_path / "abacus"
    program.write_text(f"#!/bin/sh\ncat {plugin / 'abacus.jsonl'}\n")
    program.chmod(0o755)
    done = run(plugin, *PROGRAM, "run", "--out", "r", "-q", "--", "./abacus", "run", "--json", "Fix it.", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    value = json.loads(next((tmp_path / "r").glob("*.json")).read_bytes())
    assert (value["session"]["provider"], value["status"]) == ("abacus", "complete")


def test_a_log_that_was_nobodys_is_read_once_the_plugin_is_there(plugin: Path, home: Path) -> None:
    """Headers and figures are cached; a plug-in that was installed since, or another version of it, reads anew."""
    root = ("sessions", "--json", "--root", str(home / ".abacus"))
    assert at_home(home, home, *root).stdout == b""
    assert b'"abacus"' in at_home(plugin, home, *root).stdout
