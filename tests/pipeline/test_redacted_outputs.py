"""No output of any command has a secret of a log that was read with `--redact`."""

import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.redaction.redactor import Redactor
from agentv_stages.redaction.vault import MARKER
from agentv_stream.discovery.places import find_roots
from agentv_stream.errors import NotALog
from agentv_stream.redaction.redaction import Redaction
from agentv_stream.summary import SessionReader, read_file
from support.consuming import STREAM, Ran, run
from support.decoding import FIXTURES
from support.fixture_logs import EXAMPLES, LOGS
from support.growing_logs import claude_records
from support.planted import Planter, files_below, leaks
from support.redacted_facts import facts_of


class Planted:
    """A folder with the logs of all agents, each with secrets in its texts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.planter = Planter()
        self.logs: list[Path] = []
        self.in_log: dict[Path, int] = {}
        for root in (FIXTURES, EXAMPLES):
            shutil.copytree(root, folder / root.name, ignore=shutil.ignore_patterns("*.py", "*.sh", "*.yaml"))
        for log in LOGS:
            root = FIXTURES if log.is_relative_to(FIXTURES) else EXAMPLES
            copy = folder / root.name / log.relative_to(root)
            self.logs.append(copy)
            self.in_log[copy] = self._plant(copy, log.read_bytes())

    def _plant(self, copy: Path, data: bytes) -> int:
        """How many secrets are in the copy; none where the agent is recognised by its texts alone."""
        before = len(self.secrets)
        copy.write_bytes(self.planter.plant(data, 6))
        try:
            SessionReader(read_file(str(copy)), str(copy))
        except NotALog:
            copy.write_bytes(data)
            del self.secrets[before:]
        return len(self.secrets) - before

    @property
    def secrets(self) -> list[str]:
        return self.planter.secrets

    def of(self, log: Path) -> Path:
        """The planted copy of a log."""
        return next(copy for copy in self.logs if copy.name == log.name and copy.parent.name == log.parent.name)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return Planted(tmp_path_factory.mktemp("planted"))


def seen(ran: Ran, secrets: list[str]) -> list[str]:
    """The secrets on standard output and standard error."""
    text = ran.out.decode("utf-8", "replace") + ran.err
    return [secret for secret in secrets if secret in text]


COMMANDS = {
    "import": ["import", "{logs}", "--out", "{out}/t", "--atif", "{out}/a", "--jsonl", "{out}/r.jsonl"],
    "import pages and spans": [
        "import",
        "{logs}",
        "--pages",
        "{out}/w",
        "--otel-file",
        "{out}/s.jsonl",
        "--otel-content",
    ],
    "import a data set": ["import", "{logs}", "--parquet", "{out}/p", "--engine", "process", "--workers", "2"],
    "tail": ["tail", "{logs}", "--once", "--out", "{out}", "--state", "{out}/state", "--stream-log", "raw"],
    "tail a data set": ["tail", "{logs}", "--once", "--parquet", "{out}/p", "--state", "{out}/state"],
    "tail events": ["tail", "{logs}", "--once", "--events", "--no-cursors"],
    "watch": ["watch", "{logs}", "--json", "--once", "--since", "1d"],
    "consume with a page": [
        "consume",
        "{log}",
        "--out",
        "{out}",
        "--page",
        "--transcript-shape",
        "atif",
        "--otel-file",
        "{out}/s",
    ],
    "tail with a command": [
        "tail",
        "{logs}",
        "--once",
        "--out",
        "{out}/t",
        "--state",
        "{out}/state",
        "--on",
        "ended",
        "cat >> {out}/ended.jsonl",
        "--on",
        "failed",
        "cat >> {out}/failed.jsonl",
        "--log-json",
    ],
    "analyze": ["analyze", "{logs}"],
    "analyze rows": ["analyze", "{logs}", "--json"],
    "sessions": ["sessions", "--root", "{logs}", "--limit", "0", "--tree"],
    "sessions rows": ["sessions", "--root", "{logs}", "--limit", "0", "--json"],
    "sessions table": ["sessions", "--root", "{logs}", "--limit", "0", "--csv", "{out}/s.csv"],
    "search": ["search", "test", "{logs}", "--limit", "0"],
    "search rows": ["search", "test", "{logs}", "--limit", "0", "--json"],
    "page": ["page", "{log}", "-o", "{out}/p.html", "--full"],
    "consume": ["consume", "{log}", "--out", "{out}", "--stream-log", "summary", "--stats", "-"],
    "show": ["show", "{log}", "--full"],
    "show rows": ["show", "{log}", "--json"],
    "check": ["check", "{spec}", "{log}", "--json"],
    "check files": [
        "check",
        "{spec}",
        "{logs}",
        "-v",
        "--markdown",
        "{out}/c.md",
        "--junit",
        "{out}/c.xml",
        "--jsonl",
        "{out}/c.jsonl",
    ],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_secret_is_in_what_a_command_writes_or_prints(name: str, planted: Planted, tmp_path: Path) -> None:
    words = {"{logs}": str(planted.folder), "{log}": str(planted.of(STREAM)), "{spec}": str(EXAMPLES / "spec.yaml")}
    out = tmp_path / "out"
    arguments = [words.get(word, word.replace("{out}", str(out))) for word in COMMANDS[name]]
    if "--parquet" in arguments:
        pytest.importorskip("pyarrow")
    out.mkdir()
    redact = [] if name == "page" else ["--redact"]  # a page is redacted by default
    ran = run(tmp_path, *arguments, *redact, AGENTV_STREAM_STATE=str(tmp_path / "key"))
    assert ran.code in (0, 1, 3, 4), ran.err  # 1: a verdict failed; 3: a run did; 4: a fixture is no log
    assert not leaks(planted.secrets, out)
    assert not seen(ran, planted.secrets)
    texts = _data_set(out / "p") if "--parquet" in arguments else b"".join(map(Path.read_bytes, files_below(out)))
    assert not [secret for secret in planted.secrets if secret.encode() in texts]
    if name not in ("check", "analyze", "watch"):  # the texts of the planted log are there, with markers
        assert MARKER.search(texts + ran.out) is not None


def _data_set(place: Path) -> bytes:
    import pyarrow.parquet as pq

    return b"".join(
        str(pq.read_table(path).to_pylist()).encode()  # pyright: ignore[reportUnknownMemberType] - pyarrow
        for path in place.rglob("*.parquet")
    )


def test_there_are_many_secrets_in_logs_of_every_agent(planted: Planted) -> None:
    assert len(planted.secrets) >= 200
    assert {log.parent.relative_to(planted.folder).parts[1] for log in planted.logs if "fixtures" in log.parts} >= {
        *(path.name for path in FIXTURES.iterdir() if any(path.rglob("*.json*")))
    }


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}-{log.name}")
def test_ids_places_pairing_and_figures_are_those_of_the_original(log: Path, planted: Planted) -> None:
    copy = planted.of(log)
    redactor = Redactor(b"k" * 32)
    assert json.loads(facts_of(copy, redactor)) == json.loads(redactor.redact(facts_of(copy)))
    assert redactor.counts or not planted.in_log[copy]


async def test_no_secret_is_in_an_answer_to_an_agent(planted: Planted) -> None:
    mcp: Any = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from agentv_stream.mcp_server.answers import Answers
    from agentv_stream.mcp_server.serve import make_server

    answers = Answers(find_roots([str(planted.folder)]), [EXAMPLES / "spec.yaml"], Redaction(b"k" * 32))
    texts: list[str] = []

    async def ask(tool: str, **words: Any) -> Any:
        answer = await connected.call_tool(tool, words)
        texts.append(str(answer.content))
        return answer.structured_content

    async with mcp.Client(make_server(answers)) as connected:
        found = (await ask("list_sessions", limit=50))["sessions"]
        for session in found[:20]:
            await ask("read_session", session_id=session["session_id"])
            await ask("get_statistics", session_id=session["session_id"])
            await ask("check_session", session_id=session["session_id"], spec="spec.yaml")
        await ask("search", text="test", limit=50)
    assert not [secret for secret in planted.secrets if secret in "".join(texts)]
    assert len(found) > 10 and "[redacted:" in "".join(texts)


def test_a_prompt_that_a_list_cuts_does_not_end_with_the_beginning_of_a_secret(tmp_path: Path) -> None:
    prompt = f"{'word ' * 36}the key is ghp_{'aB3dE5gH7j' * 3}K9mN1p"
    first, *more = claude_records("s-1", 2)
    first = first.replace(b"please work on", prompt.encode())
    assert prompt.encode() in first
    (tmp_path / "s-1.jsonl").write_bytes(b"\n".join([first, *more]) + b"\n")
    for options in ([], ["--json"], ["--csv", "-"]):
        ran = run(tmp_path, "sessions", "--root", ".", "--redact", *options, AGENTV_STREAM_STATE=str(tmp_path / "key"))
        assert b"the key is" in ran.out and b"ghp_" not in ran.out


def test_watch_hides_the_secrets_of_a_session_at_work(tmp_path: Path) -> None:
    """Rows of sessions that have ended show no texts."""
    secret = f"ghp_{'aB3dE5gH7j' * 3}K9mN1p"
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()).encode()
    lines = [re.sub(rb"2026-01-01T[0-9:.]+Z", now, line) for line in claude_records("s-1", 1)[:-1]]
    (tmp_path / "s-1.jsonl").write_bytes(b"\n".join(lines).replace(b"ls 0", b"curl " + secret.encode()) + b"\n")
    ran = run(tmp_path, "watch", ".", "--json", "--once", "--redact", AGENTV_STREAM_STATE=str(tmp_path / "key"))
    assert b"curl" in ran.out and MARKER.search(ran.out) is not None
    assert secret.encode() not in ran.out
