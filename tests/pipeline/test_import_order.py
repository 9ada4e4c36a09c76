"""Modules import in one direction: no circles in either package, few levels in `following`, few modules at the top."""

import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import agentv_stages
import agentv_stream

FOLLOWING = "agentv_stream.following."
MOST_LEVELS = 8
IMPORT = re.compile(r"^ *from (agentv_\S+) import (\([^)]*\)|.*)", re.MULTILINE)
FRONTS = {"agentv_stream.cli"}  # loads its commands by name; completion reads its table of commands


def modules_of(folder: Path, package: str) -> dict[str, Path]:
    """All modules below a package, by name."""
    found: dict[str, Path] = {}
    for path in folder.rglob("*.py"):
        parts = [package, *path.relative_to(folder).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = {
    name: path
    for package in (agentv_stages, agentv_stream)
    for name, path in modules_of(Path(str(package.__file__)).parent, package.__name__).items()
}


@cache
def imported(module: str) -> frozenset[str]:
    """The modules that a module imports, anywhere in it, also for types only."""
    found: set[str] = set()
    for package, names in IMPORT.findall(MODULES[module].read_text(encoding="utf-8")):
        inner = {f"{package}.{name}" for name in re.findall(r"\w+", names)} & MODULES.keys()
        found |= inner or {package} & MODULES.keys()
    return frozenset(found - {module})


@cache
def level(module: str) -> int:
    below = (other for other in imported(module) if other.startswith(FOLLOWING))
    return 1 + max((level(other) for other in below), default=0)


def test_modules_form_no_circle() -> None:
    graph = {name: imported(name) - FRONTS for name in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle: {' <- '.join(error.args[1])}") from None


def test_following_has_few_levels() -> None:
    levels = {name: level(name) for name in MODULES if name.startswith(FOLLOWING)}
    assert len(levels) > 30
    assert max(levels.values()) <= MOST_LEVELS, sorted(levels.items(), key=lambda item: -item[1])[:5]


def test_few_modules_lie_beside_the_packages() -> None:
    tops = [name for name, path in MODULES.items() if name.count(".") == 1 and path.name != "__init__.py"]
    assert sum(name.startswith("agentv_stream.") for name in tops) <= 10, tops
    assert sum(name.startswith("agentv_stages.") for name in tops) <= 10, tops
