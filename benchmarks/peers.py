#!/usr/bin/env python3
"""Installs what the registries have of the programs that we are compared with, into one folder.

    python benchmarks/peers.py benchmarks/out/peers
    AGENTV_STREAM_PEERS=benchmarks/out/peers python benchmarks/run.py --peers --only many

npm: ccusage (its native binary), agentv and @agentv/core. PyPI, in environments of their own: claude-code-log and
claude-code-transcripts; harbor where there is a Python 3.12. What cannot be had is named, and the comparison goes on
without it.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

NPM = ("ccusage", "agentv@4.42", "@agentv/core@4.42")
PYPI = ("claude-code-log", "claude-code-transcripts")
NEWER = ("harbor",)  # need Python 3.12; an environment of their own, where such an interpreter is on the path


def main(place: str) -> int:
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    missing: list[str] = []
    npm = shutil.which("npm")
    for package in NPM:
        command = [npm or "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place, package]
        if npm is None or subprocess.run(command, capture_output=True).returncode != 0:
            missing.append(package)
    missing += _from_pypi(folder / "python", sys.executable, PYPI)
    missing += _from_pypi(folder / "newer-python", _newer_python(), NEWER)
    if npm is not None and not _native(folder):
        _older_ccusage(npm, place)
    native = _native(folder)
    print(f"ccusage's native binary: {native[0] if native else 'not there (its package for this machine is missing)'}")
    for package in missing:
        print(f"cannot be had: {package}", file=sys.stderr)
    return 0


def _from_pypi(environment: Path, python: str | None, packages: tuple[str, ...]) -> list[str]:
    """Installs packages into an environment of that interpreter; gives those that cannot be had."""
    if python is None:
        return list(packages)
    pip = environment / "bin/pip"
    if not pip.exists() and subprocess.run([python, "-m", "venv", str(environment)]).returncode != 0:
        return list(packages)
    install = [str(pip), "install", "--quiet"]
    return [name for name in packages if subprocess.run([*install, name], capture_output=True).returncode != 0]


def _newer_python() -> str | None:
    """An interpreter of 3.12 or later that starts: a shim of a version manager may be there and know none."""
    for name in (sys.executable, *(f"python3.{minor}" for minor in (14, 13, 12))):
        found = shutil.which(name)
        asked = "import sys; sys.exit(sys.version_info < (3, 12))"
        if found is not None and subprocess.run([found, "-c", asked], capture_output=True).returncode == 0:
            return found
    return None


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
