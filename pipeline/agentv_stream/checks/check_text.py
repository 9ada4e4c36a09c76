"""Outcomes of checks for people and for build servers: a terminal table, JUnit XML."""

import re
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from agentv_stages.model.visible import counted, visible
from agentv_stages.trajectory import Assertion, CaseResult, Decision, Evidence, Result
from agentv_stream.checks.check import SourceCheck, summary_of

NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MARKS = {"pass": "PASS", "fail": "FAIL", "skipped": "skip"}


def table(checks: Sequence[SourceCheck], width: int = 120, details: bool = True) -> str:
    """The terminal's table: a block for each source, a row for each evaluator, with reasons below a failed one."""
    lines: list[str] = []
    for check in checks:
        who = f"  [{check.provider}]" if check.provider else ""
        if check.run_failed:
            who += f"  {visible(_how(check), width)}"  # this affects the exit code, too
        lines.append(visible(check.source, width - 20) + who)
        if check.error is not None:
            lines.append(f"  ERROR {visible(str(check.error).removeprefix(f'{check.source}: '), width - 8)}")
        for case in check.cases:
            lines += case_lines(case, width, details)
        lines += [f"  warning: {visible(text, width - 11)}" for text in check.warnings]
    total = summary_of(checks)
    unread = total.pop("errors")
    parts = [f"{number} {name}" for name, number in total.items() if number]
    lines.append("cases: " + (", ".join(parts) or "none") + (f"; {unread} not read" if unread else ""))
    return "\n".join(lines) + "\n"


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
    given: Counter[tuple[str, str]] = Counter()

    def test_of(suite: ElementTree.Element, check: SourceCheck, case: str, name: str) -> ElementTree.Element:
        told = clean(f"{name} [{check.source}]" if sources[case] > 1 else name)
        given[clean(case), told] += 1
        if (times := given[clean(case), told]) > 1:
            return test_of(suite, check, case, f"{name} ({times})")
        return ElementTree.SubElement(suite, "testcase", classname=clean(case), name=told)

    root = ElementTree.Element("testsuites", name="agentv-stream check")
    for check in checks:
        suite = ElementTree.SubElement(root, "testsuite", name=clean(check.source))
        numbers = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        if check.error is not None:
            test = ElementTree.SubElement(suite, "testcase", classname=clean(check.source), name="read")
            ElementTree.SubElement(test, "error", message=clean(str(check.error)))
            numbers["tests"] += 1
            numbers["errors"] += 1
        if check.run_failed:
            test = ElementTree.SubElement(suite, "testcase", classname=clean(check.source), name="run")
            ElementTree.SubElement(test, "error", message=clean(_how(check)))
            numbers["tests"] += 1
            numbers["errors"] += 1
        for case in check.cases:
            for result in case.evaluators:
                numbers["tests"] += 1
                test = test_of(suite, check, case.case, result.name)
                if result.verdict == "fail":
                    numbers["failures"] += 1
                    failed = [a.text for a in result.assertions if not a.passed]
                    message = clean(failed[0]) if failed else "failed"
                    node = ElementTree.SubElement(test, "failure", message=message, type=clean(result.type))
                    node.text = clean("\n".join(failed))
                elif result.verdict == "skipped":
                    numbers["skipped"] += 1
                    ElementTree.SubElement(test, "skipped", message=clean(result.reason or ""))
            numbers["tests"] += 1
            test = test_of(suite, check, case.case, "case")
            if case.verdict == "fail":
                numbers["failures"] += 1
                text = f"score {case.score:.3f}, threshold {case.threshold:g}"
                ElementTree.SubElement(test, "failure", message=text, type="case")
            elif case.verdict == "skipped":
                numbers["skipped"] += 1
                ElementTree.SubElement(test, "skipped", message="every evaluator was skipped")
        for name, number in numbers.items():
            suite.set(name, str(number))
    ElementTree.indent(root)
    data: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def clean(text: str) -> str:
    """Text without the characters that are not allowed in XML."""
    return NO_XML.sub("�", text)
