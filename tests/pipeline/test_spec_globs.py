"""Entries of cases that are globs, and cases named by their folder."""

from pathlib import Path

import pytest

from agentv_stream.checks.spec import Spec, load_spec
from agentv_stream.checks.yaml_lines import SpecError


def spec(tmp_path: Path, text: str) -> Spec:
    path = tmp_path / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def ids(tmp_path: Path, text: str) -> list[str]:
    return [case.id for case in spec(tmp_path, text).cases]


CASE = "{type: max-turns, max: 3}"


def cases_in(tmp_path: Path, **files: str) -> None:
    for name, case in files.items():
        path = tmp_path / name.replace("__", "/").replace("_yaml", ".yaml").replace("_jsonl", ".jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        line = f'{{"id": "{case}"}}\n' if path.suffix == ".jsonl" else f"- {{id: {case}, assertions: [{CASE}]}}\n"
        path.write_text(line, encoding="utf-8")


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("cases/*.yaml", ["a", "b"]),
        ("cases/?.yaml", ["a", "b"]),
        ("cases/{b,a}.yaml", ["a", "b"]),
        ("cases/*.{yaml,jsonl}", ["a", "b", "l"]),
        ("cases/**/*.yaml", ["a", "b", "d"]),
        ("{cases,cases/deep}/[ad].yaml", ["a", "d"]),
        ("../{tmp}/cases/a*.yaml", ["a"]),
    ],
)
def test_entries_of_files_may_be_globs(tmp_path: Path, pattern: str, wanted: list[str]) -> None:
    """`file://cases/*.yaml` was "the file of cases … does not exist"."""
    cases_in(tmp_path, cases__b_yaml="b", cases__a_yaml="a", cases__l_jsonl="l", cases__deep__d_yaml="d")
    (tmp_path / "cases" / ".hidden.yaml").write_text("- {id: hidden}\n", encoding="utf-8")
    entry = "file://" + pattern.replace("{tmp}", tmp_path.name)
    assert ids(tmp_path, f"tests:\n  - '{entry}'\n") == wanted
    assert ids(tmp_path, f"tests: '{entry}'\n") == wanted


def test_a_glob_without_files_is_a_warning_and_a_file_of_that_name_is_that_file(tmp_path: Path) -> None:
    text = "tests:\n  - file://no/*.yaml\n  - {id: x, assertions: [" + CASE + "]}\n"
    assert spec(tmp_path, text).warnings == [f"{tmp_path}/s.yaml:2: no file is called no/*.yaml"]
    with pytest.raises(SpecError, match="the spec has no cases"):
        spec(tmp_path, "tests:\n  - file://no/*.yaml\n")
    (tmp_path / "a{b,c}.yaml").write_text(f"- {{id: braces, assertions: [{CASE}]}}\n", encoding="utf-8")
    assert ids(tmp_path, "tests:\n  - 'file://a{b,c}.yaml'\n") == ["braces"]


def test_a_case_without_an_id_in_a_folder_of_its_own_is_called_like_the_folder(tmp_path: Path) -> None:
    (tmp_path / "all" / "fix-1").mkdir(parents=True)
    (tmp_path / "all" / "fix-1" / "case.yaml").write_text(f"assertions: [{CASE}]\n", encoding="utf-8")
    assert ids(tmp_path, "tests: ./all/\n") == ["fix-1"]
