"""Says what is wrong with the wheels named: files outside the two packages, missing markers, missing modules."""

import sys
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZipFile

ROOTS = {"agentv_stream": "pipeline", "agentv_stages": "stages"}


def trouble(wheel: Path, source: Path) -> Iterable[str]:
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next((archive.read(n).decode() for n in names if n.endswith(".dist-info/METADATA")), "")
        scripts = next((archive.read(n).decode() for n in names if n.endswith("entry_points.txt")), "")
    for name in sorted(names):
        top = name.split("/")[0]
        if top not in ROOTS and not top.endswith(".dist-info"):
            yield f"a stranger: {name}"
        if "__pycache__" in name:
            yield f"byte code: {name}"
    for package, root in ROOTS.items():
        for path in (source / root / package).rglob("*.py"):
            wanted = path.relative_to(source / root).as_posix()
            if wanted not in names:
                yield f"missing: {wanted}"
        if f"{package}/py.typed" not in names:
            yield f"missing: {package}/py.typed"
    if not any(name.endswith("licenses/LICENSE") for name in names):
        yield "missing: the licence"
    if "License-Expression: MIT" not in metadata:
        yield "the metadata do not name the licence"
    if "agentv-stream = agentv_stream.__main__:main" not in scripts:
        yield "missing: the program"


if __name__ == "__main__":
    found = [line for wheel in sys.argv[1:] for line in trouble(Path(wheel), Path.cwd())]
    sys.stderr.write("".join(f"{line}\n" for line in found))
    sys.exit(bool(found) or len(sys.argv) < 2)
