"""Targets files: agents' command lines, stream_log, and the deprecation of its old names as data."""

from pathlib import Path

import pytest

from agentv_stream.checks.targets import (
    REMOVED_IN,
    Target,
    Targets,
    find_targets,
    load_targets,
)
from agentv_stream.checks.yaml_lines import SpecError
from agentv_stream.release import release, running_version
from support.consuming import run


def load(tmp_path: Path, text: str, current: str = "0.1.0", environment: dict[str, str] | None = None) -> Targets:
    path = tmp_path / "targets.yaml"
    path.write_text(text, encoding="utf-8")
    return load_targets(path, environment or {}, current, "0.3.0")


def refused(tmp_path: Path, text: str, current: str = "0.1.0") -> str:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, text, current)
    return str(caught.value).removeprefix(str(tmp_path) + "/")


def one(tmp_path: Path, entry: str) -> Target:
    return load(tmp_path, f"targets:\n  - {entry}\n").targets["t"]


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        (
            "{name: t, provider: claude-cli, model: opus}",
            ["claude", "-p", "P", "--output-format", "stream-json", "--verbose", "--model", "opus"],
        ),
        (
            "{name: t, provider: codex, model: gpt, args: [--yolo]}",
            ["codex", "exec", "--json", "-m", "gpt", "--yolo", "P"],
        ),
        ("{name: t, provider: copilot-cli}", ["copilot", "-p", "P", "--output-format", "json"]),
        ("{name: t, provider: pi-cli, executable: /opt/pi}", ["/opt/pi", "-p", "P", "--mode", "json"]),
        ("{name: t, provider: omp}", ["omp", "-p", "P", "--mode", "json"]),
        ("{name: t, provider: qwen}", ["qwen", "-p", "P", "--output-format", "stream-json"]),
        ("{name: t, provider: opencode}", ["opencode", "run", "--format", "json", "P"]),
        ("{name: t, provider: kilo}", ["kilo", "run", "--format", "json", "P"]),
        ("{name: t, provider: kimi, model: M}", ["kimi", "-p", "P", "--output-format", "stream-json", "-m", "M"]),
        ("{name: t, provider: grok, model: M}", ["grok", "-p", "P", "--output-format", "streaming-json", "-m", "M"]),
        ("{name: t, provider: openhands}", ["openhands", "--headless", "--json", "-t", "P"]),
        (
            "{name: t, provider: vibe, args: [--max-turns, 9]}",
            ["vibe", "-p", "P", "--output", "streaming", "--max-turns", "9"],
        ),
        ("{name: t, provider: cline, model: M}", ["cline", "--json", "-m", "M", "P"]),
        ("{name: t, provider: cli, command: \"my agent 'a b' {PROMPT}\"}", ["my", "agent", "a b", "P"]),
        ("{name: t, provider: cli, command: [my, agent]}", ["my", "agent", "P"]),
    ],
)
def test_agents_have_their_command_lines(tmp_path: Path, entry: str, command: list[str]) -> None:
    assert list(one(tmp_path, entry).command_line("P")) == command


def test_a_model_that_no_option_names_is_an_error_and_not_left_out(tmp_path: Path) -> None:
    told = refused(tmp_path, "targets:\n  - {name: t, provider: vibe, model: M}\n")
    assert told.startswith("targets.yaml:2: vibe has no option for a model")


def test_a_prompt_is_one_word_whatever_stands_in_it(tmp_path: Path) -> None:
    target = one(tmp_path, "{name: t, provider: codex}")
    assert target.command_line("a b; rm -rf / $(id)")[-1] == "a b; rm -rf / $(id)"


def test_kinds_that_are_no_agents_are_known_and_cannot_be_run(tmp_path: Path) -> None:
    target = one(tmp_path, "{name: t, provider: openai, api_key: x}")
    with pytest.raises(SpecError, match="openai is no agent"):
        target.command_line("P")


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("", "false"),
        (", stream_log: false", "false"),
        (", stream_log: 'false'", "false"),
        (", stream_log: summary", "summary"),
        (", stream_log: raw", "raw"),
        (", streamLog: raw", "raw"),
        (", log_format: json", "raw"),
        (", log_format: summary", "summary"),
        (", log_output_format: json", "raw"),
        (", log_format: json, stream_log: false", "false"),
    ],
)
def test_stream_log_and_its_old_names(tmp_path: Path, setting: str, wanted: str) -> None:
    assert one(tmp_path, f"{{name: t, provider: codex{setting}}}").stream_log == wanted


OLD = (
    "targets:\n  - name: a\n    provider: codex\n    log_format: json\n"
    "  - {name: b, provider: pi, log_output_format: summary}\n"
)


def test_the_old_names_give_one_warning_that_names_the_new_one(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, OLD).warnings
    assert warning.removeprefix(str(tmp_path) + "/") == (
        "targets.yaml:4: a: 'log_format' is deprecated and goes with 0.3.0; use 'stream_log: raw' instead (also in b)"
    )


@pytest.mark.parametrize("current", ["0.3.0", "0.3.1", "1.0", "0.3.0rc1"])
def test_the_old_names_are_refused_from_the_release_of_their_removal_on(tmp_path: Path, current: str) -> None:
    assert refused(tmp_path, OLD, current) == (
        "targets.yaml:4: a: 'log_format' was removed in 0.3.0; use 'stream_log: raw' instead"
    )


@pytest.mark.parametrize("current", ["0.1.0", "0.2.99", "0.2"])
def test_they_are_taken_before_it(tmp_path: Path, current: str) -> None:
    assert load(tmp_path, OLD, current).targets["a"].stream_log == "raw"


def test_the_removal_lies_ahead_of_this_release() -> None:
    assert release(running_version()) < release(REMOVED_IN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "targets:\n  - {name: t, provider: codx}\n",
            "targets.yaml:2: unknown provider 'codx'; did you mean 'codex'?",
        ),
        (
            "targets:\n  - {name: t, provider: swe-agent}\n",
            "targets.yaml:2: `run` cannot start 'swe-agent': no command of it that prints a stream is known",
        ),
        (
            "targets:\n  - name: t\n    provider: codex\n    stream_logs: raw\n",
            "targets.yaml:4: unknown setting of targets 'stream_logs'; did you mean 'stream_log'?",
        ),
        (
            "targets:\n  - name: t\n    provider: codex\n    stream_log: json\n",
            "targets.yaml:4: t: stream_log must be false, summary or raw",
        ),
        (
            "targets:\n  - name: t\n    provider: codex\n    log_format: xml\n",
            "targets.yaml:4: t: log_format must be summary or json",
        ),
        ("targets:\n  - {provider: codex}\n", "targets.yaml:2: a target needs a name"),
        ("targets:\n  - {name: t}\n", "targets.yaml:2: the target 't' needs a provider"),
        (
            "targets:\n  - name: t\n    provider: cli\n    comand: x\n",
            "targets.yaml:4: unknown setting of targets 'comand'; did you mean 'command'?",
        ),
        ("targets:\n  - {name: t, provider: cli, its_own: x}\n", "targets.yaml:2: the target 't' needs a command"),
        ("targets: 3\n", "targets.yaml:1: a targets file holds a list of targets"),
        (
            "targets:\n  - {name: t, provider: pi}\n  - {name: t, provider: pi}\n",
            "targets.yaml:3: two targets are called 't'",
        ),
        (
            "targets:\n  - {name: t, use_target: base}\n  - {name: bass, provider: pi}\n",
            "targets.yaml:2: use_target: no target is called 'base'; did you mean 'bass'?",
        ),
        (
            "targets:\n  - {name: t, provider: pi, timeout_seconds: soon}\n",
            "targets.yaml:2: timeout_seconds must be a number above 0",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_an_error_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    assert refused(tmp_path, text) == message


def test_variables_of_the_environment_are_filled_in(tmp_path: Path) -> None:
    text = "targets:\n  - {name: t, provider: codex, model: '${{ MODEL }}', log_dir: '${{ NONE }}/x'}\n"
    target = load(tmp_path, text, environment={"MODEL": "gpt"}).targets["t"]
    assert target.model == "gpt"
    assert target.log_dir == tmp_path / "${{ NONE }}/x"


def test_a_target_whose_variable_is_not_set_is_not_started(tmp_path: Path) -> None:
    """The agent got the words `${{`, `KEY` and `}}`."""
    text = "targets:\n  - {name: t, provider: cli, command: 'agent --key ${{ KEY }} {PROMPT}'}\n"
    with pytest.raises(SpecError, match=r"the target 't' cannot be run: \$\{\{ KEY \}\} is not set"):
        load(tmp_path, text).targets["t"].command_line("p")
    assert load(tmp_path, text, environment={"KEY": "k"}).targets["t"].command_line("p") == ("agent", "--key", "k", "p")


def test_a_folder_above_the_file_is_named_shortly(tmp_path: Path) -> None:
    (tmp_path / ".agentv").mkdir()
    text = "targets:\n  - {name: t, provider: codex, log_dir: ../logs}\n"
    assert load(tmp_path / ".agentv", text).targets["t"].log_dir == tmp_path / "logs"


def test_few_targets_are_all_named(tmp_path: Path) -> None:
    (tmp_path / "targets.yaml").write_text("targets:\n  - {name: base, provider: codex}\n")
    ran = run(tmp_path, "run", "--targets", "targets.yaml", "--target", "nope", "--prompt", "p")
    assert ran.err == "agentv-stream: targets.yaml:1: no target is called 'nope'; there is only 'base'\n"


def test_use_target_leads_to_another_one(tmp_path: Path) -> None:
    text = "targets:\n  - {name: a, use_target: b}\n  - {name: b, use_target: c}\n  - {name: c, provider: pi}\n"
    loaded = load(tmp_path, text)
    assert loaded.targets["a"] is loaded.targets["b"] is loaded.targets["c"]
    loop = "targets:\n  - {name: a, use_target: b}\n  - {name: b, use_target: a}\n"
    assert "use_target goes in a circle" in refused(tmp_path, loop)


def test_the_list_may_stand_alone_or_under_its_older_name(tmp_path: Path) -> None:
    for text in ("targets:\n  - {name: a, provider: pi}\n", "providers:\n  - {name: a, provider: pi}\n"):
        assert list(load(tmp_path, text).targets) == ["a"]
    assert list(load(tmp_path, "- {name: a, provider: pi}\n").targets) == ["a"]
    assert refused(tmp_path, "words\n").startswith("targets.yaml:1: a targets file holds a list")


def test_the_targets_file_is_found_here_or_above(tmp_path: Path) -> None:
    below = tmp_path / "x" / "y"
    below.mkdir(parents=True)
    assert not str(find_targets(below)).startswith(str(tmp_path))  # nor is one of whoever runs this taken for it
    (tmp_path / ".agentv").mkdir()
    (tmp_path / ".agentv" / "targets.yaml").write_text("targets: []\n", encoding="utf-8")
    assert find_targets(below) == tmp_path / ".agentv" / "targets.yaml"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{name: a, use_target: a}", "targets.yaml:2: use_target goes in a circle: a, a"),
        (
            "{name: a, provider: cli, command: 'x --file {PROMPT_FIL}'}",
            "targets.yaml:2: command: only {PROMPT} is filled in, not {PROMPT_FIL}",
        ),
        (
            "{name: a, provider: codex, args: [-c, '{PROMT}']}",
            "targets.yaml:2: args: only {PROMPT} is filled in, not {PROMT}",
        ),
        (
            "{name: a, provider: codex, args: [--flag, true]}",
            "targets.yaml:2: args holds texts and numbers; write others in quotes",
        ),
        (
            "{name: a, provider: cli, command: [x, {y: z}]}",
            "targets.yaml:2: command holds texts and numbers; write others in quotes",
        ),
        ("{name: a, provider: pi, model: 5}", "targets.yaml:2: a: model must be a text"),
        ("{name: a, provider: pi, cwd: [x]}", "targets.yaml:2: a: cwd must be a text"),
        ("{name: a, provider: pi, log_dir: 7}", "targets.yaml:2: a: log_dir must be a text"),
        ("{name: a, provider: pi, timeout_seconds: .inf}", "targets.yaml:2: timeout_seconds must be a number above 0"),
        ('{name: a, provider: pi, args: "x \'y"}', "targets.yaml:2: args: No closing quotation"),
    ],
)
def test_settings_of_a_wrong_kind_are_refused(tmp_path: Path, entry: str, message: str) -> None:
    assert refused(tmp_path, f"targets:\n  - {entry}\n") == message


def test_arguments_in_one_text_are_split_as_a_command_is(tmp_path: Path) -> None:
    made = one(tmp_path, "{name: t, provider: pi, args: \"--say 'two words'\"}")
    assert "two words" in made.command


MIXED = """targets:
  - {name: good, provider: codex}
  - {name: bad, provider: codx}
  - {name: worse, provider: codex, timeout_seconds: soon}
  - {provider: codex}
  - {name: way, use_target: bad}
  - {name: twice, provider: codex}
  - {name: twice, provider: pi}
"""


@pytest.mark.parametrize("count", [0, 100])
def test_what_is_wrong_with_a_target_stops_nobody_who_wants_another_one(tmp_path: Path, count: int) -> None:
    path = tmp_path / "targets.yaml"
    path.write_text(MIXED.replace("  - {name: good", "  - {provider: codex}\n" * count + "  - {name: good"))
    for name in ("good", "nobody", ""):
        found = load_targets(path, {}, wanted=name)
        assert "good" in found.targets
        (warning,) = found.warnings
        assert "; other targets can be run, `agentv-stream validate` lists all" in warning
        assert count or "targets.yaml:3: unknown provider 'codx'; did you mean 'codex'? (3 more)" in warning
    for name, text in {
        "bad": "unknown provider 'codx'",
        "worse": "timeout_seconds must",
        "way": "unknown provider 'codx'",
        "twice": "two targets",
    }.items():
        with pytest.raises(SpecError, match=text) as refused:
            load_targets(path, {}, wanted=name)
        assert len(refused.value.further) == 0


@pytest.mark.parametrize(
    ("command", "sign"),
    [
        ("agent --json {PROMPT} | tee log", "|"),
        ("cd x && agent {PROMPT}", "&&"),
        ("agent {PROMPT} > out", ">"),
        ("agent {PROMPT} 2>/dev/null", "2>/dev/null"),
        ("agent --home $HOME {PROMPT}", "$HOME"),
        ("~/bin/agent {PROMPT}", "~/bin/agent"),
        ("agent {PROMPT} ; true", ";"),
    ],
)
def test_what_only_a_shell_would_understand_is_a_warning(tmp_path: Path, command: str, sign: str) -> None:
    """The agent got `|` and `tee` as arguments, and nobody was told."""
    loaded = load(tmp_path, f"targets:\n  - {{name: t, provider: cli, command: '{command}'}}\n")
    assert [text.partition("yaml:")[2] for text in loaded.warnings] == [
        f"2: {sign} in its command line is a plain word: no shell reads it; write sh -c '…'"
    ]


@pytest.mark.parametrize(
    "command", ["[sh, -c, 'agent $1 | tee log && true', x, '{PROMPT}']", "'agent a|b x&&y {PROMPT} --x=~/y'"]
)
def test_words_of_a_script_are_no_such_signs(tmp_path: Path, command: str) -> None:
    assert load(tmp_path, f"targets:\n  - {{name: t, provider: cli, command: {command}}}\n").warnings == []
