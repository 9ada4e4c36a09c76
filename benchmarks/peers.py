#!/usr/bin/env python3
"""Installs what the registries have of the programs that we are compared with, into one folder.

    python benchmarks/peers.py benchmarks/out/peers
    AGENTV_STREAM_PEERS=benchmarks/out/peers python benchmarks/run.py --peers --only many

npm: ccusage (its native binary), agentv and @agentv/core. PyPI, in an environment of their own: claude-code-log,
claude-code-transcripts, harbor. What cannot be had is named, and the comparison goes on without it.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

NPM = ("ccusage", "agentv@4.42", "@agentv/core@4.42")
PYPI = ("claude-code-log", "claude-code-transcripts", "harbor")


def main(place: str) -> int:
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    missing: list[str] = []
    npm = shutil.which("npm")
    for package in NPM:
        command = [npm or "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place, package]
        if npm is None or subprocess.run(command, capture_output=True).returncode != 0:
            missing.append(package)
    python = folder / "python"
    if not (python / "bin" / "pip").exists():
        venv.create(python, with_pip=True)
    for package in PYPI:
        command = [str(python / "bin" / "pip"), "install", "--quiet", package]
        if subprocess.run(command, capture_output=True).returncode != 0:
            missing.append(package)
    if npm is not None and not _native(folder):
        _older_ccusage(npm, place)
    native = _native(folder)
    print(f"ccusage's native binary: {native[0] if native else 'not there (its package for this machine is missing)'}")
    for package in missing:
        print(f"cannot be had: {package}", file=sys.stderr)
    return 0


def _native(folder: Path) -> list[Path]:
    return sorted(folder.glob("**/@ccusage/ccusage-*/bin/ccusage"))


def _older_ccusage(npm: str, place: str) -> None:
    """A registry may lack the newest native package: then its newest, and the launcher of the same version."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"@ccusage/ccusage-{sys.platform}-{machine}"
    asked = subprocess.run([npm, "view", package, "version"], capture_output=True, text=True)
    version = asked.stdout.strip()
    if asked.returncode == 0 and version:
        wanted = [f"ccusage@{version}", f"{package}@{version}"]
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place, *wanted]
        subprocess.run(command, capture_output=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
