"""Cases in CSV files and in scenarios, as AgentV 5.3 and promptfoo have them."""

from pathlib import Path

import pytest

from agentv_stream.checks.spec import load_spec
from agentv_stream.checks.yaml_lines import SpecError


def rows(tmp_path: Path, text: str, spec: str = "tests: file://cases.csv\n") -> dict[str, list[object]]:
    (tmp_path / "cases.csv").write_text(text, encoding="utf-8")
    (tmp_path / "s.yaml").write_text(spec, encoding="utf-8")
    return {case.id: [item.config for item in case.items] for case in load_spec(tmp_path / "s.yaml").cases}


def test_a_row_is_a_case_and_its_expected_columns_are_assertions(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        "\ufeffid,input,lang,__expected,__expected2,__expected3\n"
        'fix-1,"say ""hi"",\nplease",en,contains: hi,not-contains: sorry,\n'
        "\n"
        ",two,de,cost(0.5),llm-rubric: is nice,\n"
        ",three,de,contains-any: a,just a text,grade: good\n",
    )
    assert found == {
        "fix-1": [{"type": "contains", "value": "hi"}, {"type": "contains", "value": "sorry", "negate": True}],
        "row-2": [{"type": "cost", "budget": 0.5}, {"type": "llm-grader", "prompt": "is nice"}],
        "row-3": [
            {"type": "contains-any", "value": ["a"]},
            {"type": "equals", "value": "just a text"},
            {"type": "llm-grader", "prompt": "good"},
        ],
    }


def test_the_prompt_and_the_threshold_of_a_row(tmp_path: Path) -> None:
    rows(tmp_path, "input,__prefix,__suffix,__threshold,__metric,__expected\nfix it,Please ,!,0.4,nice,contains: x\n")
    (case,) = load_spec(tmp_path / "s.yaml").cases
    assert (case.prompt, case.context.threshold, case.build().threshold) == ("Please fix it!", 0.4, 0.4)
    assert case.items[0].config["name"] == "nice"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("id,__expected\na,contians: x\n", r"cases.csv:2: unknown assertion 'contians'.*did you mean 'contains'"),
        ('id,input\na,"x\ny"\nb,c\nd,"e\n', r"cases.csv:\d: is not CSV: unexpected end of data"),
        ("id,__expected\na,b\nc,latency\n", r"cases.csv:3: latency in a column __expected needs its limit"),
        ("id,__threshold,__expected\na,much,b\n", r"cases.csv:2: __threshold must be a number, got 'much'"),
        ("id,__expected\na,b\na,b\n", "two cases are called 'a'"),
    ],
)
def test_a_mistake_in_a_row_has_its_line(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(SpecError, match=error):
        rows(tmp_path, text)


SCENARIO = """
scenarios:
  - config:
      - vars: {language: en}
        assert: [{type: contains, value: hello}]
      - vars: {language: fr}
    tests:
      - {id: greets, assert: [{type: max-turns, max: 3}]}
      - {criteria: x, assert: [{type: max-turns, max: 4}]}
"""
HELLO = {"type": "contains", "value": "hello"}


def three(most: int) -> dict[str, object]:
    return {"type": "max-turns", "max": most}


def test_a_scenario_is_each_test_with_each_configuration(tmp_path: Path) -> None:
    assert rows(tmp_path, "", SCENARIO) == {
        "greets": [HELLO, three(3)],
        "scenario-1-1-2": [HELLO, three(4)],
        "greets__2": [three(3)],
        "scenario-1-2-2": [three(4)],
    }


def test_scenarios_stand_beside_tests_and_in_files(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more/one.yaml").write_text(SCENARIO)
    (tmp_path / "more/two.yaml").write_text("- {config: [{id: c}], tests: [{assert: [{type: is-json}]}]}\n")
    spec = "tests: file://cases.csv\nscenarios: [file://more/*.yaml]\n"
    assert list(rows(tmp_path, "id,__expected\nfirst,x\n", spec)) == [
        "first", "greets", "scenario-1-1-2", "greets__2", "scenario-1-2-2", "c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (SCENARIO.replace("max-turns, max: 4", "max-trns, max: 4"), r"s.yaml:9: .*'max-trns'"),
        ("scenarios: [{config: [{}]}]", "a scenario has a list `config` and a list `tests`"),
        ("scenarios: [{config: [{}], tests: [1]}]", "an entry of tests must be a mapping"),
        ("scenarios: [file://none.yaml]", r"none.yaml does not exist"),
        ("scenarios: 3", "scenarios must be a list"),
    ],
)
def test_a_mistake_in_a_scenario_is_located(tmp_path: Path, spec: str, error: str) -> None:
    with pytest.raises(SpecError, match=error):
        rows(tmp_path, "", spec)
