"""Verdicts on the sessions of bulk work. In: specs. Out: a checker for each session, and its rows of table `verdicts`.

A worker reads the specs itself, once. Their digest is in the work: a worker that reads something else refuses.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec import Struct

from agentv_stages.session.parts import Parts
from agentv_stages.trajectory.verdict import Evidence, Result
from agentv_stream.bulk import object_store
from agentv_stream.bulk.rows import cut
from agentv_stream.bulk.unit import Checks, Unit, printable
from agentv_stream.checks.check import Checker, cases_for, cases_of_source, verdicts_json
from agentv_stream.checks.spec import Spec, SpecCase, check_judges, load_spec
from agentv_stream.errors import UsageError


class Loaded(Struct, frozen=True):
    """Specs as they were read. `digest` covers their cases with all that these take from other files."""

    specs: tuple[Spec, ...]
    case: str | None
    digest: str

    @property
    def warnings(self) -> list[str]:
        """For people, each with file and line."""
        return [warning for spec in self.specs for warning in spec.warnings]

    @property
    def checks(self) -> Checks:
        """The form in which workers get them. Raises: UsageError for a file name that JSON cannot hold."""
        for spec in self.specs:
            if printable(str(spec.path))[1] is not None:
                raise UsageError(f"{spec.path}: the name of a spec must be UTF-8 text here")
        return Checks(tuple(str(spec.path) for spec in self.specs), self.case, self.digest)

    def cases_of(self, unit: Unit) -> list[tuple[Spec, SpecCase]]:
        """The cases that apply to a session, as `check` chooses them."""
        if unit.session is None and not object_store.is_url(unit.source):
            return cases_of_source(Path(unit.place), self.specs, self.case)
        return cases_for(unit.name.rpartition("/")[2], self.specs, self.case)


def load_specs(paths: Sequence[str | PathLike[str]], case: str | None = None) -> Loaded:
    """Reads specs; `case` chooses one of their cases. Raises: SpecError, UsageError."""
    return loaded([load_spec(Path(os.fspath(path)).absolute()) for path in paths], case)


def loaded(specs: Sequence[Spec], case: str | None = None) -> Loaded:
    """The specs, which were read before. Raises: SpecError, UsageError."""
    specs = tuple(replace(spec, path=spec.path.absolute()) for spec in specs)
    check_judges(specs)
    cases_for("", specs, case)
    text = "\0".join(repr((m.id, m.context, [item.config for item in m.items])) for spec in specs for m in spec.cases)
    digest = blake2b(f"{text}\0{case}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return Loaded(specs, case, digest)


@lru_cache(4)
def _loaded(checks: Checks) -> Loaded:
    """Raises: SpecError, UsageError."""
    loaded = load_specs(checks.specs, checks.case)
    if loaded.digest != checks.digest:
        raise UsageError(f"{', '.join(checks.specs)}: the specs are not those with which the run began")
    return loaded


class SessionCheck:
    """The cases of one session. Feed `checker`; when the session has ended, `verdicts` and `rows` are the outcome."""

    def __init__(self, checks: Checks, unit: Unit, parts: Parts) -> None:
        chosen = _loaded(checks).cases_of(unit)
        self.checker = Checker([case for _, case in chosen])
        self.checker.parts = parts
        self._specs = [str(spec.path) for spec, _ in chosen]

    @property
    def verdicts(self) -> list[Any]:
        """The outcome of each case, for the session's result."""
        return verdicts_json(self.checker.finish())

    def rows(self, key: str) -> Iterator[tuple[Any, ...]]:
        """The rows of table `verdicts` of this session."""
        for i, (spec, result) in enumerate(zip(self._specs, self.checker.finish(), strict=True)):
            failed = [member for member in result.evaluators if member.verdict == "fail"]
            at = result.decided.at if result.decided is not None else None
            yield (
                key,
                i,
                cut(spec, 4096),
                cut(result.case, 1000),
                result.verdict,
                result.score,
                result.threshold,
                [cut(member.name, 1000) for member in failed],
                cut(_first_failure(failed), 1000),
                self._turn(at),
                at.offset if at is not None else None,
            )

    def _turn(self, at: Evidence | None) -> int | None:
        return None if at is None else self.checker.turns.turn(at)


def _first_failure(failed: Iterable[Result]) -> str | None:
    """The first assertion that failed, of the first evaluator that has one."""
    for member in failed:
        for assertion in member.assertions:
            if not assertion.passed:
                return assertion.text
    return None
