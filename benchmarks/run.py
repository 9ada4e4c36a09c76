#!/usr/bin/env python3
"""Measures agentv-stream side by side with baselines and peers, and writes a table of ratios and the raw figures.

    python benchmarks/run.py                             # about three minutes, 200 MB
    python benchmarks/run.py --size 1GB --peers          # with AgentV's importer and ccusage, from $AGENTV_STREAM_PEERS
    python benchmarks/run.py --only speed,latency        # some sections

What the sections mean and how to read them: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from operator import le
from pathlib import Path

from generate import parse_size, write_folder, write_session
from harness import programs
from harness.latency import Latencies, measure
from harness.measure import Program, Series, interleave
from harness.table import Budget, markdown, speeds
from multiplied import multiply
from synthetic.claude import Dialect

HERE = Path(__file__).resolve().parent
SECTIONS = ("speed", "agentv", "many", "daily", "renderers", "memory", "latency", "start")

DAILY_BUDGETS = {1: (1.0, 2.0), 100: (0.65, 2.0), 1500: (1.0, 8.0), 5000: (0.5, 3.0)}
"""By number of sessions: the least ratios, asked for the first time and again."""


class Bench:
    """One run of the benchmarks: its folders, the sections of the report, the budgets seen, the raw figures."""

    def __init__(self, out: Path, rounds: int, seed: int) -> None:
        self.out = out
        self.rounds = rounds
        self.seed = seed
        self.scratch = out / "scratch"
        self.sections: list[str] = []
        self.budgets: list[Budget] = []
        self.raw: dict[str, object] = {}

    def session(self, dialect: Dialect, size: int) -> Path:
        """A session file of that size; made once and kept for the next run."""
        path = self.out / "data" / f"{dialect}-{size}-{self.seed}.jsonl"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            with part.open("wb", buffering=1 << 20) as out:
                write_session(out, size, dialect, self.seed)
            part.rename(path)
        return path

    def folder(self, sessions: int, total: int) -> Path:
        path = self.out / "data" / f"folder-{sessions}-{total}-{self.seed}"
        if not path.exists():
            part = path.with_suffix(".part")
            write_folder(part, sessions, total, "session", self.seed)
            part.rename(path)
        return path

    def multiplied(self, times: int) -> Path | None:
        """Real sessions, where a corpus of recordings is at hand."""
        corpus = os.environ.get("AGENTV_STREAM_CORPUS")
        if not corpus or not Path(corpus).is_dir():
            return None
        path = self.out / "data" / f"real-{times}"
        if not path.exists():
            part = path.with_suffix(".part")
            multiply(Path(corpus), part, times)
            part.rename(path)
        return path

    def compare(
        self, title: str, name: str, all_programs: list[Program], size: int, reference: str
    ) -> dict[str, Series]:
        print(title, file=sys.stderr)
        all_series = interleave(all_programs, self.rounds, self.scratch / "logs")
        self.raw[name] = [series.as_json() for series in all_series]
        self.sections.append(f"## {title}\n\n{speeds(all_series, size, reference)}")
        return {series.program.name: series for series in all_series if series.runs}

    def budget(self, what: str, budget: str, measured: float | None, good: Callable[[float], bool], form: str) -> None:
        shown = "–" if measured is None else form.format(measured)
        self.budgets.append(Budget(what, budget, shown, None if measured is None else good(measured)))


def _ratio(found: dict[str, Series], slow: str, fast: str, figure: Callable[[Series], float]) -> float | None:
    if slow not in found or fast not in found:
        return None
    return figure(found[slow]) / figure(found[fast])


def wall(series: Series) -> float:
    return series.wall


def processor(series: Series) -> float:
    return series.processor


def peak(series: Series) -> float:
    return series.peak


def speed(bench: Bench, size: int) -> None:
    source = bench.session("stream", size)
    title = f"One session of {source.stat().st_size / 1e6:,.0f} MB, stream dialect"
    found = bench.compare(
        title,
        "speed",
        [
            programs.count_json(source),
            programs.decode_only(source),
            programs.statistics(source),
            programs.stats(source),
            programs.consume(source, bench.scratch / "a"),
            programs.import_sessions(source, bench.scratch / "i", "--out"),
            programs.everything(source, bench.scratch / "b"),
            *programs.system_tools(source),
        ],
        source.stat().st_size,
        "json.loads counting loop",
    )
    for name, how in (("ours: stats --by day", "all cores"), ("ours: statistics only", "one core")):
        ratio = _ratio(found, "json.loads counting loop", name, wall)
        what = f"statistics against a json.loads counting loop, {how}"
        bench.budget(what, "≥ 2x its speed", ratio, lambda x: x >= 2, "{:.2f}x")
    ratio = _ratio(found, "ours: transcript", "decode only (msgspec, Raw payloads)", wall)
    bench.budget("whole chain with transcript against decode-only", "≤ 5x its time", ratio, lambda x: x <= 5, "{:.2f}x")


def agentv(bench: Bench, size: int) -> None:
    peers = programs.peers_folder()
    source = bench.session("session", size)
    importer = programs.agentv_import(peers, source, bench.scratch / "agentv") if peers else None
    found: dict[str, Series] = {}
    if importer is not None:
        found = bench.compare(
            f"Transcript of one session of {source.stat().st_size / 1e6:,.0f} MB on disk, against AgentV's importer",
            "agentv",
            [
                importer,
                programs.import_sessions(source, bench.scratch / "i", "--out"),
                programs.consume(source, bench.scratch / "c"),
            ],
            source.stat().st_size,
            importer.name,
        )
    name = "AgentV 4.42 importer (Node)"
    for ours, how in (("ours: import --out", "all cores"), ("ours: transcript", "one core")):
        ratio = _ratio(found, name, ours, wall)
        what = f"transcript against AgentV 4.42's importer, {how}"
        bench.budget(what, "≥ 6x its speed", ratio, lambda x: x >= 6, "{:.2f}x")
    share = _ratio(found, "ours: transcript", name, peak)
    bench.budget("memory against AgentV 4.42's importer", "≤ 1/10", share, lambda x: x <= 0.1, "{:.3f}")


def many(bench: Bench, shapes: list[tuple[int, int]]) -> None:
    """Folders of sessions: statistics against ccusage's native binary and plain loops; transcripts of all."""
    for sessions, total in shapes:
        _folder(bench, bench.folder(sessions, total), f"{sessions:,} sessions", f"many-{sessions}")
    real = bench.multiplied(20)
    if real is not None:
        _folder(bench, real, "real sessions, 20 times over", "many-real")


def _folder(bench: Bench, root: Path, what: str, name: str) -> None:
    peers = programs.peers_folder()
    files = list(root.rglob("*.jsonl"))
    size = sum(path.stat().st_size for path in files)
    other = programs.ccusage(peers, root, bench.scratch / "home") if peers else None
    ours = programs.stats(root)
    found = bench.compare(
        f"{what[:1].upper()}{what[1:]} in {len(files):,} files, {size / 1e6:,.0f} MB, all cores",
        name,
        [
            *([other] if other else []),
            ours,
            programs.stats_again(root, bench.scratch / "cache"),
            programs.import_sessions(root, bench.scratch / "import", "--out"),
            programs.import_sessions(root, bench.scratch / "dataset", "--parquet"),
            programs.count_folder(root),
            programs.decode_folder(root),
            programs.cat_folder(root),
        ],
        size,
        "ccusage (Rust)" if other else ours.name,
    )
    ratio = _ratio(found, "ccusage (Rust)", ours.name, wall)
    bench.budget(
        f"statistics of {what} against ccusage's native binary",
        "≥ 1.3x its speed",
        ratio,
        lambda x: x >= 1.3,
        "{:.2f}x",
    )


def daily(bench: Bench, shapes: list[tuple[int, int]]) -> None:
    """The same question, asked for the first time and again, beside ccusage's native binary."""
    peers = programs.peers_folder()
    for sessions, total in shapes:
        root, cache = bench.folder(sessions, total), bench.scratch / f"cache-{sessions}"
        other = programs.ccusage(peers, root, bench.scratch / "home") if peers else None
        ours = [programs.stats(root, cache), programs.stats_again(root, cache), programs.watch_again(root, cache)]
        ours.append(programs.stats_first(root, bench.scratch / f"first-{sessions}"))
        size = sum(path.stat().st_size for path in root.rglob("*.jsonl"))
        found = bench.compare(
            f"Daily: {sessions:,} sessions of {size / 1e6:,.0f} MB, all cores",
            f"daily-{sessions}",
            [*([other] if other else []), *ours],
            size,
            other.name if other else ours[0].name,
        )
        cold, again = DAILY_BUDGETS.get(sessions, (1.0, 2.0))
        for program, budget in zip(ours, (cold, again), strict=False):
            ratio = _ratio(found, "ccusage (Rust)", program.name, processor)
            what = f"{program.name} of {sessions:,} sessions against ccusage's native binary, processor time"
            bench.budget(what, f"≥ {budget:g}x", ratio, partial(le, budget), "{:.2f}x")


def renderers(bench: Bench) -> None:
    """A small folder, because the others are slow: every session to a transcript of the program's own kind."""
    peers = programs.peers_folder()
    root = bench.folder(20, 20_000_000)
    size = sum(path.stat().st_size for path in root.rglob("*.jsonl"))
    others = programs.renderers(peers, root, bench.scratch) if peers else []
    ours = programs.import_sessions(root, bench.scratch / "rendered", "--out")
    atif = programs.import_sessions(root, bench.scratch / "trajectories", "--atif")
    title = f"Transcripts of 20 sessions, {size / 1e6:,.0f} MB"
    bench.compare(title, "renderers", [ours, atif, *others], size, ours.name)


def shape(text: str) -> tuple[int, int]:
    """`100x50MB` as sessions and bytes."""
    sessions, _, size = text.partition("x")
    return int(sessions), parse_size(size)


def memory(bench: Bench, sizes: list[int]) -> None:
    ways: dict[str, Callable[[Path], Program]] = {
        "statistics only": programs.statistics,
        "transcript": lambda source: programs.consume(source, bench.scratch / "d"),
        "transcript + raw log + stats": lambda source: programs.everything(source, bench.scratch / "e"),
    }
    print("Peak memory", file=sys.stderr)
    rows: list[list[str]] = []
    raw: dict[str, list[int | None]] = {}
    worst: float | None = None
    for way, program in ways.items():
        peaks: list[int | None] = []
        for size in sizes:
            (series,) = interleave([program(bench.session("stream", size))], 1, bench.scratch / "logs", warm_up=False)
            peaks.append(series.peak if series.runs else None)
        raw[way] = peaks
        rows.append([way, *("–" if value is None else f"{value / 1e6:,.1f} MB" for value in peaks)])
        if peaks[0] is not None and peaks[-1] is not None:
            growth = (peaks[-1] - peaks[0]) / 1e6
            worst = growth if worst is None else max(worst, growth)
    head = ["way", *(f"{size / 1e6:,.0f} MB" for size in sizes)]
    bench.sections.append(f"## Peak memory by size of the session\n\n{markdown(head, rows)}")
    bench.raw["memory"] = {"sizes": sizes, "peaks": raw}
    what = f"peak memory, {sizes[-1] / 1e6:,.0f} MB against {sizes[0] / 1e6:,.0f} MB"
    bench.budget(what, "at most 10 MB more", worst, lambda x: x <= 10, "{:+.1f} MB")


def latency(bench: Bench) -> None:
    source = bench.session("stream", 10_000_000)
    rows: list[list[str]] = []
    raw: dict[str, object] = {}
    worst: float | None = None
    cases = (
        ("raw stream log, each record", "raw", "stream", False),
        ("transcript row, at the next answer", "false", "transcript", True),
    )
    for name, kind, ending, whole_rows in cases:
        out = bench.scratch / f"latency-{kind}"
        program = programs.piped(out, kind)
        if program.before is not None:
            program.before()
        print(f"Latency: {name}", file=sys.stderr)
        seen: Latencies = measure(program.command, out, source, ending=ending, whole_rows=whole_rows)
        raw[name] = seen.as_json()
        values = [seen.percentile(part) for part in (0.5, 0.9, 0.99, 1.0)]
        rows.append([name, *("–" if value is None else f"{value:.2f} ms" for value in values), str(seen.missed)])
        if values[2] is not None:
            worst = values[2] if worst is None else max(worst, values[2])
    head = ["effect", "p50", "p90", "p99", "max", "not seen"]
    bench.sections.append(f"## A record on the pipe until its effect\n\n{markdown(head, rows)}")
    bench.raw["latency"] = raw
    bench.budget("a record on the pipe until its effect, p99", "under 10 ms", worst, lambda x: x < 10, "{:.2f} ms")


def start(bench: Bench) -> None:
    empty = bench.scratch / "empty.jsonl"
    empty.parent.mkdir(parents=True, exist_ok=True)
    empty.write_bytes(b"")
    nothing = Program("python -c pass", [sys.executable, "-c", "pass"])
    ours = programs.consume(empty, bench.scratch / "f", name="ours: consume, empty input", accepted=(0, 3))
    all_series = interleave([nothing, ours], max(7, bench.rounds), bench.scratch / "logs")
    found = {series.program.name: series for series in all_series if series.runs}
    rows = [[name, f"{series.wall * 1000:.0f} ms", f"{series.peak / 1e6:.0f} MB"] for name, series in found.items()]
    bench.sections.append(f"## Start-up\n\n{markdown(['program', 'wall', 'peak'], rows)}")
    bench.raw["start"] = [series.as_json() for series in found.values()]
    took = found[ours.name].wall * 1000 if ours.name in found else None
    bench.budget("start-up of consume on empty input", "under 250 ms", took, lambda x: x < 250, "{:.0f} ms")
    extra = _foreign_imports()
    shown = "–" if extra is None else ", ".join(extra) or "msgspec only"
    what = "import agentv_stages: msgspec and the standard library only"
    bench.budgets.append(Budget(what, "nothing else", shown, None if extra is None else not extra))


def _foreign_imports() -> list[str] | None:
    """Top-level modules that all of agentv_stages loads beside msgspec and the standard library."""
    code = (
        "import sys, pkgutil, importlib, msgspec; before = set(sys.modules); import agentv_stages as a\n"
        "for m in pkgutil.walk_packages(a.__path__, 'agentv_stages.'): importlib.import_module(m.name)\n"
        "new = {n.partition('.')[0] for n in set(sys.modules) - before} - set(sys.stdlib_module_names)\n"
        "print(' '.join(sorted(n for n in new if n != 'agentv_stages')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else None


def environment() -> dict[str, str]:
    found = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "python": platform.python_version()}
    for package in ("agentv-stream", "msgspec", "anyio"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    built = [name for name in ("--enable-optimizations", "--with-lto", "--enable-shared") if name in options]
    found["python built"] = f"{' '.join(built) or 'without optimizations'}, {platform.python_compiler()}"
    found["machine"] = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    found["load"] = f"{os.getloadavg()[0]:.1f} at the end"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default="200MB", help="size of the one session")
    parser.add_argument(
        "--folders", default="1x100MB,100x100MB,5000x500MB", help="folders of sessions: how many, and their size"
    )
    parser.add_argument("--daily", default="1x100MB,100x100MB,1500x3GB,5000x500MB", help="as --folders, asked again")
    parser.add_argument("--memory", default="10MB,100MB,1GB", help="sizes for peak memory, smallest first")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, of " + ", ".join(SECTIONS))
    parser.add_argument("--peers", action="store_true", help=f"compare with the programs in ${programs.PEERS_VARIABLE}")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="folder for data, scratch files and results")
    arguments = parser.parse_args()
    wanted = [name.strip() for name in arguments.only.split(",")]
    unknown = sorted(set(wanted) - set(SECTIONS))
    if unknown:
        parser.error(f"no such section: {', '.join(unknown)}")
    if arguments.peers and programs.peers_folder() is None:
        parser.error(f"--peers needs the variable {programs.PEERS_VARIABLE}: a folder with node_modules")
    if not arguments.peers:
        os.environ.pop(programs.PEERS_VARIABLE, None)
    # An installed program has its byte code; without it every run of ours, and of no native peer, compiles its source.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    bench = Bench(arguments.out, arguments.rounds, arguments.seed)
    if "speed" in wanted:
        speed(bench, arguments.size)
    if "agentv" in wanted:
        agentv(bench, arguments.size)
    if "many" in wanted:
        many(bench, [shape(part) for part in arguments.folders.split(",")])
    if "daily" in wanted:
        daily(bench, [shape(part) for part in arguments.daily.split(",")])
    if "renderers" in wanted:
        renderers(bench)
    if "memory" in wanted:
        memory(bench, sorted(parse_size(part) for part in arguments.memory.split(",")))
    if "latency" in wanted:
        latency(bench)
    if "start" in wanted:
        start(bench)

    about = environment()
    budgets = markdown(["what", "budget", "measured", ""], [budget.row() for budget in bench.budgets])
    facts = " · ".join(f"{name} {value}" for name, value in about.items())
    report = (
        f"# Benchmark\n\n{facts}; medians of {arguments.rounds} interleaved rounds.\n\n## Budgets\n\n{budgets}\n"
        + "\n".join(bench.sections)
    )
    stamp = about["date"][:19].replace(":", "")
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / f"{stamp}.md").write_text(report)
    raw = {
        "environment": about,
        "arguments": {k: str(v) for k, v in vars(arguments).items() if k != "out"},
        "results": bench.raw,
    }
    (arguments.out / f"{stamp}.json").write_text(json.dumps(raw, indent=1) + "\n")
    print(report)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
