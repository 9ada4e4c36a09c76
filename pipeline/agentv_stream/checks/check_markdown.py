"""Outcomes of checks for a build server: Markdown for a summary or a comment, and annotations of the spec's lines.

Text of agents stands in fences and code spans that it cannot leave; control characters are visible, no name is pinged.
"""

import re
from collections.abc import Iterator, Sequence

from agentv_stages.model.visible import visible
from agentv_stages.trajectory import CaseResult, Result
from agentv_stream.checks.check import SourceCheck
from agentv_stream.checks.check_text import failure_lines, summary_line

MOST_BYTES = 1_000_000  # GitHub takes 1 MiB a step, of a comment 65,536 characters
MOST_COMMENT = 60_000
MOST_ANNOTATIONS = 10  # GitHub shows so many errors a step
MOST_FAILURES = 50
_ICONS = {"pass": "✅", "fail": "❌", "skipped": "⏭️"}
_WIDTH = 120


def marker(name: str) -> str:
    """The hidden first line by which a comment of this name is found again."""
    return f"<!-- agentv-stream:{re.sub(r'[^A-Za-z0-9._-]', '-', name)} -->"


def markdown(checks: Sequence[SourceCheck], name: str, most: int = MOST_BYTES) -> str:
    """A table of all cases, then each failure in full, at most `most` bytes; the first line is the marker of `name`."""
    lines = [marker(name), f"### {code(name)}: {summary_line(checks).strip()}", ""]
    lines += ["| | case | run | score | first failure |", "|---|---|---|---:|---|"]
    lines += [_row(check, case) for check in checks for case in check.cases]
    lines += [
        f"| ⚠️ | | {code(check.source)} | | {code(str(check.error or f'the run ended: {check.status}'))} |"
        for check in checks
        if check.error is not None or check.run_failed
    ]
    failures = [(check, case) for check in checks for case in check.cases if case.verdict == "fail"]
    for check, case in failures[:MOST_FAILURES]:
        lines += ["", f"<details><summary>{_html(case.case)} · {_html(check.source)}</summary>", ""]
        lines += [*fenced([line.rstrip() for line in failure_lines(case, _WIDTH, check.turns)]), "", "</details>"]
    if len(failures) > MOST_FAILURES:
        lines += ["", f"… and {len(failures) - MOST_FAILURES} more failures"]
    return _cut(lines, most)


def _row(check: SourceCheck, case: CaseResult) -> str:
    score = "" if case.score is None else f"{case.score:.2f}"
    return (
        f"| {_ICONS[case.verdict]} | {code(case.case)} | {code(check.source)} | {score} | {code(first_failure(case))} |"
    )


def first_failure(case: CaseResult) -> str:
    """The first failed assertion of a case, with the name of its evaluator; "" if none failed."""
    for result in case.evaluators:
        if result.verdict == "fail":
            return f"{result.name}: {_reason(result)}"
    return "" if case.verdict != "fail" else f"score {case.score:.2f} is below {case.threshold:g}"


def _reason(result: Result) -> str:
    return next((assertion.text for assertion in result.assertions if not assertion.passed), "failed")


def code(text: str) -> str:
    """Text as a code span for a table: nothing in it is Markdown, a mention or the end of the cell."""
    shown = visible(" ".join(text.split()), 200)
    if not shown:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    pad = " " if "`" in shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}".replace("|", "\\|")


def fenced(lines: Sequence[str]) -> list[str]:
    """Lines in a fence that is longer than any in them."""
    longest = max((len(found) for line in lines for found in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *(visible(line, 400) for line in lines), fence]


def _html(text: str) -> str:
    shown = visible(text, 200).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<code>{shown}</code>"


def _cut(lines: Sequence[str], most: int) -> str:
    """As many whole lines as fit; an open fence and an open fold are closed."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > most - 200:
            fences = [line for line in kept if re.fullmatch("`{3,}(text)?", line)]
            kept += [fences[-1].removesuffix("text")] if fences and fences[-1].endswith("text") else []
            folds = sum(line.startswith("<details>") for line in kept) - kept.count("</details>")
            kept += ["", *["</details>"] * folds, "… cut"]
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def github_annotations(checks: Sequence[SourceCheck]) -> Iterator[str]:
    """Workflow commands of GitHub: an error for each failed evaluator, at its line; past ten, their number."""
    found = [command for check in checks for command in _annotations(check)]
    yield from found[:MOST_ANNOTATIONS]
    if len(found) > MOST_ANNOTATIONS:
        yield f"::notice::{len(found) - MOST_ANNOTATIONS} more failures are in the summary"


def _annotations(check: SourceCheck) -> Iterator[str]:
    if check.error is not None or check.run_failed:
        yield _command(str(check.error or f"the run ended: {check.status}"), f"{check.source} was not judged", None)
    for case, places in zip(check.cases, check.places, strict=True):
        for result, place in zip(case.evaluators, places, strict=True):
            if result.verdict == "fail":
                yield _command(f"{_reason(result)} ({check.source})", f"{case.case}: {result.name}", place)


def _command(text: str, title: str, place: tuple[str, int] | None) -> str:
    where = [] if place is None else [f"file={_property(place[0])}", f"line={place[1]}"]
    return f"::error {','.join([*where, f'title={_property(title)}'])}::{_data(text)}"


def _data(text: str) -> str:
    return visible(text, 400).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
