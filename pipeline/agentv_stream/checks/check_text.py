"""Outcomes of checks for people and for build servers: a terminal table, JUnit XML."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree

from agentv_stages.model.visible import counted, visible
from agentv_stages.trajectory import Assertion, CaseResult, Decision, Evidence, Result
from agentv_stream.checks.check import SourceCheck, summary_of
from agentv_stream.checks.turn_index import TurnIndex

_ACTING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # controls, changes of direction
NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MARKS = {"pass": "PASS", "fail": "FAIL", "skipped": "skip"}


def table(checks: Sequence[SourceCheck], width: int = 120, details: bool = True) -> str:
    """The terminal's table: a block for each source, a row for each evaluator, with reasons below a failed one."""
    lines: list[str] = []
    for check in checks:
        provider = f"  [{check.provider}]" if check.provider else ""
        if check.run_failed:
            provider += f"  {visible(_how(check), width)}"  # this affects the exit code, too
        lines.append(visible(check.source, width - 20) + provider)
        if check.error is not None:
            lines.append(f"  ERROR {visible(str(check.error).removeprefix(f'{check.source}: '), width - 8)}")
        for case in check.cases:
            lines += case_lines(case, width, details)
        lines += [f"  warning: {visible(text, width - 11)}" for text in check.warnings]
    return "\n".join(lines) + "\n" + summary_line(checks)


def summary_line(checks: Sequence[SourceCheck]) -> str:
    """How many cases passed, failed and were skipped, with a line end."""
    total = summary_of(checks)
    unread = total.pop("errors")
    parts = [f"{number} {name}" for name, number in total.items() if number]
    unlisted = sum(check.unlisted is not None for check in checks)
    ended = sum(check.run_failed for check in checks)
    more = [f"{unread} not read"] if unread else []
    more += [f"{counted(ended, 'run')} failed"] if ended else []
    more += [f"{counted(unlisted, 'run')} of other tasks"] if unlisted else []
    skipped = {
        f"{visible(result.type, 40)} ({visible(result.reason or '', 100)})"
        for check in checks
        for case in check.cases
        for result in case.evaluators
        if result.verdict == "skipped"
    }
    more += [f"evaluators skipped: {', '.join(sorted(skipped))}"] if skipped else []
    return "; ".join(["cases: " + (", ".join(parts) or "none"), *more]) + "\n"


def failures_first(checks: Sequence[SourceCheck], width: int = 120) -> str:
    """A line or a character for each case, then each failure in full, then the summary."""
    lines = _progress(checks, width)
    for check in checks:
        for case in check.cases:
            if case.verdict == "fail":
                lines += ["", f"FAIL {case.score or 0.0:5.2f}  {visible(case.case, width - 40)}  {_of(check, width)}"]
                lines += failure_lines(case, width, check.turns)
        if check.error is not None or check.run_failed:
            problem = str(check.error).removeprefix(f"{check.source}: ") if check.error is not None else _how(check)
            lines += ["", f"ERROR  {_of(check, width)}", f"  {visible(problem, width - 2)}"]
        if check.warnings and not check.unlisted:
            lines += [
                "",
                *(f"warning: {visible(check.source, max(200, width))}: {visible(w, width)}" for w in check.warnings),
            ]
    unlisted = sorted({check.unlisted for check in checks if check.unlisted is not None})
    if unlisted:
        lines += ["", f"not judged, the spec has no case for them: {visible(', '.join(unlisted), width)}"]
    return "\n".join([*lines, ""] if len(lines) > 1 else lines) + "\n" + summary_line(checks)


def _of(check: SourceCheck, width: int) -> str:
    provider = f" [{check.provider}]" if check.provider else ""
    return visible(check.source, max(200, width)) + provider


MOST_LINES = 10
SIGNS = {"pass": ".", "fail": "F", "skipped": "s"}


def _progress(checks: Sequence[SourceCheck], width: int) -> list[str]:
    cases = [(check, case) for check in checks for case in check.cases]
    if len(cases) <= MOST_LINES:
        return [
            f"{MARKS[case.verdict]} {'   - ' if case.score is None else f'{case.score:5.2f}'}  "
            f"{visible(case.case, width - 40)}  {_of(check, width)}"
            for check, case in cases
        ]
    signs = "".join(
        "".join(SIGNS[case.verdict] for case in check.cases) or ("-" if check.unlisted is not None else "E")
        for check in checks
    )
    return [signs[i : i + width] for i in range(0, len(signs), width)]


def failure_lines(case: CaseResult, width: int, turns: TurnIndex | None = None) -> list[str]:
    """The evaluators of a case that failed, with their evidence: the call's text, turn, time and row."""
    lines: list[str] = []
    for result in case.evaluators:
        if result.verdict != "fail":
            continue
        lines.append(result_line(result, width))
        failed = [assertion for assertion in result.assertions if not assertion.passed]
        for assertion in failed[:8]:
            lines.append(f"           - {visible(assertion.text, width - 13)}")
            lines += [f"             {seen(evidence, turns, width - 13)}" for evidence in assertion.evidence[:3]]
            if len(assertion.evidence) > 3:
                lines.append(f"             … and {len(assertion.evidence) - 3} more")
        if len(failed) > 8 or result.assertions_truncated:
            lines.append(f"           … and {len(failed) - 8 if len(failed) > 8 else 'some'} more")
        lines += [f"           ? {visible(text, width - 13)}" for text in result.warnings]
    if not lines:
        lines.append(f"    its evaluators pass, but the score {case.score or 0.0:.2f} is below {case.threshold:g}")
    return lines


def seen(evidence: Evidence, turns: TurnIndex | None, width: int) -> str:
    """One event: its name and text, its turn, its time, and its place in the log."""
    turn = turns.turn(evidence) if turns is not None else None
    parts = [] if turn is None else [f"turn {turn}"]
    if evidence.time_ms is not None:
        parts.append(f"{datetime.fromtimestamp(evidence.time_ms / 1000, UTC):%H:%M:%SZ}")
    where = f"  ({', '.join([*parts, place(evidence).removeprefix('@')])})"
    name = evidence.tool or evidence.event
    return visible(f"{name}: {evidence.text}" if evidence.text else name, max(20, width - len(where))) + where


def _how(check: SourceCheck) -> str:
    return f"the run ended: {check.status}{f' ({check.reason})' if check.reason else ''}"


def case_lines(case: CaseResult, width: int = 120, details: bool = True) -> list[str]:
    """The lines of one case."""
    score = "   - " if case.score is None else f"{case.score:5.2f}"
    head = f"  {MARKS[case.verdict]} {score}  {visible(case.case, width - 40)}"
    lines = [head + (f"  ({decided(case.decided)})" if case.decided is not None else "")]
    for result in case.evaluators:
        lines.append(result_line(result, width))
        if not details:
            continue
        if result.reason is not None:
            lines.append(f"           {visible(result.reason, width - 11)}")
        if result.verdict == "fail":
            failed = [assertion for assertion in result.assertions if not assertion.passed]
            lines += [assertion_line(assertion, width) for assertion in failed[:8]]
            if len(failed) > 8 or result.assertions_truncated:
                lines.append(f"           … and {len(failed) - 8 if len(failed) > 8 else 'some'} more")
        lines += [f"           ? {visible(text, width - 13)}" for text in result.warnings]
    return lines


def result_line(result: Result, width: int) -> str:
    score = "   - " if result.score is None else f"{result.score:5.2f}"
    title = result.type if result.name == result.type else f"{result.name} ({result.type})"
    marks = " required" if result.required else ""
    weight = f" ×{result.weight:g}" if result.weight != 1 else ""
    return f"    {MARKS[result.verdict]} {score}  {visible(title, width - 40)}{weight}{marks}"


def assertion_line(assertion: Assertion, width: int) -> str:
    where = f"  {place(assertion.evidence[0])}" if assertion.evidence else ""
    return f"           - {visible(assertion.text, width - 13 - len(where))}{where}"


def place(evidence: Evidence) -> str:
    """The place of an event: row (from 1, as an editor counts lines) and stream."""
    stream = "" if evidence.stream == "main" else f" {visible(evidence.stream, 40)}"
    return f"@row {evidence.row + 1}{stream}"


def decided(decision: Decision) -> str:
    """The event at which a verdict became final."""
    if decision.at is None:
        return f"decided at the end, {counted(decision.calls, 'call')}"
    tool = f" {visible(decision.at.tool, 40)}" if decision.at.tool else ""
    return f"decided at event {decision.events}, call {decision.calls},{tool} {place(decision.at)}"


def junit(checks: Sequence[SourceCheck]) -> bytes:
    """JUnit XML: a suite for each source, a test for each evaluator of each case.

    No two tests share class and name: build servers (GitLab, by both) merge such tests, whichever failed.
    """
    sources = Counter(name for check in checks for name in {case.case for case in check.cases})
    used: Counter[tuple[str, str]] = Counter()
    root = ElementTree.Element("testsuites", name="agentv-stream check")
    totals: Counter[str] = Counter()
    for check in checks:
        element = ElementTree.SubElement(root, "testsuite", name=clean(check.source))
        totals.update(_Suite(element, check, sources, used).fill())
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(totals[name]))
    root.set("time", f"{sum(check.duration_ms or 0 for check in checks) / 1000:.3f}")
    ElementTree.indent(root)
    data: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


class _Suite:
    """The tests of one source. `sources` counts the sources of each case, `used` the tests of each class and name."""

    def __init__(
        self,
        element: ElementTree.Element,
        check: SourceCheck,
        sources: Counter[str],
        used: Counter[tuple[str, str]],
    ) -> None:
        self._element, self._check, self._sources, self._used = element, check, sources, used
        self._seconds = f"{(check.duration_ms or 0) / 1000:.3f}"
        self._numbers = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}

    def fill(self) -> dict[str, int]:
        """Adds all tests; returns how many there are, and how many did not pass."""
        check = self._check
        self._element.set("time", self._seconds)
        if check.started_at is not None:
            self._element.set("timestamp", clean(check.started_at))
        if check.error is not None:
            self._broken("read", str(check.error))
        if check.run_failed:
            self._broken("run", _how(check))
        for case in check.cases:
            for result in case.evaluators:
                self._evaluator(case.case, result)
            self._case(case)
        for name, number in self._numbers.items():
            self._element.set(name, str(number))
        return self._numbers

    def _broken(self, name: str, message: str) -> None:
        self._numbers["tests"] += 1
        self._numbers["errors"] += 1
        test = ElementTree.SubElement(self._element, "testcase", classname=clean(self._check.source), name=name)
        ElementTree.SubElement(test, "error", message=clean(message))

    def _evaluator(self, case: str, result: Result) -> None:
        test = self._test(case, result.name)
        if result.verdict == "fail":
            failed = [a.text for a in result.assertions if not a.passed]
            node = self._failure(test, clean(failed[0]) if failed else "failed", clean(result.type))
            node.text = clean("\n".join(failed))
        elif result.verdict == "skipped":
            self._skipped(test, clean(result.reason or ""))

    def _case(self, case: CaseResult) -> None:
        test = self._test(case.case, "case")
        test.set("time", self._seconds)
        if case.verdict == "fail":
            self._failure(test, f"score {case.score:.3f}, threshold {case.threshold:g}", "case")
        elif case.verdict == "skipped":
            self._skipped(test, "every evaluator was skipped")

    def _test(self, case: str, name: str) -> ElementTree.Element:
        self._numbers["tests"] += 1
        while True:
            title = clean(f"{name} [{self._check.source}]" if self._sources[case] > 1 else name)
            self._used[clean(case), title] += 1
            times = self._used[clean(case), title]
            if times == 1:
                return ElementTree.SubElement(self._element, "testcase", classname=clean(case), name=title)
            name = f"{name} ({times})"

    def _failure(self, test: ElementTree.Element, message: str, kind: str) -> ElementTree.Element:
        self._numbers["failures"] += 1
        return ElementTree.SubElement(test, "failure", message=message, type=kind)

    def _skipped(self, test: ElementTree.Element, message: str) -> None:
        self._numbers["skipped"] += 1
        ElementTree.SubElement(test, "skipped", message=message)


def clean(text: str) -> str:
    """Text without characters that XML does not allow; those that act on a terminal become visible."""
    return NO_XML.sub("�", _ACTING.sub(lambda found: visible(found[0]), text))
