"""The modules of `following` import in one direction, on few levels."""

import ast
from functools import cache
from pathlib import Path

import agentv_stream.following

PACKAGE = "agentv_stream.following"
FOLDER = Path(agentv_stream.following.__file__).parent
MOST_LEVELS = 8


@cache
def imported(module: str) -> frozenset[str]:
    """The modules of the package that a module imports, anywhere in it, also for types only."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert PACKAGE not in names, "modules are imported by their own names, so that this test sees them"
    return frozenset(name.removeprefix(f"{PACKAGE}.") for name in names if name.startswith(f"{PACKAGE}."))


def level(module: str, above: tuple[str, ...] = ()) -> int:
    assert module not in above, f"a circle: {' -> '.join((*above, module))}"
    return 1 + max((level(other, (*above, module)) for other in imported(module)), default=0)


def test_imports_form_no_circle_and_few_levels() -> None:
    modules = [path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"]
    levels = {module: level(module) for module in modules}
    assert max(levels.values()) <= MOST_LEVELS, sorted(levels.items(), key=lambda item: -item[1])[:5]
