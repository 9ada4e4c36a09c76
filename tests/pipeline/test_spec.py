"""Spec files of every AgentV version: what is read of them, and how their errors point."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentv_stages.trajectory.case import Skipped
from agentv_stages.trajectory.evaluator import Evaluator
from agentv_stream.checks.check import cases_for
from agentv_stream.checks.spec import Spec, load_spec
from agentv_stream.checks.validate import summary_of, validate_file
from agentv_stream.checks.yaml_lines import SpecError
from agentv_stream.cli import build
from agentv_stream.cli.validate import MOST_TOLD
from agentv_stream.errors import EXIT_USAGE, UsageError
from support.trajectories import trace_of

EXAMPLES = Path(__file__).parents[2] / "examples"


def spec(tmp_path: Path, text: str, name: str = "s.yaml") -> Spec:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def refused(tmp_path: Path, text: str, name: str = "s.yaml") -> str:
    with pytest.raises(SpecError) as caught:
        spec(tmp_path, text, name)
    assert caught.value.exit_code == EXIT_USAGE
    return str(caught.value).removeprefix(str(tmp_path) + "/")


def types(loaded: Spec) -> dict[str, list[str]]:
    return {case.id: [str(item.config["type"]) for item in case.items] for case in loaded.cases}


V025 = """
description: Tool usage
target: codex
evalcases:
  - id: research
    expected_outcome: Agent researches
    input_messages:
      - role: user
        content: Research
    expected_messages:
      - role: assistant
        tool_calls:
          - tool: knowledgeSearch
            input: { query: "x" }
    execution:
      evaluators:
        - name: depth
          type: tool_trajectory
          mode: any_order
          minimums:
            knowledgeSearch: 2
        - name: flow
          type: expected_messages
        - name: quality
          type: llm_judge
          prompt: ./p.md
        - name: fmt
          type: code_judge
          script: uv run x.py
"""

V442 = """
name: suite
execution:
  threshold: 0.6
assertions:
  - type: latency
    threshold: 5000
tests:
  - id: a
    criteria: does it
    input: hello
    assertions:
      - Response is polite
      - type: tool-trajectory
        mode: exact
        argsMatch: superset
        expected:
          - tool: Read
            args: any
            maxDurationMs: 100
      - type: skill-trigger
        skill: csv
        should_trigger: false
  - id: b
    input: hello
    execution:
      skip_defaults: true
    assert:
      - type: contains
        value: hi
"""

V53 = """
providers: [codex]
prompts: ["{{ input }}"]
default_test:
  assert:
    - type: cost
      budget: 1
tests:
  - description: first
    vars:
      input: do it
    assert:
      - metric: used
        type: trajectory:tool-used
        value: { name: webSearch, min: 2 }
      - type: not-skill-used
        value: csv-analyzer
      - metric: goal
        type: trajectory:goal-success
        value: done
      - type: script
        command: [bun, run, x.ts]
"""


def test_files_of_025_are_read(tmp_path: Path) -> None:
    loaded = spec(tmp_path, V025)
    assert types(loaded) == {"research": ["tool-trajectory", "expected-messages", "llm-judge", "code-judge"]}
    case = loaded.cases[0].build()
    assert [type(m) for m in case.members] == [Evaluator, Evaluator, Skipped, Skipped]
    assert loaded.cases[0].target == "codex"
    assert [call["tool"] for call in loaded.cases[0].context.expected_calls] == ["knowledgeSearch"]


def test_files_of_442_are_read(tmp_path: Path) -> None:
    loaded = spec(tmp_path, V442)
    assert types(loaded) == {
        "a": ["rubrics", "tool-trajectory", "skill-trigger", "latency"],
        "b": ["contains"],
    }
    first = loaded.cases[0]
    assert first.context.threshold == 0.6
    assert first.prompt == "hello"
    step = first.items[1].config["expected"][0]
    assert step == {"tool": "Read", "args": "any", "max_duration_ms": 100}
    assert first.items[1].config["args_match"] == "superset"


def test_files_of_53_are_read(tmp_path: Path) -> None:
    loaded = spec(tmp_path, V53)
    assert types(loaded) == {
        "first": ["trajectory:tool-used", "not-skill-used", "trajectory:goal-success", "script", "cost"]
    }
    assert loaded.cases[0].items[0].config["name"] == "used"
    assert (loaded.cases[0].target, loaded.cases[0].prompt) == ("codex", "do it")


def test_our_own_evaluators_are_read_in_either_spelling(tmp_path: Path) -> None:
    text = """
assertions:
  - {type: max_turns, max: 3}
  - {type: first-edit-turn, max: 3}
  - {type: forbid, calls: ["Bash(rm *)"]}
  - {type: watched_commands, used: bobbin}
  - {type: max-repeats, max: 2, compat: agentv}
"""
    assert types(spec(tmp_path, text, "rules.yaml")) == {
        "rules": ["max-turns", "first-edit-turn", "forbid", "watched-commands", "max-repeats"]
    }


HEAD = "tests:\n  - id: a\n    assertions:\n"

UNKNOWN: list[tuple[str, str]] = [
    (
        HEAD + "      - type: tool-trajectori\n",
        "s.yaml:4: unknown evaluator type 'tool-trajectori'; did you mean 'tool-trajectory'?",
    ),
    (
        "tests:\n  - id: a\n    asertions: []\n",
        "s.yaml:3: unknown field of a case 'asertions'; did you mean 'assertions'?",
    ),
    ("tets: []\n", "s.yaml:1: unknown field of a spec 'tets'; did you mean 'tests'?"),
    (
        HEAD + "      - type: tool-trajectory\n        mode: in-ordr\n        expected: []\n",
        "s.yaml:5: tool-trajectory knows no mode 'in-ordr'; did you mean 'in_order'?",
    ),
    (
        HEAD + "      - type: execution-metrics\n        max_tool_call: 3\n",
        "s.yaml:5: execution-metrics has no field 'max_tool_call'; did you mean 'max_tool_calls'?",
    ),
    (
        HEAD + "      - type: tool-trajectory\n        mode: exact\n        expected:\n          - tol: b\n",
        "s.yaml:7: unknown field of a step 'tol'; did you mean 'tool'?",
    ),
    (
        "tests:\n  - id: a\n    execution:\n      thresold: 1\n",
        "s.yaml:4: unknown field of execution 'thresold'; did you mean 'threshold'?",
    ),
    (
        HEAD + "      - type: forbid\n        calls: ['Bash(']\n",
        "s.yaml:5: 'Bash(' is not the form of a call, such as Bash(rm *)",
    ),
]


@pytest.mark.parametrize(("text", "message"), UNKNOWN)
def test_names_that_no_version_has_are_errors_with_line_and_nearest_name(
    tmp_path: Path, text: str, message: str
) -> None:
    assert refused(tmp_path, text) == message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "a spec must be a mapping"),
        ("tests: 3\n", "s.yaml:1: tests must be a list of cases"),
        ("tests: []\n", "has no cases"),
        ("tests: [3]\n", "s.yaml:1: a case must be a mapping"),
        ("tests:\n  - input: x\n", "s.yaml:2: a case needs an id"),
        ("tests:\n  - id: a\n  - id: a\n", "two cases are called 'a'"),
        ("tests:\n  - id: a\n    id: b\n", "s.yaml:3: the key 'id' is here twice"),
        ("tests:\n  - {id: a\n", "is not YAML"),
        ("a: &x [*x]\n", "too many or too deeply"),
        ("- a\n" * 200_000, "s.yaml:100000: too many or too deeply"),
        ("tests: " + "[" * 5000 + "]" * 5000 + "\n", "too many or too deeply"),
        ("? [a, b]\n: c\n", "s.yaml:1: a key must be a text"),
        ("tests:\n  - id: a\n    weight: " + "9" * 5000 + "\n", "s.yaml:3: cannot read '9999"),
        ('tests:\n  - id: "\\ud83d"\n', "s.yaml:2: cannot read"),
        ("tests:\n  - id: !!int x\n", "s.yaml:2: cannot read 'x'"),
        ("tests:\n  - id: a\n  - id: a\n", "s.yaml:3: two cases are called 'a'; the other one is"),
        ("compat: agentvv\n" + "tests:\n  - id: a\n", "s.yaml:1: compat must be agentv, not 'agentvv'"),
        ("streams: al\ntests:\n  - id: a\n", "s.yaml:1: streams must be all or main, not 'al'; did you mean 'all'?"),
        ("execution:\n  threshold: 3\ntests:\n  - id: a\n", "s.yaml:2: threshold must be a number from 0 to 1, not 3"),
        ("tests:\n  - id: a\n    assertions: {}\n", "s.yaml:3: evaluators must be a list"),
        ("tests:\n  - id: a\n    assertions: [{name: x}]\n", "an evaluator needs a type"),
        ("tests:\n  - id: a\n    threshold: 3\n", "s.yaml:3: threshold must be a number from 0 to 1"),
        ("tests:\n  - id: a\n---\ntests: []\n", "s.yaml:3: another document begins here; a file holds one"),
        ("tests:\n  - id: 'a\n  - id: b\n", "quoted scalar that begins in line 2: found unexpected end of stream"),
        ("tests:\n  - id: a\n  - id: b\x07\n", "s.yaml:3: is not YAML: the character U+0007 is not allowed"),
        (
            HEAD + "      - {type: max-turns, max: 3, required: yes}\n",
            "s.yaml:4: required must be true, false, or the score",
        ),
        (
            "x-d: &d\n  type: forbid\n  calls:\n    - Bash(rm *)\n"
            + HEAD
            + "      - <<: *d\n        calls:\n          - Bash(rm *\n",
            "s.yaml:10: 'Bash(rm *' is not the form of a call",
        ),
        ("default_test: [1]\ntests:\n  - id: a\n", "s.yaml:1: default_test must be a mapping with assertions"),
        ("tests: missing.yaml\n", "missing.yaml does not exist"),
        ("tests: cases.txt\n", "cases are in"),
        ("tests:\n  - id: a\n    assertions:\n      - include: nope\n", "s.yaml:4: the template 'nope' was not found"),
    ],
)
def test_malformed_files_are_errors(tmp_path: Path, text: str, part: str) -> None:
    assert part in refused(tmp_path, text)


def test_a_missing_file_and_one_that_is_no_text_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        load_spec(tmp_path / "none.yaml")
    with pytest.raises(SpecError, match=r"'a\\x00b': the name of a file contains no null byte"):
        load_spec("a\0b")
    (tmp_path / "b.yaml").write_bytes(b"tests:\n  - id: caf\xe9\n")
    with pytest.raises(SpecError, match=r"b\.yaml:2: is not UTF-8 text"):
        load_spec(tmp_path / "b.yaml")
    (tmp_path / "b.yaml").write_bytes("tests: []".encode("utf-16"))
    with pytest.raises(SpecError, match=r"b\.yaml:1: is UTF-16 text; save it as UTF-8"):
        load_spec(tmp_path / "b.yaml")


def test_plain_words_are_read_as_agentv_reads_them_by_yaml_12(tmp_path: Path) -> None:
    words = "[yes, No, on, OFF, y, 2024-01-02, 12:30, 1_000, 0755, 0o17, 0x1f, 1e3, .5, ~, True, '7']"
    loaded = spec(
        tmp_path, HEAD + f"      - {{type: tool-trajectory, mode: exact, expected: [{{tool: R, args: {words}}}]}}\n"
    )
    assert loaded.cases[0].items[0].config["expected"][0]["args"] == [
        *("yes", "No", "on", "OFF", "y", "2024-01-02", "12:30", "1_000"),
        *(755, 15, 31, 1000.0, 0.5, None, True, "7"),
    ]
    assert types(spec(tmp_path, HEAD + "      - {type: contains, value: yes}\n")) == {"a": ["contains"]}


def test_json_is_read_with_tabs_and_characters_in_two_escapes(tmp_path: Path) -> None:
    text = '{\n\t"tests": [{"id": "\\ud83d\\ude00",\t"assertions": [{"type": "contains", "value": "a\\tb"}]}]}'
    loaded = spec(tmp_path, text, "s.json")
    assert types(loaded) == {"😀": ["contains"]}
    assert loaded.cases[0].items[0].config["value"] == "a\tb"


def test_aliases_that_explode_are_stopped(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join(f'*a{i - 1}' for _ in range(10))}]" for i in range(1, 9)]
    assert "too many" in refused(tmp_path, "\n".join(lines) + "\n")


def test_cases_may_stand_in_a_file_of_json_lines(tmp_path: Path) -> None:
    rows = [{"id": f"c{i}", "input": "x", "assertions": [{"type": "max-turns", "max": i + 1}]} for i in range(3)]
    (tmp_path / "cases.jsonl").write_text("// head\n" + "\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    loaded = spec(tmp_path, "tests: ./cases.jsonl\nassertions:\n  - {type: cost, budget: 1}\n")
    assert types(loaded) == {f"c{i}": ["max-turns", "cost"] for i in range(3)}
    assert types(load_spec(tmp_path / "cases.jsonl")) == {f"c{i}": ["max-turns"] for i in range(3)}


def test_errors_in_json_lines_name_the_line(tmp_path: Path) -> None:
    assert refused(tmp_path, '{"id":"a"}\n{"id":\n', "c.jsonl").startswith("c.jsonl:2: is not JSON")
    text = '{"id":"a"}\n{"id":"b","assertions":[{"type":"max-turnz"}]}\n'
    assert refused(tmp_path, text, "c.jsonl").startswith("c.jsonl:2: unknown evaluator type")


def test_cases_may_stand_in_other_files(tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text("- id: m1\n- id: m2\n", encoding="utf-8")
    for item in ("file://more.yaml", "{include: more.yaml}"):
        loaded = spec(tmp_path, f"tests:\n  - {item}\n  - id: own\n")
        assert [case.id for case in loaded.cases] == ["m1", "m2", "own"]
        assert len(loaded.warnings) == 3
    (tmp_path / "more.yaml").write_text("- id: m1\n- words\n", encoding="utf-8")
    assert refused(tmp_path, "tests: more.yaml\n").endswith("more.yaml:2: a case must be a mapping")


def test_a_case_without_evaluators_is_a_warning_and_one_with_criteria_is_none(tmp_path: Path) -> None:
    assert spec(tmp_path, "tests:\n  - {id: a, criteria: be kind}\n").warnings == []
    (warning,) = spec(tmp_path, "tests:\n  - {id: a}\n").warnings
    assert warning.endswith("the case 'a' has no evaluators")
    assert spec(tmp_path, "tests:\n  - {id: a, assertions: []}\n").warnings == [warning]


def test_a_second_list_of_evaluators_is_a_warning(tmp_path: Path) -> None:
    """It was left out, as in AgentV, and nothing said so."""
    first, second = (f"[{{type: cost, budget: {budget}}}]" for budget in (1, 2))
    loaded = spec(tmp_path, f"tests:\n- id: a\n  assertions: {first}\n  execution:\n    evaluators: {second}\n")
    assert [item.config["budget"] for item in loaded.cases[0].items] == [1]
    assert loaded.warnings == [f"{tmp_path}/s.yaml:5: these evaluators are not used: another list of them goes before"]


def test_templates_are_included_from_here_and_further_up(tmp_path: Path) -> None:
    templates = tmp_path / ".agentv" / "templates"
    templates.mkdir(parents=True)
    (templates / "safe.yaml").write_text(
        "assertions:\n  - {type: forbid, calls: [Bash]}\n  - include: more\n", encoding="utf-8"
    )
    (templates / "more.yaml").write_text("assertions:\n  - {type: max-turns, max: 9}\n", encoding="utf-8")
    below = tmp_path / "evals"
    below.mkdir()
    loaded = spec(below, "tests:\n  - id: a\n    assertions:\n      - include: safe\n      - {type: cost, budget: 1}\n")
    assert types(loaded) == {"a": ["forbid", "max-turns", "cost"]}
    (templates / "more.yaml").write_text("assertions:\n  - include: safe\n", encoding="utf-8")
    assert "includes itself" in refused(below, "tests:\n  - id: a\n    assertions:\n      - include: safe\n")


def test_an_error_in_a_template_points_into_the_template(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("assertions:\n  - type: latency\n", encoding="utf-8")
    message = refused(tmp_path, "tests:\n  - id: a\n    assertions:\n      - include: ./t.yaml\n")
    assert message == "t.yaml:2: latency needs threshold"


def test_a_script_of_the_users_own_makes_its_type_known_and_skipped(tmp_path: Path) -> None:
    folder = tmp_path / ".agentv" / "assertions"
    folder.mkdir(parents=True)
    (folder / "word-count.ts").write_text("", encoding="utf-8")
    loaded = spec(tmp_path, "tests:\n  - id: a\n    assertions:\n      - {type: word-count, anything: 3}\n")
    (member,) = loaded.cases[0].build().members
    assert isinstance(member, Skipped) and member.reason == "it needs a script"


def test_errors_inside_composites_point_at_the_member(tmp_path: Path) -> None:
    text = (
        "tests:\n  - id: a\n    assertions:\n      - type: composite\n        assertions:\n          - type: latency\n"
    )
    assert refused(tmp_path, text) == "s.yaml:6: latency needs threshold"


def test_selecting_a_case_that_is_not_there_offers_the_nearest(tmp_path: Path) -> None:
    loaded = spec(tmp_path, V442)
    assert [case.id for case in loaded.select("b")] == ["b"]
    with pytest.raises(SpecError, match="no case is called 'B-1'"):
        loaded.select("B-1")


def test_validate_tells_specs_from_targets_files(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(V442, encoding="utf-8")
    what, _ = validate_file(tmp_path / "s.yaml")
    assert summary_of(what) == "spec, 2 cases, 5 evaluators, 1 of them skipped: rubrics (it needs a model)"
    (tmp_path / "t.yaml").write_text("targets:\n  - {name: a, provider: codex}\n", encoding="utf-8")
    assert summary_of(validate_file(tmp_path / "t.yaml")[0]) == "targets file, 1 target, 1 of them agents"


SEVERAL = """treshold: 1
tests:
  - id: a
    assertion: []
    assertions:
      - {type: execution-metrics, max_tool_call: 3, max_turn: 4}
      - {type: tool-trajectry, mode: exact}
      - {type: max-turns, max: -1}
      - {type: composite, assertions: [{type: tool-trajectory, mode: exact, expected: [{tol: Read}, {arg: 3}]}]}
  - {id: a, assertions: [{type: forbid, calls: ["Bash(rm *)"]}]}
  - foo
  - {id: b, execution: {treshold: 1}, assertions: no list}
"""


def test_validate_says_that_a_home_folder_must_be_shown_by_the_log(tmp_path: Path) -> None:
    rules = "{type: forbid, calls: ['Read(~/.ssh/**)', 'Read(.env)', 'Bash(rm ~/*)']}"
    for text in (rules, f"{{type: composite, assertions: [{rules}]}}"):
        spec(tmp_path, f"assertions:\n  - {text}\n")
        _, warnings = validate_file(tmp_path / "s.yaml")
        assert [("Read(~/.ssh/**)" in warning and "cannot match" in warning) for warning in warnings] == [True]


def test_validate_tells_all_that_is_wrong(tmp_path: Path) -> None:
    """It told the first error, so that a file of ten took ten runs."""
    (tmp_path / "s.yaml").write_text(SEVERAL, encoding="utf-8")
    done = CliRunner().invoke(build(["validate"]), ["validate", str(tmp_path / "s.yaml")])
    assert done.exit_code == EXIT_USAGE
    told = [line.partition("/s.yaml:")[2] for line in done.stderr.splitlines()]
    assert [(int(line.split(":")[0]), line.split("'")[1]) for line in told if "'" in line] == [
        (1, "treshold"),
        (4, "assertion"),
        (6, "max_tool_call"),
        (6, "max_turn"),
        (7, "tool-trajectry"),
        (9, "tol"),
        (9, "arg"),
        (10, "a"),
        (12, "treshold"),
    ]
    assert [line for line in told if "'" not in line] == [
        "8: max must be a number from 0 on",
        "11: a case must be a mapping, or file://NAME of a file of cases",
        "12: evaluators must be a list",
    ]
    assert refused(tmp_path, SEVERAL).endswith("'threshold'? (11 more; `agentv-stream validate` lists all)")


def test_each_row_of_cases_is_told_and_not_without_end(tmp_path: Path) -> None:
    rows = ['{"id": "a", "treshold": 1}', "{", '{"id": "b", "assert": [{"type": "cots"}]}']
    (tmp_path / "s.jsonl").write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(tmp_path / "s.jsonl")
    told = [error.message.partition("/s.jsonl:")[2] for error in (caught.value, *caught.value.further)]
    assert [line[:12] for line in told] == ["1: unknown f", "2: is not JS", "3: unknown e"]
    (tmp_path / "s.jsonl").write_text(f"{rows[0]}\n" * 5_000, encoding="utf-8")
    done = CliRunner().invoke(build(["validate"]), ["validate", str(tmp_path / "s.jsonl")])
    assert len(done.stderr.splitlines()) == MOST_TOLD + 1
    assert done.stderr.endswith("s.jsonl: at least 80 more\n")


def test_all_targets_that_are_wrong_are_told(tmp_path: Path) -> None:
    targets = "targets:\n  - {name: a, provider: codxe}\n  - {name: b, provider: codex, modle: x}\n  - {provider: pi}\n"
    (tmp_path / "t.yaml").write_text(targets, encoding="utf-8")
    done = CliRunner().invoke(build(["validate"]), ["validate", str(tmp_path / "t.yaml")])
    assert [line.partition("/t.yaml:")[2].split(":")[0] for line in done.stderr.splitlines()] == ["2", "3", "4"]
    (tmp_path / "t.yaml").write_text("targets:\n  - {name: a, use_target: x}\n  - {name: b, use_target: y}\n")
    done = CliRunner().invoke(build(["validate"]), ["validate", str(tmp_path / "t.yaml")])
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("name", ["claude.jsonl", "codex.jsonl", "gemini.jsonl"])
def test_a_log_in_the_place_of_the_spec_is_told_as_one(name: str) -> None:
    """`check LOG SPEC` complained about the fields of a case in the log's first line."""
    with pytest.raises(SpecError, match=rf"{name} is a log \({name.split('.')[0]}-.*not a spec; .check. takes"):
        load_spec(EXAMPLES / name)


@pytest.mark.parametrize(
    ("rule", "warning"),
    [
        ("{mode: exact}", None),
        ("{mode: exact, compat: agentv}", "exact: it expects no call, so it always passes"),
        ("{mode: superset}", "superset: it expects no call, so it always passes"),
        ("{mode: any_order, minimums: {}}", "any_order: it expects no call, so it always passes"),
        ("{mode: in_order, minimums: {Read: 1}}", "in_order: minimums are read in the mode any_order only"),
        ("{mode: subset}", None),
        ("{mode: any_order, expected: [Read]}", None),
        (
            "{mode: any_order, expected: [{tool: Edit, args: {file_path: a}}]}",
            "any_order: it counts calls by name, whatever their arguments and durations; the mode superset looks at "
            "them",
        ),
        (
            "{mode: any_order, expected: [Read], minimums: {Edit: 1}}",
            "any_order: expected is not read next to minimums",
        ),
    ],
)
def test_a_trajectory_that_expects_nothing_is_a_warning(tmp_path: Path, rule: str, warning: str | None) -> None:
    loaded = spec(tmp_path, HEAD + f"      - {rule.replace('{', '{type: tool-trajectory, ', 1)}\n")
    told = [text.removeprefix(str(tmp_path) + "/") for text in loaded.warnings]
    assert told == ([] if warning is None else [f"s.yaml:4: tool-trajectory {warning}"])


def test_any_order_of_agentv_reads_no_expected_steps(tmp_path: Path) -> None:
    loaded = spec(
        tmp_path, HEAD + "      - {type: tool-trajectory, compat: agentv, mode: any_order, expected: [Read]}\n"
    )
    assert [text.partition("any_order: ")[2] for text in loaded.warnings] == [
        "expected is not read with compat: agentv",
        "it expects no call, so it always passes",
    ]


@pytest.mark.parametrize(
    ("calls", "warned"),
    [
        ("[]", ["the case expects no tool call, so any call fails it"]),
        ("{tool: Read}", []),
        ("[{tool: Read}]", []),
        (
            "[{tol: Read}]",
            [
                "1 of the case's expected tool calls are left out, because they have no tool",
                "the case expects no tool call, so any call fails it",
            ],
        ),
        (
            "[{tool: Read}, {function: {name: Edit}}]",
            ["1 of the case's expected tool calls are left out, because they have no tool"],
        ),
    ],
)
def test_expected_messages_without_tool_calls_are_a_warning(tmp_path: Path, calls: str, warned: list[str]) -> None:
    """A slip in `tool` made the evaluator pass with every run, and nobody was told."""
    text = "tests:\n  - id: a\n    expected_messages:\n      - {role: assistant, tool_calls: " + calls + "}\n"
    loaded = spec(
        tmp_path, text + "    assertions:\n      - type: composite\n        assertions: [expected-messages]\n"
    )
    assert loaded.warnings == []
    loaded = spec(
        tmp_path, text + "    assertions:\n      - {type: composite, assertions: [{type: expected-messages}]}\n"
    )
    assert [w.partition("expected-messages: ")[2] for w in loaded.warnings] == warned


@pytest.mark.parametrize(
    ("pattern", "warned"),
    [
        ("(a+)+$", True),
        (r"(?:\\w*)*", True),
        ("(a{2,})+", True),
        ("(a+,)*", False),
        ("(a)+", False),
    ],
)
def test_a_pattern_that_repeats_what_is_repeated_is_a_warning(tmp_path: Path, pattern: str, warned: bool) -> None:
    loaded = spec(tmp_path, HEAD + f'      - {{type: regex, value: "{pattern}"}}\n')
    assert [w.endswith("on some answers that takes hours") for w in loaded.warnings] == [True] * warned


@pytest.mark.parametrize(
    ("rule", "warned"),
    [
        ("{type: forbid, calls: [edit(src/**), Wirte]}", "edit-Edit Wirte-Write"),
        ("{type: forbid, calls: [bash(rm *), 'kind:write(a)', mcp__reader, 'Edit*', deploy]}", ""),
        ("{type: tool-trajectory, mode: any_order, minimums: {web_search: 1, 'kind:read': 1}}", "web_search-WebSearch"),
        ("{type: tool-trajectory, mode: in_order, expected: [ls, {tool: grep}, {kind: read}]}", "ls-LS grep-Grep"),
        ("{type: max-repeats, max: 2, tools: [Bsh]}", "Bsh-Bash"),
        ("{type: 'trajectory:tool-used', value: [glob, {name: edit, min: 1}]}", "glob-Glob edit-Edit"),
        ("{type: 'trajectory:tool-sequence', value: {steps: [edit]}}", "edit-Edit"),
        ("{type: 'trajectory:step-count', value: {type: command, name: edit, min: 1}}", ""),
        ("{type: composite, assertions: [{type: forbid, calls: [edit]}]}", "edit-Edit"),
    ],
)
def test_a_name_that_is_nearly_a_tools_is_a_warning(tmp_path: Path, rule: str, warned: str) -> None:
    """`forbid: [edit]` never matched a call of Claude's, and nobody was told."""
    loaded = spec(tmp_path, HEAD + f"      - {rule}\n")
    assert [text.partition(": ")[2].partition(": ")[2] for text in loaded.warnings] == [
        f"{name!r} is no tool's name for every agent; did you mean {near!r}?"
        for name, near in (pair.split("-") for pair in warned.split())
    ]


@pytest.mark.parametrize("threshold", [float("nan"), -0.1, 1.1])
def test_a_threshold_that_is_no_share_is_refused(tmp_path: Path, threshold: float) -> None:
    """`--threshold nan` failed every case."""
    (tmp_path / "s.yaml").write_text(HEAD + "      - {type: max-turns, max: 1}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="the threshold must be a number from 0 to 1"):
        load_spec(tmp_path / "s.yaml", threshold)


@pytest.mark.parametrize("required", ["", ", required: true", ", required: false"])
def test_a_threshold_of_the_command_line_does_not_let_an_exact_pass_with_further_calls(
    tmp_path: Path, required: str
) -> None:
    """`--threshold 1` made a verdict pass that failed without it."""
    entry = "type: tool-trajectory, mode: exact, expected: [a]" + required
    for head, further in ((HEAD, "fail"), ("execution: {threshold: 0.6}\n" + HEAD, "pass")):
        (tmp_path / "s.yaml").write_text(head + f"      - {{{entry}}}\n", encoding="utf-8")
        for threshold in (None, 0.5, 1.0):
            (one,) = load_spec(tmp_path / "s.yaml", threshold).cases
            case = one.build()
            for event in trace_of(["a", "b"]):
                case.push(event)
            case.flush()
            (result,) = case.result().evaluators
            assert result.verdict == further
            assert result.required == ((further == "fail" and "false" not in required) or "true" in required)


def test_a_targets_file_whose_targets_are_no_list_is_told_so(tmp_path: Path) -> None:
    """It was a spec `with neither tests nor assertions`."""
    path = tmp_path / "targets.yaml"
    path.write_text("targets:\n  base: {provider: codex}\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"targets\.yaml:1: a targets file holds a list of targets"):
        validate_file(path)


def test_an_output_of_ours_in_the_place_of_a_spec_is_told_by_its_name(tmp_path: Path) -> None:
    for name in ("r.json", "l.jsonl"):
        text = '{"schema_version": "agentv_stream.result.v1", "session": {}}\n'
        assert refused(tmp_path, text, name) == f"{name} is an output of ours (agentv_stream.result.v1), not a spec"


@pytest.mark.parametrize(
    ("rule", "line", "message"),
    [
        ("type: tool-trajectory\nmode: any_order\nminimums: true", 6, "minimums maps tools to numbers"),
        ("type: expected-messages\nmode: inorder", 5, "expected-messages knows no mode 'inorder'"),
        ("type: expected-messages\nargs_match: all", 5, "args_match knows no 'all'"),
        ("type: skill-used\nvalue: ''", 5, "value must be a name, a list of names"),
        ("type: skill-used\nvalue:\n  name: a\n  min: 1\n  max: x", 8, "max must be a number"),
        ("type: skill-used\nvalue:\n  name: a\n  pattern: 5", 7, "pattern must be a text"),
        ("type: trajectory:tool-used\nvalue: []", 5, "tool-used needs a name"),
        ("type: trajectory:tool-used\nvalue:\n  min: 1\n  name:", 7, "name must be a text"),
        ("type: trajectory:tool-used\nvalue:\n  min: 1\n  pattern: ''", 7, "pattern must be a text"),
        ("type: trajectory:tool-args-match\nvalue:\n  args: {}\n  name: 5", 7, "name must be a text"),
        ("type: trajectory:step-count\nvalue:\n  min: 1\n  name: ''", 7, "name must be a text"),
    ],
)
def test_a_wrong_value_is_told_with_its_place(tmp_path: Path, rule: str, line: int, message: str) -> None:
    text = "tests:\n  - id: a\n    assertions:\n      - " + rule.replace("\n", "\n        ") + "\n"
    (tmp_path / "spec.yaml").write_text(text)
    with pytest.raises(SpecError) as raised:
        load_spec(tmp_path / "spec.yaml")
    assert str(raised.value).startswith(f"{tmp_path / 'spec.yaml'}:{line}: {message}")
    assert not raised.value.further


@pytest.mark.parametrize(
    ("aggregator", "line", "message"),
    [
        ("type: threshold\nthreshold: 2", 6, "threshold must be a number from 0 to 1"),
        ("weights: [1]", 5, "weights maps names of members to numbers"),
        ("weights:\n  m: 1\n  n: x", 7, "n must be a number"),
    ],
)
def test_a_wrong_value_of_an_aggregator_is_told_with_its_place(
    tmp_path: Path, aggregator: str, line: int, message: str
) -> None:
    members = "  - type: composite\n    assertions: [{type: max-turns, max: 1, name: m}, {type: is-json, name: n}]\n"
    text = f"assertions:\n{members}    aggregator:\n      " + aggregator.replace("\n", "\n      ") + "\n"
    (tmp_path / "spec.yaml").write_text(text)
    with pytest.raises(SpecError) as raised:
        load_spec(tmp_path / "spec.yaml")
    assert str(raised.value).startswith(f"{tmp_path / 'spec.yaml'}:{line}: {message}")


def test_skip_defaults_is_a_boolean_as_yaml_12_reads_it(tmp_path: Path) -> None:
    text = "assertions: [is-json]\ntests:\n  - id: a\n    execution:\n      skipDefaults: yes\n"
    assert refused(tmp_path, text) == "s.yaml:5: skip_defaults must be true or false"


def test_the_sign_of_a_merge_is_a_text_where_it_is_a_value(tmp_path: Path) -> None:
    text = "x-a: &a {max: 3}\nassertions:\n  - {<<: *a, type: max-turns}\n  - {type: contains, value: <<}\n"
    first, second = spec(tmp_path, text).cases[0].items
    assert first.config["max"] == 3
    assert second.config["value"] == "<<"


def ids(tmp_path: Path, text: str) -> list[str]:
    return [case.id for case in spec(tmp_path, text).cases]


@pytest.mark.parametrize(
    "written", ["007", "7", "1.10", "1e3", "12e4567", "0x1F", "0o17", "true", "-3", "+3", ".5", "2026-01-02", "1_000"]
)
@pytest.mark.parametrize("key", ["id", "eval_id", "name"])
def test_an_id_is_the_text_that_is_in_the_file(tmp_path: Path, written: str, key: str) -> None:
    """007 was the case 7, so a run of the task 007 was judged by all cases; 1.10 and a commit's hash were refused."""
    head = f"tests:\n  - {key}: {written}\n"
    assert ids(tmp_path, head + "    assertions: [{type: max-turns, max: 3}]\n") == [written]
    assert ids(tmp_path, head.replace(written, f"'{written}'") + "    assertions: []\n") == [written]


def test_a_run_of_a_numbered_task_is_judged_by_its_own_case(tmp_path: Path) -> None:
    text = "tests:\n" + "".join(
        f"  - {{id: {name}, assertions: [{{type: max-turns, max: 3}}]}}\n" for name in ("007", "7")
    )
    loaded = spec(tmp_path, text)
    for name in ("007", "7"):
        assert [case.id for _, case in cases_for(f"{name}_", [loaded], None)] == [name]


@pytest.mark.parametrize("name", ["null", "~", "", "'  '", "[a]", "{a: 1}"])
def test_what_is_no_text_is_no_id(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError, match=r"s\.yaml:2: a case needs an id"):
        spec(tmp_path, f"tests:\n  - id: {name}\n    assertions: []\n")


def test_ids_in_json_lines_are_texts_as_written_too(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"id": 1.10, "assertions": []}\n{"id": 1e3}\n{"id": "007"}\n{"id": true}\n', encoding="utf-8")
    assert [case.id for case in load_spec(path).cases] == ["1.10", "1e3", "007", "true"]


def test_names_of_evaluators_and_targets_are_texts_as_written(tmp_path: Path) -> None:
    text = "tests:\n  - {id: a, target: 4.10, assertions: [{type: max-turns, max: 3, name: 1.10}]}\n"
    case = spec(tmp_path, text).cases[0]
    assert (case.target, case.build().members[0].terms.name) == ("4.10", "1.10")
    bare = "- {id: a, assertions: [{type: composite, assertions: [{type: is-json, name: 1.10}],"
    weighted = f"tests:\n  {bare} aggregator: {{weights: {{1.10: 2}}}}}}]}}\n"
    assert spec(tmp_path, weighted).warnings == []


@pytest.mark.parametrize(
    ("rules", "warning"),
    [
        (
            "{type: tool-trajectory, mode: superset, expected: [{tool: Read, args: {a: 1}, args_match: [a, b]}]}",
            "args_match names 'b', which args does not have: it is not compared",
        ),
        (
            "{type: tool-trajectory, mode: exact, args_match: [a.c], expected: [{tool: Read, args: {a: {b: 1}}}]}",
            "args_match names 'a.c', which args does not have: it is not compared",
        ),
        ("{type: tool-trajectory, mode: superset, args_match: [a], expected: [Read, {tool: a, args: {a: 1}}]}", None),
        (
            '{type: regex, value: "\\bfoo\\b"}',
            "a text contains the control character U+0008, as \\b in double quotes is one; for a pattern write single "
            "quotes, or two backslashes",
        ),
        ("{type: regex, value: '\\bfoo\\b'}", None),
        ('{type: contains, value: "two\\nlines\\t"}', None),
        ('{type: forbid, calls: ["Bash(rm\\u0000*)"]}', "a text contains the control character U+0000"),
        ("{type: contains, value: x, weight: 0}", "the case 'a': all weights are 0, so the score is 0"),
        (
            "{type: composite, assertions: [{type: is-json, weight: 0}, {type: is-json, name: b, weight: 0}]}",
            "composite: all weights are 0, so the score is 0",
        ),
        (
            "{type: composite, assertions: [{type: is-json}], aggregator: {weights: {is-json: 0}}}",
            "composite: all weights are 0, so the score is 0",
        ),
        ("{type: composite, aggregator: minimum, assertions: [{type: is-json, weight: 0}]}", None),
    ],
)
def test_what_would_surprise_its_reader_is_a_warning(tmp_path: Path, rules: str, warning: str | None) -> None:
    warnings = spec(tmp_path, HEAD + f"      - {rules}\n").warnings
    assert len(warnings) == (warning is not None)
    assert warning is None or warning in warnings[0]


def test_a_case_of_skipped_evaluators_alone_is_not_without_weight(tmp_path: Path) -> None:
    assert spec(tmp_path, HEAD + "      - {type: llm-grader, weight: 0}\n").warnings == []


def mistakes(tmp_path: Path, rules: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        spec(tmp_path, HEAD + f"      - {rules}\n")
    return [error.message.partition(": ")[2] for error in (caught.value, *caught.value.further)]


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        (
            "{type: tool-trajectory, mode: inorder, expected: [{kind: reads}]}",
            [
                "tool-trajectory knows no mode 'inorder'; did you mean 'in_order'?",
                "no kind 'reads'; did you mean 'read'?",
            ],
        ),
        (
            "{type: execution-metrics, max_tool_calls: many, max_turns: x, weight: y}",
            ["weight must be a number", "max_tool_calls must be a number", "max_turns must be a number"],
        ),
        (
            "{type: composite, assertions: [{type: latency, threshold: fast}, {type: forbid, calls: [kind:reed]}]}",
            ["threshold must be a number", "no kind 'reed'; did you mean 'read'?"],
        ),
        ("{type: forbid}", ["forbid needs a list of calls, such as Bash(rm *)"]),
    ],
)
def test_every_mistake_of_an_evaluator_is_told(tmp_path: Path, rules: str, wanted: list[str]) -> None:
    """Only the first one of each was."""
    found = mistakes(tmp_path, rules)
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(("name", "near"), [("Raed", "Read"), ("Reed", "Read"), ("Grepp", "Grep"), ("Wirte", "Write")])
def test_slips_in_short_names_are_told(tmp_path: Path, name: str, near: str) -> None:
    (warning,) = spec(tmp_path, HEAD + f"      - {{type: forbid, calls: [{name}]}}\n").warnings
    assert f"did you mean {near!r}" in warning


def test_tools_that_no_known_agent_has_are_told_once_by_validate(tmp_path: Path) -> None:
    rules = "      - {type: 'trajectory:tool-sequence', value: [webSearch, fetchPage, summarize]}\n"
    rules += "      - {type: 'trajectory:tool-used', value: webSearch}\n"
    assert spec(tmp_path, HEAD + rules).warnings == []  # tools of the spec's own agent are no slips
    (warning,) = validate_file(tmp_path / "s.yaml")[1]
    text = "no known agent has these tools, so rules about them match none of its calls: fetchPage, summarize"
    assert warning.endswith(text)
    spec(tmp_path, HEAD + "      - {type: forbid, calls: [apply_patch, mcp__x__y, 'Fetch*']}\n")
    assert validate_file(tmp_path / "s.yaml")[1] == []


@pytest.mark.parametrize("size", [None, 2 * 1024 * 1024])
def test_a_spec_without_an_end_and_a_huge_one_are_refused_at_once(tmp_path: Path, size: int | None) -> None:
    spec = Path("/dev/zero") if size is None else tmp_path / "spec.yaml"
    if size is not None:
        spec.write_text("# " + "x" * size)
    with pytest.raises(SpecError, match="larger than 1 MiB"):
        load_spec(spec)
