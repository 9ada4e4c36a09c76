"""Forms of AgentV's own example files: `assert-set`, `not-`, default tests in a file, providers by id."""

from pathlib import Path

import pytest

from agentv_stream.checks.spec import Spec, load_spec
from agentv_stream.checks.targets import Targets, load_targets
from agentv_stream.checks.validate import validate_file
from agentv_stream.checks.yaml_lines import SpecError
from support.trajectories import Trace

HEAD = "tests:\n  - id: a\n    assertions:\n"


def spec(tmp_path: Path, text: str, name: str = "s.yaml") -> Spec:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return load_spec(tmp_path / name)


def verdict(loaded: Spec, answer: str) -> str:
    case = loaded.cases[0].build()
    for event in Trace().text(answer).events:
        case.push(event)
    case.flush()
    return case.result().verdict


@pytest.mark.parametrize(
    ("more", "verdicts"),
    [("", ["pass", "fail", "fail"]), (", threshold: 0.5", ["pass", "pass", "fail"])],
)
def test_an_assert_set_passes_with_all_its_members_or_its_threshold(
    tmp_path: Path, more: str, verdicts: list[str]
) -> None:
    members = "[{type: contains, value: one}, {type: contains, value: two}]"
    loaded = spec(tmp_path, f"threshold: 0.5\n{HEAD}      - {{type: assert-set, assert: {members}{more}}}\n")
    assert [verdict(loaded, answer) for answer in ("one two", "one", "zero")] == verdicts


def test_the_prefix_not_negates(tmp_path: Path) -> None:
    loaded = spec(tmp_path, HEAD + "      - {type: not-contains, value: sorry}\n")
    assert [verdict(loaded, answer) for answer in ("done", "sorry")] == ["pass", "fail"]
    twice = spec(tmp_path, HEAD + "      - {type: not_icontains, value: sorry, negate: true}\n")
    assert verdict(twice, "Sorry") == "pass"
    with pytest.raises(SpecError, match="unknown evaluator type 'not-contans'"):
        spec(tmp_path, HEAD + "      - {type: not-contans, value: x}\n")


def test_a_default_test_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "default.yaml").write_text("assert: [{type: contains, value: done}]\n")
    loaded = spec(tmp_path, "default_test: file://./default.yaml\ntests: [{id: a, criteria: x}]\n")
    assert (verdict(loaded, "done"), verdict(loaded, "no")) == ("pass", "fail")
    missing = spec(tmp_path, "default_test: file://none.yaml\n" + HEAD + "      - {type: is-json}\n")
    assert "none.yaml does not exist" in missing.warnings[0]


def test_a_case_in_a_file_of_its_own_is_a_spec(tmp_path: Path) -> None:
    (tmp_path / "fix-1").mkdir()
    loaded = spec(tmp_path, "criteria: it works\nassert: [{type: contains, value: x}]\n", "fix-1/case.yaml")
    assert [case.id for case in loaded.cases] == ["fix-1"]


def targets(tmp_path: Path, text: str) -> Targets:
    (tmp_path / "providers.yaml").write_text(text, encoding="utf-8")
    return load_targets(tmp_path / "providers.yaml", {})


def test_since_5_2_id_is_the_provider_and_label_the_name(tmp_path: Path) -> None:
    found = targets(tmp_path, "providers:\n  - {id: codex-cli, label: mine, model: m}\n  - {id: claude}\n").targets
    assert [(name, target.provider) for name, target in found.items()] == [("mine", "codex"), ("claude", "claude")]


def test_settings_may_stand_below_config(tmp_path: Path) -> None:
    text = "providers:\n  - {id: cli, label: t, config: {command: 'x {PROMPT}', timeoutSeconds: 5}}\n"
    target = targets(tmp_path, text).targets["t"]
    assert (target.command_line("p"), target.timeout_seconds) == (("x", "p"), 5)


def test_placeholders_are_filled_in_once(tmp_path: Path) -> None:
    text = (
        "targets:\n  - {name: t, provider: cli, command: 'bun x.ts {PROMPT} {FILES} --out={OUTPUT_FILE} {EVAL_ID}'}\n"
    )
    target = targets(tmp_path, text).targets["t"]
    values = {"{FILES}": "", "{OUTPUT_FILE}": "/out", "{EVAL_ID}": "one"}
    words = target.command_line("say {EVAL_ID}", values)
    assert words == ("bun", "x.ts", "say {EVAL_ID}", "--out=/out", "one")
    assert target.command_shown("p", values) == ("bun", "x.ts", "p", "--out=/out", "one")
    assert (target.needs("{OUTPUT_FILE}"), target.needs("{PROMPT_FILE}")) == (True, False)


def test_a_provider_of_the_users_own_is_accepted_and_a_slip_is_not(tmp_path: Path) -> None:
    found = targets(tmp_path, "targets:\n  - {name: t, provider: file-output, command: 'x {PROMPT}'}\n").targets
    assert found["t"].command_line("p") == ("x", "p")
    with pytest.raises(SpecError, match="did you mean 'codex'"):
        targets(tmp_path, "targets:\n  - {name: t, provider: codx, command: 'x {PROMPT}'}\n")


def test_byok_is_a_warning(tmp_path: Path) -> None:
    (warning,) = targets(tmp_path, "targets:\n  - {name: t, provider: copilot-cli, byok: {x: 1}}\n").warnings
    assert "byok has no effect here" in warning


def test_a_list_of_providers_is_a_targets_file(tmp_path: Path) -> None:
    (tmp_path / "providers.yaml").write_text("- {id: claude}\n- {id: mock}\n", encoding="utf-8")
    assert validate_file(tmp_path / "providers.yaml")[0] == {"kind": "targets", "targets": 2, "agents": 1}


def test_a_type_of_the_user_is_skipped_and_a_misspelt_one_is_an_error(tmp_path: Path) -> None:
    members = "      - {type: contains, value: x}\n      - {type: word-count}\n"
    loaded = spec(tmp_path, HEAD + members)
    assert verdict(loaded, "x") == "pass"
    reason = "it needs a script, .agentv/assertions/word-count.ts, which is not here"
    facts, _ = validate_file(tmp_path / "s.yaml")
    assert (facts["skipped"], facts["skip_reasons"]) == (1, {"word-count": reason})
    (tmp_path / ".agentv" / "assertions").mkdir(parents=True)
    (tmp_path / ".agentv" / "assertions" / "word-count.ts").touch()
    assert validate_file(tmp_path / "s.yaml")[0]["skip_reasons"] == {"word-count": "it needs a script"}
    for wrong in ("max-turnz", "../word-count", "word count"):
        with pytest.raises(SpecError, match="unknown evaluator type"):
            spec(tmp_path, HEAD + f"      - {{type: {wrong}}}\n")
