"""The figures of many sessions, by group. In: sources. Out: an outcome with a summary; only kept figures are written.

The modules that read logs are imported if a session is new or changed: most answers come from figures that an earlier
run kept.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from agentv_stages.model.visible import counted
from agentv_stream.bulk.collecting import Watch, collect, reports_of
from agentv_stream.bulk.find import Sources, Trouble, find_units, listed
from agentv_stream.bulk.grouping import Grouping, dimensions_of
from agentv_stream.bulk.outcome import Outcome, failures_of, note_copies
from agentv_stream.bulk.unit import Unit, Work
from agentv_stream.discovery.period import ALWAYS, IN_UTC, Period, Zone
from agentv_stream.names import named_provider

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from agentv_stages.session.parts import MakeStage


def summarize_groups(
    sources: Sources | None,
    *,
    by: str | Sequence[str] = "all",
    zone: Zone = IN_UTC,
    period: Period = ALWAYS,
    engine: "str | Executor" = "process",
    workers: int | None = None,
    provider: str | None = None,
    subagents: bool = True,
    prices: bool | None = False,
    sequences: bool = False,
    records: "Iterable[MakeStage]" = (),
    stages: "Iterable[MakeStage]" = (),
    cache: bool = False,
    roots: Sequence[str] = (),
    machine: str | None = None,
    on_found: Callable[[int, int], None] | None = None,
    on_report: Watch | None = None,
) -> Outcome:
    """The figures of many sessions, merged by group, in `summary` (`groups`, `total()`); nothing is written. `sources`
    None are all sessions of all agents on this machine.

    `by` is one or two (`day,model`) of all, machine (the name `machine`, the same for all sessions), provider, project
    (the Git repository, otherwise the folder), branch, session, model, hour, day, week and month; with `tool` the
    figures' `tools` distinguish them. `below` of the summary has the groups within the groups. Figures belong to the
    time and model of their calls, in `zone`; only those in `period` count. `sequences` keeps each session's tools in
    order. `prices` adds estimated costs (extra `prices`; None: if it is installed). `cache` keeps the figures of each
    session between runs, and reads only new or changed sessions (`cached` counts the others); with `sequences`,
    `records` or `stages` everything is read.
    The other arguments are as for `import_sessions`. Summaries of several runs are merged by `Summary.merge`, in any
    order; msgspec writes and reads them as JSON.

    Raises: UsageError, SourceError (none of the sources exists).
    """
    begun = time.monotonic()
    named_provider(provider)
    rates = None
    if prices is not False:
        from agentv_stream.costs.rates import rates_if

        rates = rates_if(prices)
    grouping = Grouping(dimensions_of(by), zone, period, None if rates is None else rates.estimate, machine)
    trouble: Trouble = []
    units = _units(sources, provider, roots, trouble)
    kept = None
    own_records, own_stages = _names_of("records", records), _names_of("stages", stages)
    keeps = cache and not (sequences or own_records or own_stages)
    work = Work(
        results=False, apart=True, dated=keeps or grouping.needs_spans, sequences=sequences, provider=provider,
        subagents=subagents, records=own_records, stages=own_stages,
    )  # fmt: skip
    if keeps:
        from agentv_stream.bulk.kept_figures import KeptFigures
        from agentv_stream.discovery.places import cache_file

        kept = KeptFigures(cache_file(), work, rates)
    elif rates is not None:
        from agentv_stream.discovery.kept_rates import read_rates

        read_rates(rates)
    outcome = Outcome(found=len(units), failures=failures_of(trouble))
    note_copies(units, outcome)
    if on_found is not None:
        on_found(len(units), sum(unit.size for unit in units))
    known, waiting = ([], units) if kept is None else kept.take(units)
    with reports_of(work, waiting, engine, workers) as read:
        collect(chain(known, read), units, outcome, on_report, kept=kept, grouping=grouping)
    if rates is not None and outcome.summary.total().estimated:
        outcome.price_table = rates.table
    if grouping.undated:
        outcome.notes.append(f"{counted(grouping.undated, 'session')} without times are in no period")
    if kept is not None:
        kept.save()
        outcome.cached = kept.held
        outcome.notes += kept.notes
    outcome.seconds = time.monotonic() - begun
    return outcome


def _units(sources: Sources | None, provider: str | None, roots: Sequence[str], trouble: Trouble) -> list[Unit]:
    if sources is not None:
        return find_units(listed(sources), provider, roots, trouble)
    from agentv_stream.bulk.all_agents import agents_units
    from agentv_stream.discovery.places import find_roots

    return agents_units(find_roots(provider=provider, configured=roots), trouble)


def _names_of(option: str, parts: "Iterable[MakeStage]") -> tuple[str, ...]:
    if not parts:
        return ()
    from agentv_stream.bulk.own_stages import names_of

    return names_of(option, parts)
