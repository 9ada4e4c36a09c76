"""Records a fingerprint of every output over a corpus, and compares two recordings.

    PYTHONPATH=tests python -m support.fingerprint record CORPUS OUT.json [--sample N] [--only TEXT] [--keep DIR]
    PYTHONPATH=tests python -m support.fingerprint compare OLD.json NEW.json

A recording maps `file > operation` to the exit code, a hash of each file written, of standard output, and (apart, since
texts for people may change) of standard error. Operations are the commands, run in a forked process, and `open_stream`
on the file cut into chunks of 4 KiB and of one byte. The clock is pinned. `--keep` keeps what was written, to look at.
"""

import argparse
import asyncio
import gc
import hashlib
import importlib
import json
import multiprocessing
import os
import pkgutil
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

NOT_LOGS = {".md", ".yaml", ".tsv", ".csv", ".js", ".err"}
ONE_BYTE_CHUNKS = 64 * 1024  # files up to this size are also read byte by byte
CLOCK = 1_800_000_000.0
VOLATILE = re.compile(
    rb'"(seconds|updated_at|modified|size_on_disk|age_seconds|created_at|read_at|release|version_of_stats)":\s*[^,}\]]+'
)
SPEC = """\
tests:
  - id: one
    assertions:
      - type: tool-trajectory
        mode: any_order
        minimums: {Bash: 1, Read: 1}
      - {type: max-turns, max: 5}
      - {type: forbid, calls: ["Bash(rm *)", "Edit(/etc/**)"]}
"""

Record = dict[str, Any]


def logs(corpus: Path) -> list[Path]:
    """Every file of the corpus that may be a log, sorted."""
    return sorted(p for p in corpus.rglob("*") if p.is_file() and p.suffix not in NOT_LOGS)


def commands(log: Path, spec: Path) -> Iterator[tuple[str, list[str]]]:
    """The commands that read one file, as arguments. `{out}` stands for the folder of outputs."""
    for shape, stream_log in (("message", "raw"), ("case", "summary"), ("atif", "false")):
        options = ["--transcript-shape", shape, "--stream-log", stream_log, "--stats", "{out}/result.json", "-q"]
        yield f"consume {shape}", ["consume", "--out", "{out}", *options, str(log)]
    yield "stats", ["stats", "--json", "-", "-q", "--engine", "serial", str(log)]
    yield "show", ["show", "--json", str(log)]
    yield "check", ["check", str(spec), str(log), "--json"]


def folder_commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The commands that read a folder."""
    for engine in ("serial", "process"):
        places = ("--out", "{out}/transcripts", "--jsonl", "{out}/results.jsonl", "--atif", "{out}/atif")
        options = [*places, "--parquet", "{out}/data", "--engine", engine, "-q", "--json", "{out}/report.json"]
        yield f"import {engine}", ["import", *options, str(folder)]
    yield "stats by model", ["stats", "--by", "model", "--json", "-", "-q", str(folder)]
    yield "tail", ["tail", "--once", str(folder), "--out", "{out}", "--state", "{out}/state", "-q"]
    yield "sessions", ["sessions", "--json", "--root", str(folder)]


def _run_command(arguments: list[str], out: Path) -> Callable[[], int]:
    def run() -> int:
        from agentv_stream.cli import main

        sys.argv = ["agentv-stream", *(a.replace("{out}", str(out)) for a in arguments)]
        try:
            main()
        except SystemExit as done:
            return done.code if isinstance(done.code, int) else 0
        return 0

    return run


def _run_stream(log: Path, size: int, out: Path) -> Callable[[], int]:
    """`open_stream` on an async iterable of chunks of `size` bytes; its events are written down one a line."""

    async def chunks() -> AsyncIterator[bytes]:
        data = log.read_bytes()
        for at in range(0, len(data), size):
            yield data[at : at + size]

    async def read() -> int:
        from agentv_stream import AgentvStreamError, Settings, open_stream

        settings = Settings(out=out, stream_log="raw", transcript=str(out / "transcript.jsonl"))
        try:
            async with open_stream(chunks(), settings=settings, transcript=True) as stream:
                kinds = [type(event).__name__ async for event in stream.events()]
            (out / "events").write_text("\n".join(kinds), encoding="utf-8")
            (out / "result").write_bytes(stream.result.to_json() if stream.result is not None else b"")
        except AgentvStreamError as error:
            return error.exit_code
        return 0

    return lambda: asyncio.run(read())


def _forked(run: Callable[[], int], out: Path) -> int:
    """Runs in a child with its standard streams in `out`; returns the exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            for number, name in ((1, "stdout"), (2, "stderr")):
                handle = os.open(out / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                os.dup2(handle, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.chdir(out)
            code = run()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _content(path: Path, out: Path) -> bytes:
    if path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        table: Any = parquet.read_table(path)  # pyright: ignore[reportUnknownMemberType] - partial stubs
        return json.dumps(table.to_pylist(), default=str, sort_keys=True).encode()
    return VOLATILE.sub(b"", path.read_bytes().replace(os.fsencode(out.parent), b""))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _fingerprint(out: Path, code: int) -> Record:
    # rows of a data set may lie in any of its files, and a file's name holds a random part
    files: dict[str, list[str]] = {}
    said = ""
    for path in sorted(out.rglob("*")):
        if not path.is_file() or {"state", "_state"} & {*path.relative_to(out).parts}:
            continue
        name = str(path.relative_to(out))
        content = _hash(_content(path, out))
        if name == "stderr":
            said = content
        else:
            files.setdefault(re.sub(r"part-[\w-]+|state-\w+|run-[\w-]+", "*", name), []).append(content)
    return {"code": code, "files": {name: sorted(found) for name, found in files.items()}, "said": said}


def _operations(log: Path, corpus: Path, spec: Path, out: Path) -> Iterator[tuple[str, Callable[[], int]]]:
    name = str(log.relative_to(corpus))
    if log.is_dir():
        for title, arguments in folder_commands(log):
            yield f"{name} > {title}", _run_command(arguments, out)
        return
    for title, arguments in commands(log, spec):
        yield f"{name} > {title}", _run_command(arguments, out)
    for size in (4096, *((1,) if log.stat().st_size <= ONE_BYTE_CHUNKS else ())):
        yield f"{name} > chunks of {size}", _run_stream(log, size, out)


def _record(work: tuple[Path, Path, Path | None]) -> dict[str, Record]:
    log, corpus, keep = work
    found: dict[str, Record] = {}
    with tempfile.TemporaryDirectory(prefix="fingerprint-") as folder:
        spec = Path(folder, "spec.yaml")
        spec.write_text(SPEC, encoding="utf-8")
        os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = os.environ["XDG_CACHE_HOME"] = folder
        out = Path(folder, "out")
        for key, run in _operations(log, corpus, spec, out):
            out.mkdir()
            found[key] = _fingerprint(out, _forked(run, out))
            if keep is not None:
                shutil.copytree(out, keep / re.sub(r"[^\w.-]+", "_", key), dirs_exist_ok=True, symlinks=True)
            shutil.rmtree(out)
    return found


def _import_all() -> None:
    """Imports what the commands would import, once, before the forks."""
    import agentv_stages
    import agentv_stream

    for package in (agentv_stages, agentv_stream):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    importlib.import_module("anyio._backends._asyncio")
    gc.freeze()


def record(corpus: Path, out: Path, sample: int, only: str, keep: Path | None) -> None:
    """Writes the recording of a corpus; of `sample` files chosen at random (always the same) if it is not 0."""
    time.time = lambda: CLOCK  # before anything of the program is imported
    time.time_ns = lambda: int(CLOCK * 1e9)
    _import_all()
    work = logs(corpus) + sorted(p for p in corpus.glob("*/*") if p.is_dir())
    work = [path for path in work if only in str(path.relative_to(corpus))]
    if sample:
        work = sorted(random.Random(0).sample(work, min(sample, len(work))))
    found: dict[str, Record] = {}
    with multiprocessing.get_context("fork").Pool(os.cpu_count(), maxtasksperchild=50) as pool:
        for part in pool.imap_unordered(_record, [(path, corpus, keep) for path in work], chunksize=1):
            found |= part
    out.write_text(json.dumps(dict(sorted(found.items())), indent=0), encoding="utf-8")
    sys.stdout.write(f"{len(found)} operations on {len(work)} files and folders\n")


def compare(old: Path, new: Path) -> int:
    """Prints what differs; returns 1 if anything but a text for people does. Keys of the smaller recording count."""
    before: dict[str, Record] = json.loads(old.read_text(encoding="utf-8"))
    after: dict[str, Record] = json.loads(new.read_text(encoding="utf-8"))
    shared = before.keys() & after.keys()
    texts = differences = 0
    for key in sorted(shared):
        one, other = before[key], after[key]
        files, others = one["files"], other["files"]
        names = sorted(name for name in files.keys() | others.keys() if files.get(name) != others.get(name))
        if one["code"] != other["code"] or names:
            differences += 1
            sys.stdout.write(f"{key}: code {one['code']} → {other['code']}; {', '.join(names)}\n")
        elif one["said"] != other["said"]:
            texts += 1
    sys.stdout.write(
        f"{len(shared)} operations compared: {differences} differ, {texts} differ in standard error only\n"
    )
    return 1 if differences else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, dest="verb")
    recording = verbs.add_parser("record")
    recording.add_argument("corpus", type=Path)
    recording.add_argument("out", type=Path)
    recording.add_argument("--sample", type=int, default=0)
    recording.add_argument("--only", default="")
    recording.add_argument("--keep", type=Path)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    options = parser.parse_args()
    if options.verb == "compare":
        return compare(options.old, options.new)
    record(options.corpus.resolve(), options.out, options.sample, options.only, options.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
