"""Verdicts on a finished session: `check`, and its async form `check_async`."""

from functools import partial
from os import PathLike, fspath
from pathlib import Path

from agentv_stages.trajectory import CaseResult
from agentv_stream.api.session import IN_MEMORY, Session, Source, located
from agentv_stream.checks.check import Checker, cases_of_source
from agentv_stream.checks.spec import Spec, check_judges, load_spec
from agentv_stream.stores.store import split_stored
from agentv_stream.summary import without_collector


def check(
    session: Session | Source,
    spec: Spec | str | PathLike[str],
    *,
    case: str | None = None,
    threshold: float | None = None,
) -> list[CaseResult]:
    """The verdicts of a spec on a session: one for each of its cases that applies, as `agentv-stream check` gives them.

    A session is judged by the named `case`, otherwise by the case that its file is named after, otherwise by all.
    `threshold` (0 to 1) overrides those of the spec.

    Raises: SpecError (a mistake in the spec, or a case that it does not have), UsageError (a spec that judges nothing),
    and as `read`.
    """
    source = session if isinstance(session, Session) else located(session)
    loaded = spec if isinstance(spec, Spec) else load_spec(fspath(spec), threshold)
    check_judges([loaded])
    path = None if source.path == IN_MEMORY or split_stored(source.path)[1] else Path(source.path)
    checker = Checker([chosen for _, chosen in cases_of_source(path, [loaded], case)])
    with without_collector():
        for batch in source.batches():
            checker.observe(batch)
    return checker.finish()


async def check_async(
    session: Session | Source,
    spec: Spec | str | PathLike[str],
    *,
    case: str | None = None,
    threshold: float | None = None,
) -> list[CaseResult]:
    """As `check`, without blocking the event loop."""
    from anyio.to_thread import run_sync

    return await run_sync(partial(check, session, spec, case=case, threshold=threshold))
