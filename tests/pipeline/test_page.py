"""A session as one HTML page: whole, private, harmless, and readable without scripts."""

import base64
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agentv_stages.redaction.redactor import Redactor
from agentv_stages.redaction.vault import MARKER
from agentv_stream.costs.rates import Rates
from agentv_stream.errors import UsageError
from agentv_stream.outputs.step_spool import StepSpool
from agentv_stream.pages.index import IndexRow, index_page
from agentv_stream.pages.style import POLICY, SCRIPT, STYLE
from agentv_stream.pages.text import diff, markdown, replaced, shown, terminal
from agentv_stream.pages.write import write_pages
from agentv_stream.summary import SessionReader, read_file
from support.browser import QUIET, chromium, tab
from support.consuming import run
from support.fixture_logs import LOGS

HOSTILE = (
    "<script>alert(1)</script> <img src=http://evil.test/a.png onerror=alert(2)> ![x](http://evil.test/b.png)\n\n"
    "[go](javascript:alert(3)) [data](data:text/html,x) <javascript:alert(4)> [ref]\n\n[ref]: javascript:alert(5)\n\n"
    "</article></main></body></html>\x1b[31mred\x1b]0;title\x07 \u202eevil\u202c \x9b2J\x00 `</code>`\n\n"
    "| a | b |\n|---|---|\n| <b>1</b> | 2 |\n"
)
TOKEN = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ2bC4dF6gH8"


class Found(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "hr", "img", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.words += data


def page_of(log: Path, folder: Path, *, full: bool = False, redactor: Redactor | None = None) -> str:
    place = folder / "page.html"
    assert list(write_pages([str(log)], place, provider=None, roots=(), full=full, redactor=redactor)) == [place]
    return place.read_text(encoding="utf-8")


def claude(folder: Path, *texts: str, output: str = "done", failed: bool = False) -> Path:
    """A Claude session: a prompt, and an answer with a call for each text."""
    records: list[object] = []
    base = {"parentUuid": None, "isSidechain": False, "sessionId": "s-1", "cwd": "/w", "version": "2.1.300"}
    for i, text in enumerate(texts):
        when = f"2026-11-01T10:00:{i:02d}.000Z"
        call = {"type": "tool_use", "id": f"t{i}", "name": "Bash", "input": {"command": f"echo {text}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{i}", "content": output, "is_error": failed}
        usage = {"input_tokens": 10, "output_tokens": 5}
        answer = {
            "id": f"m{i}",
            "role": "assistant",
            "model": "opus",
            "content": [{"type": "text", "text": text}, call],
        }
        records += [
            {**base, "type": "user", "uuid": f"u{i}", "timestamp": when, "message": {"role": "user", "content": text}},
            {**base, "type": "assistant", "uuid": f"a{i}", "timestamp": when, "message": {**answer, "usage": usage}},
            {
                **base,
                "type": "user",
                "uuid": f"r{i}",
                "timestamp": when,
                "message": {"role": "user", "content": [result]},
            },
        ]
    log = folder / "session.jsonl"
    log.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return log


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}-{log.name}")
def test_every_agents_session_is_a_whole_page(log: Path, tmp_path: Path) -> None:
    found = Found(page_of(log, tmp_path))
    assert found.open == []
    reader = SessionReader(read_file(str(log)), str(log), messages=True)
    messages = [message for batch in reader.batches() for message in batch.messages]
    articles = [attributes for tag, attributes in found.elements if tag == "article"]
    assert len(articles) == len(messages)
    names = [attributes["id"] for _, attributes in found.elements if attributes.get("id")]
    assert len(names) == len(set(names))
    links = [str(attributes["href"]) for tag, attributes in found.elements if tag == "a"]
    assert {link[1:] for link in links if link.startswith("#")} <= set(names)
    calls = [a for tag, a in found.elements if tag == "details" and "call" in str(a.get("class")).split()]
    assert len(calls) == sum(len(message.calls) for message in messages)


def test_nothing_of_an_agents_text_acts(tmp_path: Path) -> None:
    page = page_of(claude(tmp_path, HOSTILE, output=HOSTILE, failed=True), tmp_path)
    found = Found(page)
    assert [
        tag for tag, _ in found.elements if tag in ("script", "style", "img", "iframe", "link", "object", "form")
    ] == [
        "style",
        "script",
    ]
    for tag, attributes in found.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "style")], tag
        target = attributes.get("href")
        assert target is None or re.match(r"#|https?://|mailto:", target), target
        assert target is None or target.startswith("#") or attributes.get("rel") == "noopener noreferrer nofollow"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
    assert "alert(1)" in found.words  # as text


def test_the_policy_allows_the_one_style_and_the_one_script_only(tmp_path: Path) -> None:
    page = page_of(claude(tmp_path, "hello"), tmp_path)
    policy = next(a["content"] for _, a in Found(page).elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == POLICY and "unsafe" not in POLICY
    for text, kind in ((STYLE, "style"), (SCRIPT, "script")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in POLICY and text in page


def test_failures_are_open_listed_and_linked(tmp_path: Path) -> None:
    found = Found(page_of(claude(tmp_path, "first", "second", output="no such file", failed=True), tmp_path))
    calls = [a for tag, a in found.elements if tag == "details" and "call" in str(a.get("class")).split()]
    assert [("open" in call, call["class"]) for call in calls] == [(True, "call error")] * 2
    assert {f"#{call['id']}" for call in calls} <= {a.get("href") for tag, a in found.elements if tag == "a"}
    assert "turn 2: Bash error: echo second" in found.words


def test_secrets_are_markers_unless_they_are_wanted(tmp_path: Path) -> None:
    log = claude(tmp_path, f"key {TOKEN}", output=f"TOKEN={TOKEN}")
    redactor = Redactor(b"k")
    page = page_of(log, tmp_path, redactor=redactor)
    assert TOKEN not in page and MARKER.search(page.encode()) and redactor.counts["github-token"] == 4
    assert TOKEN in page_of(log, tmp_path)


def test_long_outputs_are_cut_and_their_size_is_named_unless_all_is_wanted(tmp_path: Path) -> None:
    log = claude(tmp_path, "go", output="x" * 50_000 + "the end")
    cut, whole = page_of(log, tmp_path), page_of(log, tmp_path, full=True)
    assert len(cut) < 40_000 < len(whole)
    assert "bytes left out" in cut and "50 KB" in cut and "the end" in cut and "bytes left out" not in whole


def test_pages_of_equal_names_are_numbered_and_a_file_takes_one(tmp_path: Path) -> None:
    log = str(claude(tmp_path, "hello"))
    options = {"provider": None, "roots": (), "full": False, "redactor": None}
    paths = list(write_pages([log, log], tmp_path / "pages", **options))  # type: ignore[arg-type]
    assert [path.name for path in paths] == ["2026-11-01_claude_s-1.html", "2026-11-01_claude_s-1-2.html"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in paths)
    with pytest.raises(UsageError, match="name a folder"):
        list(write_pages([log, log], tmp_path / "a.html", **options))  # type: ignore[arg-type]


def test_sub_agents_stand_behind_the_call_that_started_them(tmp_path: Path) -> None:
    log = next(log for log in LOGS if log.parent.name == "claude" and (log.parent / log.stem / "subagents").is_dir())
    page = page_of(log, tmp_path)
    agent = page.index('<details class="agent">')
    assert page.rindex("<b>Task</b>", 0, agent) > page.rindex("<article", 0, agent)


def test_colours_of_a_terminal_are_classes_and_lines_written_again_are_gone() -> None:
    assert terminal("a\x1b[1;31mb\x1b[0mc") == 'a<span class="b red">b</span>c'
    assert terminal("\x1b[38;5;196mx\x1b[39m\x1b[2K\x1b]8;;http://a\x07y") == "xy"
    assert terminal("10 %\r20 %\r100 %\ndone\r\n") == "100 %&#10;done&#10;"
    assert terminal("<b>\x1b") == "&lt;b&gt;\\x1b"


def test_a_diff_shows_what_was_replaced() -> None:
    assert list(replaced("a\nb\nc", "a\nB\nc")) == ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]
    assert diff(["+<i>", "-x"]) == '<span class="ins">+&lt;i&gt;</span>&#10;<span class="del">-x</span>'


def test_markdown_is_one_line_without_html() -> None:
    made = markdown("# Title\n\n```sh\nls\nrm <x>\n```\n<b>no</b>")
    assert "\n" not in made and "<h1>Title</h1>" in made and "ls&#10;rm &lt;x&gt;" in made and "<b>" not in made
    assert shown("a\tb\nc") == "a\tb\nc"


def test_streams_of_a_spool_can_be_read_in_turns() -> None:
    reader = SessionReader(read_file(str(LOGS[0])), str(LOGS[0]), messages=True)
    messages = [message for batch in reader.batches() for message in batch.messages]
    spool = StepSpool()
    for message in messages:
        spool.add(message, b"%d\n" % message.index)
    first, again = spool.all_lines(), spool.all_lines()
    assert [line for pair in zip(first, again, strict=True) for line in pair] == [
        b"%d\n" % message.index for message in sorted(messages, key=lambda m: m.index) for _ in (1, 2)
    ]
    spool.close()


def test_a_browser_opens_a_hostile_page_without_a_request_and_without_running_it(tmp_path: Path) -> None:
    browser = chromium()
    page = page_of(claude(tmp_path, HOSTILE, output=HOSTILE), tmp_path)
    assert page
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.2)
    asked: list[bytes] = []
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                asked.append(connection.recv(200))

    thread = threading.Thread(target=serve)
    thread.start()
    proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
    command = [browser, *QUIET, f"--user-data-dir={tmp_path / 'profile'}"]
    command += [f"--proxy-server={proxy}", "--dump-dom", (tmp_path / "page.html").as_uri()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env={**os.environ})
    finally:
        ended.set()
        thread.join()
        listener.close()
    assert [request for request in asked if b"evil" in request] == []
    assert "<h1" in done.stdout and "alert(1)" in done.stdout
    assert done.stdout.count("<script") == 1


KEY = "sk-ant-api03-" + "Zq7" * 31 + "AA"


def test_consume_and_run_write_a_page_beside_their_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = claude(tmp_path, f"the key is {KEY}", output="no", failed=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    spec = tmp_path / "spec.yaml"
    spec.write_text("tests:\n  - id: gentle\n    assertions:\n      - {type: max-turns, max: 0, name: no turns}\n")
    options = ("--page", "--check", spec, "--stats", "-", "-q")
    ran = run(tmp_path, "consume", log, "--out", tmp_path / "out", *options)
    result = json.loads(ran.out)
    page = Path(result["outputs"]["page"])
    assert page.name.removesuffix(".html") == Path(result["outputs"]["transcript"]).name.removesuffix(
        ".transcript.jsonl"
    )
    text = page.read_text()
    assert KEY not in text and "[redacted:anthropic-key:" in text  # without --redact, too
    assert KEY in Path(result["outputs"]["transcript"]).read_text()
    assert "Verdicts" in text and "gentle" in text and "no turns" in text
    command = [sys.executable, "-c", f"import sys; sys.stdout.write(open({str(log)!r}).read())"]
    run(tmp_path, "run", "--page", "--out", "runs", "--task", "t", "-q", "--", *command)
    (page,) = (tmp_path / "runs").glob("*.html")
    assert KEY not in page.read_text() and "[redacted:anthropic-key:" in page.read_text()


def test_import_writes_pages_and_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "pages"
    logs = [*LOGS, claude(tmp_path, f"<b>hostile</b> {KEY}")]
    codes: list[int] = []
    for _ in range(2):  # again: nothing is left of an earlier run
        ran = run(tmp_path, "import", *logs, "--pages", place, "--jsonl", tmp_path / "r.jsonl", "-q")
        codes.append(ran.code)
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_bytes().splitlines()]
    pages = {row["outputs"]["page"] for row in rows if "page" in row["outputs"]}
    assert len(pages) > 20 and set(codes) <= {0, 4}
    assert {str(path) for path in place.glob("*.html")} == pages | {str(place / "index.html")}
    assert not [path for path in place.glob("*.html") if KEY in path.read_text()]
    index = (place / "index.html").read_text()
    links = re.findall(r'<a href="([^"]+)">', index)
    assert {str(place / link) for link in links} == pages
    assert index.count("<tr>") == len(pages) + 1 and f"{len(pages):,} sessions" in index
    assert "<b>hostile</b>" not in index and "&lt;b&gt;hostile" in index and "default-src &#x27;none&#x27;" not in index
    assert "<svg" in index and 'content="default-src' in index


def test_an_index_shows_what_is_unknown_and_adds_up_what_is_known() -> None:
    day = "2026-01-0"
    one = IndexRow(
        "a.html", "A <i>title</i>", day + "2T03:04:05Z", "claude", "m", "/w", "error", 2, 3, 1, 10, 5, 0.5, 2000
    )
    other = IndexRow(
        "b.html", "B", day + "3T03:04:05Z", "pi", None, None, "unknown", None, 0, 0, None, None, None, None
    )
    text = b"".join(index_page([one, other])).decode()
    assert "2 sessions, 2 turns, 3 calls" in text and "$0.50 (1 session without a cost)" in text
    assert text.index("b.html") < text.index("a.html")  # the newest first
    assert "A &lt;i&gt;title&lt;/i&gt;" in text and 'data-v="-1">?' in text and 'data-v="0.5" title="0.5">$0.50' in text


@pytest.mark.parametrize(
    ("starts", "places"),
    [
        (["2026-01-01", "2026-02-09", "2026-02-09"], ["0.0", "975.0"]),  # 40 days, two of them with sessions
        (["2026-02-08", "2026-02-09"], ["933.3", "966.7"]),  # of 30 days
        (["2020-01-01", "2026-02-08", "2026-02-09", "no day"], ["995.0", "997.5"]),  # of 400 days
        (["2026-02-09", "2026-02-09", ""], []),
    ],
)
def test_the_plot_of_an_index_has_gaps_for_days_without_sessions(starts: list[str], places: list[str]) -> None:
    rest = ("pi", None, None, "unknown", None, 0, 0, None, None, None, None)
    text = b"".join(index_page([IndexRow("a.html", "A", start, *rest) for start in starts])).decode()
    assert re.findall(r'<rect x="([0-9.]+)"', text) == places


TITLES = "[...document.querySelectorAll('tbody tr')].filter(r => !r.hidden).map(r => r.querySelector('a').textContent)"


def test_a_browser_sorts_and_filters_an_index(tmp_path: Path) -> None:
    rows = [
        IndexRow(f"{name}.html", name, f"2026-01-0{day}", agent, "m", "/w", "complete", 2, calls, 0, 5, 5, cost, 5)
        for day, name, agent, calls, cost in (
            (1, "one", "claude", 9, None),
            (2, "two", "pi", 100, 2.5),
            (3, "three", "pi", 20, 10.25),
        )
    ]
    place = tmp_path / "index.html"
    place.write_bytes(b"".join(index_page(rows)))
    with tab(tmp_path) as page:
        page.open(place)
        assert page.ask(TITLES) == ["three", "two", "one"]  # the newest first
        for head, first, second in (
            ("Calls", ["one", "three", "two"], ["two", "three", "one"]),
            ("Cost", ["one", "two", "three"], ["three", "two", "one"]),
            ("Title", ["one", "three", "two"], ["two", "three", "one"]),
        ):
            click = f"[...document.querySelectorAll('th button')].find(b => b.textContent == '{head}').click()"
            sorted_as = f"[...document.querySelectorAll('th')].find(h => h.textContent == '{head}').ariaSort"
            orders: dict[str, list[str]] = {}
            for _ in range(2):
                page.ask(click)
                orders[page.ask(sorted_as)] = page.ask(TITLES)
            assert orders == {"ascending": first, "descending": second}
        find = "const i = document.querySelector('input'); i.value = '{}'; i.dispatchEvent(new Event('input'))"
        page.ask("{" + find.format("PI three") + "}")
        assert page.ask(TITLES) == ["three"]
        assert page.ask("document.querySelector('[role=status]').textContent") == "1 of 3"
        page.ask("{" + find.format("") + "}")
        assert len(page.ask(TITLES)) == 3


def test_a_browser_goes_to_failures_by_keys_and_to_turns_by_links(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    page_of(claude(tmp_path, "first", "second", output="no such file", failed=True), tmp_path)
    with tab(tmp_path) as page:
        page.open(place)
        for key, name in (("n", "c1-0"), ("n", "c3-0"), ("p", "c1-0")):
            page.press(key)
            assert page.ask("document.activeElement.id") == name
        count = "document.querySelectorAll('details:not([open])').length"
        assert page.ask("document.querySelector('details').open = false, " + count) > 0
        page.press("o")
        assert page.ask(count) == 0
        page.ask("location.hash = '#turn-2'")
        assert page.ask("document.querySelector(':target').id") == "turn-2"


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_a_page_is_as_wide_as_its_window(width: int, tmp_path: Path) -> None:
    word = "x" * 400
    page_of(claude(tmp_path, f"{word} `{word}`\n\n| {word} | b |\n|---|---|\n| c | d |", output=word), tmp_path)
    with tab(tmp_path, f"--window-size={width},900") as page:
        page.open(tmp_path / "page.html")
        page.press("o")
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")


def test_findings_are_listed_with_their_costs_and_links(tmp_path: Path) -> None:
    found = Found(page_of(claude(tmp_path, *["again"] * 5, output="no such file", failed=True), tmp_path))
    assert "Findings" in found.words and "repeated-failures" in found.words
    links = {a.get("href") for tag, a in found.elements if tag == "a"}
    assert {"#turn-2", "#turn-3"} <= links


def test_costs_that_the_agent_does_not_report_are_estimated(tmp_path: Path) -> None:
    pytest.importorskip("genai_prices", reason="the extra `prices` is not installed")
    log = claude(tmp_path, "hello")
    ended = '"stop_reason": "tool_use", "model": "claude-opus-4-5"'
    log.write_text(log.read_text().replace('"model": "opus"', ended))
    place = tmp_path / "page.html"
    list(write_pages([str(log)], place, provider=None, roots=(), full=False, redactor=None, rates=Rates()))
    assert Found(place.read_text()).words.count("~$0.0002") == 2  # of the call, and of the session


def test_a_page_goes_to_standard_output(tmp_path: Path) -> None:
    done = run(tmp_path, "page", LOGS[0], "-o", "-")
    assert (done.code, done.out[:15]) == (0, b"<!doctype html>")
    assert [*tmp_path.iterdir()] == []
