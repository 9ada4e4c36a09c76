"""`${{ NAME }}` in specs, filled in from the environment."""

from pathlib import Path

import pytest

from agentv_stages.trajectory import Evaluator
from agentv_stream.checks.check import check_source
from agentv_stream.checks.spec import Spec, load_spec
from agentv_stream.checks.spec_evaluators import make
from agentv_stream.checks.yaml_lines import SpecError
from support.fake_agents import READ_EDIT, stream
from support.trajectories import judge, trace_of

HEAD = "tests:\n  - id: a\n    assertions:\n"


def spec(tmp_path: Path, text: str) -> Spec:
    path = tmp_path / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


VARIABLES = """
tests:
  - id: ${{ TASK }}
    input: say ${{ WORD }}
    assertions:
      - {type: forbid, calls: ["Edit(${{ DIR }}/**)", "${{DIR}}"]}
      - {type: contains, value: "${{ WORD }}", negate: "${{ YES }}"}
      - {type: execution-metrics, max_tool_calls: "${{ MOST }}", max_cost_usd: "${{ USD }}"}
      - {type: tool-trajectory, mode: any_order, minimums: {Read: "${{ MOST }}"}}
      - {type: tool-trajectory, mode: superset, expected: [{tool: Read, args: {n: "${{ MOST }}", t: "${{ WORD }}s"}}]}
"""


def test_variables_are_filled_in_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stayed literal texts: `forbid Edit(${{ DIR }}/**)` and a negated `contains` passed silently."""
    values = {"TASK": "007", "WORD": "8080", "DIR": "/secret", "YES": "true", "MOST": "5", "USD": "0.5"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    loaded = spec(tmp_path, VARIABLES)
    assert loaded.warnings == []
    (case,) = loaded.cases
    assert (case.id, case.prompt) == ("007", "say 8080")
    texts = [a.text for result in case.build().result().evaluators for a in result.assertions]
    assert texts[:3] == [
        "Edit(/secret/**) was not called",
        "/secret was not called",
        "The answer does not fit contains '8080'",
    ]
    assert "Tool calls 0 so far, limit 5" in texts and "Read: called 0 times (required >=5)" in texts
    superset = make(case.items[-1], case.context)
    assert isinstance(superset, Evaluator)
    assert judge(superset, trace_of([("Read", {"n": 5, "t": "8080s"})])).verdict == "pass"


@pytest.mark.parametrize("place", ["cases.yaml", "cases.jsonl", ".agentv/templates/t.yaml"])
def test_variables_of_files_that_a_spec_names_are_filled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("WORD", "done")
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    item = '{"type": "contains", "value": "${{ WORD }}${{ NOWHERE }}"}'
    if place.endswith("t.yaml"):
        path.write_text(f"assertions:\n  - {item}\n", encoding="utf-8")
        text = "tests:\n  - {id: a, assertions: [{include: t}]}\n"
    else:
        case = f'{{"id": "a", "assertions": [{item}]}}'
        path.write_text(case if place.endswith("l") and "json" in place else f"- {case}", encoding="utf-8")
        text = f"tests: {place}\n"
    loaded = spec(tmp_path, text)
    assert loaded.cases[0].items[0].config["value"] == "done"
    assert [w.partition(": ")[2] for w in loaded.warnings] == [
        "${{ NOWHERE }} is not set in the environment: an empty text stands in its place"
    ]


def test_a_variable_that_is_not_set_is_a_warning_and_never_a_silent_pass(tmp_path: Path) -> None:
    text = HEAD + '      - {type: forbid, calls: ["Edit(${{ NO_DIR }}/**)"]}\n'
    text += '      - {type: contains, value: "${{ NO_WORD }}", negate: true}\n'
    loaded = spec(tmp_path, text)
    assert [w.partition("s.yaml:")[2] for w in loaded.warnings] == [
        "4: ${{ NO_DIR }} is not set in the environment: an empty text stands in its place",
        "5: ${{ NO_WORD }} is not set in the environment: an empty text stands in its place",
    ]
    log = tmp_path / "run.jsonl"
    log.write_bytes(stream(READ_EDIT))
    (case,) = check_source(log, [loaded]).cases
    assert [result.verdict for result in case.evaluators][1] == "fail"
    with pytest.raises(SpecError, match=r"s.yaml:4: calls holds texts; \$\{\{ NO_FORM \}\} is not set"):
        spec(tmp_path, HEAD + '      - {type: forbid, calls: ["${{ NO_FORM }}"]}\n')


def test_what_only_looks_like_a_variable_stays_and_is_a_warning(tmp_path: Path) -> None:
    loaded = spec(tmp_path, HEAD + '      - {type: contains, value: "${{ matrix.os }}"}\n')
    assert loaded.cases[0].items[0].config["value"] == "${{ matrix.os }}"
    assert ["names no variable of the environment" in warning for warning in loaded.warnings] == [True]
