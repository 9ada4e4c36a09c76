"""The programs that are compared: ours in its ways of use, and the baselines; each with the command that runs it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from harness.measure import Program

HERE = Path(__file__).resolve().parent.parent
PEERS_VARIABLE = "AGENTV_STREAM_PEERS"
"""A folder with a `node_modules` that holds @agentv/core 4.42 and ccusage's native package."""


def _ours() -> str:
    """The console script beside this interpreter, so that what is measured is what this environment installed."""
    return str(Path(sys.executable).parent / "agentv-stream")


def _cleared(folder: Path) -> Callable[[], None]:
    def clear() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    return clear


def consume(
    source: Path, out: Path, *extra: str, name: str = "ours: transcript", accepted: tuple[int, ...] = (0,)
) -> Program:
    command = [_ours(), "consume", str(source), "--out", str(out), "--no-live", "--quiet", *extra]
    return Program(name, command, before=_cleared(out), accepted=accepted)


def piped(out: Path, stream_log: str) -> Program:
    """Reads standard input: the way it is used behind an agent."""
    command = [_ours(), "consume", "--out", str(out), "--no-live", "--quiet", "--stream-log", stream_log]
    return Program("ours: on a pipe", command, before=_cleared(out))


def everything(source: Path, out: Path) -> Program:
    """Transcript, raw stream log and result file in one pass."""
    stats = str(out / "stats.json")
    return consume(source, out, "--stream-log", "raw", "--stats", stats, name="ours: transcript + raw log + stats")


def script(name: str, file: str, *arguments: Path) -> Program:
    return Program(name, [sys.executable, str(HERE / file), *map(str, arguments)])


def statistics(source: Path) -> Program:
    return script("ours: statistics only", "baselines/ours_summarize.py", source)


def stats(root: Path, cache: Path | None = None) -> Program:
    """The command, as people call it: figures by day, as JSON. Every log is read; the list prices are those that an
    earlier run kept in the folder `cache`, if there was one."""
    command = [_ours(), "stats", str(root), "--by", "day", "--json", "-", "--quiet", "--no-cache"]
    environment = {} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    return Program("ours: stats --by day", command, environment=environment)


def stats_first(root: Path, cache: Path) -> Program:
    """As `stats`, the very first time: nothing is kept, the prices are imported, and the figures are written."""
    command = [word for word in stats(root).command if word != "--no-cache"]
    environment = {"XDG_CACHE_HOME": str(cache)}
    return Program("ours: stats, the first run of all", command, before=_cleared(cache), environment=environment)


def stats_again(root: Path, cache: Path) -> Program:
    """As `stats`, with the figures that the run before kept in the folder `cache`."""
    command = [word for word in stats(root).command if word != "--no-cache"]
    return Program("ours: stats, asked again", command, environment={"XDG_CACHE_HOME": str(cache)})


def watch_again(root: Path, cache: Path) -> Program:
    """A line for each session, from the same figures."""
    command = [_ours(), "watch", "--json", "--once", "--since", "2000-01-01", str(root)]
    return Program("ours: watch --json --once, asked again", command, environment={"XDG_CACHE_HOME": str(cache)})


def import_sessions(root: Path, out: Path, option: str) -> Program:
    """The command with one output: `--out` (transcripts) or `--parquet`."""
    command = [_ours(), "import", str(root), option, str(out), "--quiet"]
    return Program(f"ours: import {option}", command, before=_cleared(out))


def count_folder(root: Path) -> Program:
    return script("json.loads loop over the folder", "baselines/count_folder.py", root)


def decode_folder(root: Path) -> Program:
    return script("decode only over the folder, all cores", "baselines/decode_folder.py", root)


def cat_folder(root: Path) -> Program:
    return Program("cat of all files", ["find", f"{root}/", "-name", "*.jsonl", "-exec", "cat", "{}", "+"])


def renderers(peers: Path, root: Path, scratch: Path) -> list[Program]:
    """Those that make documents of Claude's sessions, as far as they are there; each with a copy of its own."""
    found: list[Program] = []
    copy = scratch / "copy"

    def fresh() -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(root, copy)
        shutil.rmtree(scratch / "html", ignore_errors=True)

    environment = {"HOME": str(scratch / "home")}
    log = peers / "python/bin/claude-code-log"
    if log.is_file():
        command = [str(log), "convert", str(copy), "--all-projects", "--no-cache"]
        found.append(Program("claude-code-log (HTML)", command, before=fresh, environment=environment))
    archive = peers / "python/bin/claude-code-transcripts"
    if archive.is_file():
        command = [str(archive), "all", "--source", str(copy), "--output", str(scratch / "html"), "--quiet"]
        found.append(Program("claude-code-transcripts (HTML)", command, before=fresh, environment=environment))
    harbor = peers / "newer-python/bin/python"
    if (peers / "newer-python/bin/harbor").is_file():
        command = [str(harbor), str(HERE / "baselines/harbor_convert.py"), str(copy), str(scratch / "atif")]
        found.append(Program("harbor (ATIF)", command, before=fresh, environment=environment))
    return found


def count_json(source: Path) -> Program:
    return script("json.loads counting loop", "baselines/count_json.py", source)


def decode_only(source: Path) -> Program:
    return script("decode only (msgspec, Raw payloads)", "baselines/decode_only.py", source)


def system_tools(source: Path) -> list[Program]:
    return [Program("wc -l", ["wc", "-l", str(source)]), Program("cat", ["cat", str(source)])]


def peers_folder() -> Path | None:
    value = os.environ.get(PEERS_VARIABLE)
    return Path(value) if value else None


def agentv_import(peers: Path, session: Path, out: Path) -> Program | None:
    """AgentV's importer on a session file; None when its package or Node is not there."""
    node = shutil.which("node")
    if node is None or not (peers / "node_modules/@agentv/core").is_dir():
        return None
    # Node stops at half of the machine's memory by default or less; the comparison is about need, not about a limit.
    command = [node, "--max-old-space-size=16384", str(HERE / "baselines/agentv_import.mjs"), str(peers), str(session)]
    return Program("AgentV 4.42 importer (Node)", [*command, str(out / "agentv.jsonl")], before=_cleared(out))


def ccusage(peers: Path, projects: Path, home: Path) -> Program | None:
    """ccusage's native binary over a folder of sessions; None when it is not there.

    The launcher in JavaScript is left out: it only finds this binary. `home` keeps it from reading the user's own logs.
    """
    found = sorted(peers.glob("**/@ccusage/ccusage-*/bin/ccusage"))
    if not found:
        return None
    binary = found[0]
    if not os.access(binary, os.X_OK):
        binary.chmod(0o755)
    config = home / ".claude"
    config.mkdir(parents=True, exist_ok=True)
    link = config / "projects"
    link.unlink(missing_ok=True)
    link.symlink_to(projects.resolve())
    environment = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(config), "NO_COLOR": "1"}
    return Program("ccusage (Rust)", [str(binary), "daily", "--offline", "--json"], environment=environment)
