"""Reads AgentV's targets file: which agent a target is, how it is started, how its stream is logged.

`stream_log` is `false` (the default), `summary` or `raw`. `log_format` and `log_output_format` are its old names:
accepted with one warning before the release named in `REMOVED_IN`, refused from then on.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agentv_stages.model.provider import Start
from agentv_stages.providers import all_providers
from agentv_stages.trajectory.config import MOST
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stream.checks.agent_kinds import MODEL, OTHER_KINDS, PROMPT, SETTINGS, agent_kinds
from agentv_stream.checks.variables import VARIABLE
from agentv_stream.checks.yaml_lines import At, Document, Errors, SpecError, read_yaml
from agentv_stream.names import nearly
from agentv_stream.release import release, running_version
from agentv_stream.settings import StreamLog, stream_log
from agentv_stream.sources.files import absolute, is_file

REMOVED_IN = "0.2.0"
"""The first release that refuses the old names."""

OLD_NAMES = ("log_format", "log_output_format")
OLD_VALUES: Mapping[str, StreamLog] = {"json": "raw", "raw": "raw", "summary": "summary"}

FILLED = ("{PROMPT_FILE}", "{OUTPUT_FILE}", "{FILES}", "{EVAL_ID}", "{ATTEMPT}")
"""Placeholders of AgentV besides the prompt; each attempt has values of its own."""

SHELL_SIGN = re.compile(r"\|\|?&?|&&?|;|\d*[<>]\S*|\$(?!\{\{)[A-Za-z_({].*|~(?:/.*)?|`.*", re.DOTALL)
"""Words that only mean something to a shell: operators, redirections, `$HOME`, `~/x`."""

MOST_WORD_BYTES = 128 * 1024
"""Bytes of one word of a command line, with the null byte at its end. Source: Linux, MAX_ARG_STRLEN."""

SLIP = 0.85
"""Similarity from which an unknown setting of a `cli` target counts as a misspelling of a known one."""

CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")
PLACEHOLDER = re.compile(r"(?<![${])\{[A-Z][A-Z_]+\}(?!\})")


@dataclass
class Target:
    """One target. `command` is empty if its kind cannot be run here; `why_not` is then the reason.

    `piped` is the command for a prompt on standard input; empty if none is known.
    """

    name: str
    kind: str
    provider: str
    command: tuple[str, ...]
    model: str | None = None
    cwd: Path | None = None
    timeout_seconds: float | None = None
    stream_log: StreamLog = "false"
    log_dir: Path | None = None
    why_not: str | None = None
    shown: tuple[str, ...] = ()
    piped: tuple[str, ...] = ()
    piped_shown: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()  # variables that it needs, and the environment does not have

    def is_piped(self, prompt: str) -> bool:
        """Whether a prompt is too long for a word of a command line, and goes to standard input.

        Raises: SpecError if it is, and no way is known to give it to this target.
        """
        words = [word.replace(PROMPT, prompt).encode("utf-8", "surrogateescape") for word in self.command]
        longest = max(map(len, words), default=0)
        if longest < MOST_WORD_BYTES:
            return False
        if not self.piped:
            raise SpecError(
                f"the target {self.name!r} cannot be run: with its prompt, a word has {longest:,} bytes, and one of a "
                f"command line at most {MOST_WORD_BYTES - 1:,}; give a command after --, and the prompt on standard "
                "input"
            )
        return True

    def needs(self, placeholder: str) -> bool:
        """Whether the command has this placeholder."""
        return any(placeholder in word for word in self.command)

    def command_line(self, prompt: str, values: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """The words to start, with `values` in place of other placeholders. A word that is left empty is dropped.

        Raises: SpecError if this kind of target cannot be run, or a variable is missing."""
        if self.unset:
            raise SpecError(f"the target {self.name!r} cannot be run: ${{{{ {self.unset[0]} }}}} is not set")
        if self.why_not is not None:
            raise SpecError(f"the target {self.name!r} cannot be run: {self.why_not}")
        return _filled(self.piped if self.is_piped(prompt) else self.command, {PROMPT: prompt, **(values or {})})

    def command_shown(self, prompt: str, values: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """The same for output files: environment variables, which may hold secrets, are shown by name."""
        words = self.piped_shown if self.is_piped(prompt) else self.shown
        return _filled(words, {PROMPT: prompt, **(values or {})})


def _filled(words: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """The words with values in place of placeholders; a value is never searched for another one."""
    known = re.compile("|".join(map(re.escape, values)))
    filled = [(word, known.sub(lambda found: values[found[0]], word)) for word in words]
    return tuple(text for word, text in filled if text or word not in FILLED)


@dataclass
class Targets:
    """A targets file."""

    path: Path
    targets: dict[str, Target] = field(default_factory=dict[str, Target])
    warnings: list[str] = field(default_factory=list[str])

    def missing(self, name: str) -> SpecError:
        return Document(self.path, None).error((), f"no target is called {name!r}", self.targets, name)


def find_targets(folder: Path) -> Path | None:
    """`.agentv/targets.yaml` in a folder or above it."""
    for place in (folder, *folder.parents):
        for name in ("targets.yaml", "targets.yml"):
            path = place / ".agentv" / name
            if is_file(path):
                return path
    return None


def load_targets(
    path: Path,
    environment: Mapping[str, str] | None = None,
    current: str | None = None,
    removed_in: str = REMOVED_IN,
    *,
    wanted: str | None = None,
) -> Targets:
    """Reads a targets file. `${{ NAME }}` stands for an environment variable.

    `current` is the running release, which is compared with `removed_in`. If one target is `wanted`, errors in others
    are only warnings. Raises: SpecError, with the `further`.
    """
    document = read_yaml(path)
    value: Any = document.value
    entries: Any = value.get("targets", value.get("providers")) if is_object(value) else value
    key = "targets" if is_object(value) and "targets" in value else "providers"
    at: At = (key,) if is_object(value) else ()
    if not is_list(entries):
        raise document.error(at, "a targets file holds a list of targets")
    reader = _Reader(document, os.environ if environment is None else environment)
    for i, entry in enumerate(entries):
        reader.errors = Errors()
        with reader.errors.noting():
            reader.read((*at, i), entry)
        name = _name_of(document, (*at, i), entry)
        reader.wrong.append((name, reader.errors.all))
        reader.names.add(name)
    reader.judge(wanted)
    reader.resolve()
    reader.judge(wanted)
    reader.old_names(current if current is not None else running_version(), removed_in)
    return reader.found


def _name_of(document: Document, at: At, entry: Any) -> str | None:
    """An entry's name, None if it has none. Since AgentV 5.2 `id` is the provider, and `label` the name."""
    keys = ("name", "id", "label") if is_object(entry) and "provider" in entry else ("name", "label", "id")
    key = next((key for key in keys if key in entry), None) if is_object(entry) else None
    return None if key is None else document.name((*at, key), entry[key])


class _Reader:
    def __init__(self, document: Document, environment: Mapping[str, str]) -> None:
        self.document = document
        self.environment = environment
        self.hiding = False  # whether variables are shown by name
        self.unset: dict[str, None] = {}  # those that the target being read needs, and that are not set
        self.found = Targets(document.path)
        self.errors = Errors()  # of the entry being read
        self.wrong: list[tuple[str | None, list[SpecError]]] = []  # each entry's name and errors
        self.names: set[str | None] = set()
        self.uses: dict[str, tuple[str, At]] = {}
        self.old: list[tuple[At, str, str, str]] = []

    def read(self, at: At, entry: Any) -> None:
        if not is_object(entry):
            raise self.document.error(at, "a target must be a mapping with name and provider")
        target: dict[str, Any] = {}
        for key, value in entry.items():
            setting = CAMEL.sub(lambda m: "_" + m.group(1).lower(), key)
            # A user's own program may have settings of its own: only what nearly matches one of ours is an error there.
            own = entry.get("provider") == "cli" and nearly(key, SETTINGS, SLIP) is None
            if setting not in SETTINGS and not key.startswith("x-") and not own:
                text = f"unknown setting of targets {key!r}"
                self.errors.note(self.document.error((*at, key), text, SETTINGS, key))
            target[setting] = value
        inner: Any = target.get("config")
        if is_object(inner):  # since AgentV 5.3 some settings stand below it
            target = {**{CAMEL.sub(lambda m: "_" + m.group(1).lower(), key): v for key, v in inner.items()}, **target}
        name = _name_of(self.document, at, target)
        if name is None:
            raise self.document.error(at, "a target needs a name")
        if name in self.found.targets or name in self.uses:
            raise self.document.error(at, f"two targets are called {name!r}")
        other = self.document.name((*at, "use_target"), target.get("use_target"))
        if other is not None and "provider" not in target:
            self.uses[name] = (self.text(other), (*at, "use_target"))
            return
        kind = target.get("provider", target.get("id") if "name" not in target else None)
        if not isinstance(kind, str):
            raise self.document.error(at, f"the target {name!r} needs a provider")
        low = kind.lower().replace("_", "-")
        if low not in agent_kinds() and kind.lower() not in OTHER_KINDS and low not in OTHER_KINDS:
            known = (*agent_kinds(), *OTHER_KINDS)
            if not isinstance(target.get("command"), str | list) or nearly(kind, known, SLIP) is not None:
                if any(low in (provider.name, *provider.aliases) for provider in all_providers()):
                    trouble = f"`run` cannot start {kind!r}: no command of it that prints a stream is known"
                    raise self.document.error((*at, "provider"), trouble)
                raise self.document.error((*at, "provider"), f"unknown provider {kind!r}", known, kind)
            low = "cli"  # a provider of the user's own, .agentv/providers/<kind>.*
        if "byok" in target:
            self.warn((*at, "byok"), f"{name}: byok has no effect here: configure it in the agent")
        self.found.targets[name] = self.make(at, name, low, target)

    def make(self, at: At, name: str, kind: str, target: dict[str, Any]) -> Target:
        agent = agent_kinds().get(kind)
        self.unset = {}
        for key in ("model", "cwd", "log_dir", "log_directory"):
            if not isinstance(target.get(key), str | None):
                raise self.document.error((*at, key), f"{name}: {key} must be a text")
        model = target.get("model")
        shown = self.text(model) if isinstance(model, str) else None
        result = Target(name, kind, agent.provider if agent is not None else "", (), shown or None)
        result.stream_log = self.log(at, name, target)
        folder = target.get("log_dir", target.get("log_directory"))
        if isinstance(folder, str):
            result.log_dir = absolute(self.document.path.parent / self.text(folder))
        if isinstance(target.get("cwd"), str):
            result.cwd = self.document.path.parent / self.text(target["cwd"])
        seconds = target.get("timeout_seconds")
        if seconds is not None:
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MOST:
                raise self.document.error((*at, "timeout_seconds"), "timeout_seconds must be a number above 0")
            result.timeout_seconds = float(seconds)
        if agent is None:
            result.why_not = f"{kind} is no agent on a command line"
            return result
        result.command = self.command(at, target, agent.start, result.model)
        result.piped = self.piped(at, target, agent.start, result.model)
        self.hiding = True
        hidden = self.text(model) if isinstance(model, str) else None
        result.shown = self.command(at, target, agent.start, hidden)
        result.piped_shown = self.piped(at, target, agent.start, hidden)
        self.hiding = False
        result.unset = tuple(self.unset)
        if not result.command and not self.errors.all:  # then its name is the error
            raise self.document.error(at, f"the target {name!r} needs a command")
        return result

    def piped(self, at: At, target: dict[str, Any], start: Start, model: str | None) -> tuple[str, ...]:
        """The command line for a prompt on standard input; empty if the target's own one holds the prompt."""
        if start.piped is None:
            return ()
        words = self.command(at, target, replace(start, command=start.piped), model)
        return () if any(PROMPT in word for word in words) else words

    def command(self, at: At, target: dict[str, Any], start: Start, model: str | None) -> tuple[str, ...]:
        """The kind's own command line with the target's program and further arguments."""
        keys = ("executable", "binary", "command", "command_template")
        for key in (*keys, "args", "arguments"):
            written: Any = target.get(key)
            for word in written if is_list(written) else [written]:
                if found := [name for name in PLACEHOLDER.findall(str(word)) if name not in (PROMPT, *FILLED)]:
                    raise self.document.error((*at, key), f"{key}: only {PROMPT} is filled in, not {found[0]}")
        program: Any = next((target[key] for key in keys if key in target), None)
        extra: Any = target.get("args", target.get("arguments", []))
        if isinstance(extra, str):
            extra = self.split(at, self.text(extra), "args")
        if not is_list(extra):
            raise self.document.error((*at, "args"), "args must be a list of texts")
        words = self.words((*at, "args"), extra)
        if is_list(program):
            typed = self.words((*at, "command"), program)
        elif isinstance(program, str):
            typed = self.split(at, self.text(program))
        else:
            typed = []
        if signs := [word for word in (*typed, *words) if SHELL_SIGN.fullmatch(word)]:
            self.warn(at, f"{signs[0]} in its command line is a plain word: no shell reads it; write sh -c '…'")
        if any(PROMPT in word for word in typed):
            return (*typed, *words)  # a whole command line given by the user
        if not start.command:
            return (*typed, *words, PROMPT) if typed else ()
        if model and start.model is None:
            raise self.document.error(
                (*at, "model"), f"{start.command[0]} has no option for a model: configure it there"
            )
        chosen = [word.replace(MODEL, model) for word in start.model or ()] if model else []
        head = typed or [start.command[0]]
        if start.command[-1] == PROMPT:
            return (*head, *start.command[1:-1], *chosen, *words, PROMPT)
        return (*head, *start.command[1:], *chosen, *words)

    def warn(self, at: At, text: str) -> None:
        warning = f"{self.document.path}:{self.document.line(at)}: {text}"
        if warning not in self.found.warnings:
            self.found.warnings.append(warning)

    def words(self, at: At, items: list[Any]) -> list[str]:
        for i, item in enumerate(items):
            if isinstance(item, bool) or not isinstance(item, str | int | float):
                raise self.document.error((*at, i), f"{at[-1]} holds texts and numbers; write others in quotes")
        return [self.text(str(item)) for item in items]

    def split(self, at: At, text: str, key: str = "command") -> list[str]:
        import shlex

        try:
            return shlex.split(text)
        except ValueError as error:
            raise self.document.error((*at, key), f"{key}: {error}") from error

    def log(self, at: At, name: str, target: dict[str, Any]) -> StreamLog:
        """`stream_log`, or what an old name means; uses of old names are noted for the warning."""
        chosen: StreamLog | None = None
        for key in OLD_NAMES:
            value = target.get(key)
            if value is None:
                continue
            replacement = OLD_VALUES.get(str(value).lower())
            if replacement is None:
                raise self.document.error((*at, key), f"{name}: {key} must be summary or json")
            self.old.append(((*at, key), name, key, replacement))
            chosen = chosen or replacement
        if "stream_log" in target:
            try:
                return stream_log(target["stream_log"])
            except ValueError as error:
                text = f"{name}: stream_log must be false, summary or raw"
                raise self.document.error((*at, "stream_log"), text) from error
        return chosen or "false"

    def judge(self, wanted: str | None) -> None:
        """Raises: SpecError for any error, or, if a target is wanted, for errors in that one and those it refers to."""
        names = {wanted}
        while wanted in self.uses and self.uses[wanted][0] not in names:
            wanted = self.uses[wanted][0]
            names.add(wanted)
        ours, others = Errors(), Errors()
        for name, errors in self.wrong:
            for error in errors:
                (ours if names == {None} or name in names else others).note(error)
        self.wrong = []
        ours.check()
        if others.all:
            more = f" ({len(others.all) - 1} more)" if len(others.all) > 1 else ""
            text = "; other targets can be run, `agentv-stream validate` lists all"
            self.found.warnings.append(f"{others.all[0].message}{more}{text}")

    def resolve(self) -> None:
        """Follows `use_target` references to the end."""
        for name, (other, at) in self.uses.items():
            self.errors = Errors()
            self.wrong.append((name, self.errors.all))
            seen = [name]
            while other in self.uses and other not in seen:
                seen.append(other)
                other = self.uses[other][0]
            target = self.found.targets.get(other)
            if other in self.uses:
                self.errors.note(self.document.error(at, f"use_target goes in a circle: {', '.join([*seen, other])}"))
                continue
            if target is None:
                if VARIABLE.search(other) or other in self.names:
                    continue  # its name comes from an unset environment variable; or it has errors itself
                known = [*self.found.targets, *self.uses]
                text = f"use_target: no target is called {other!r}"
                self.errors.note(self.document.error(at, text, known, other))
                continue
            self.found.targets[name] = target

    def old_names(self, current: str, removed_in: str) -> None:
        """One warning for all uses of the old names; an error from the release of their removal on."""
        if not self.old:
            return
        at, name, key, replacement = self.old[0]
        if release(current) >= release(removed_in):
            text = f"{name}: {key!r} was removed in {removed_in}; use 'stream_log: {replacement}' instead"
            raise self.document.error(at, text)
        line = self.document.line(at)
        others = sorted({other for _, other, _, _ in self.old} - {name})
        also = f" (also in {', '.join(others)})" if others else ""
        self.found.warnings.append(
            f"{self.document.path}:{line}: {name}: {key!r} is deprecated and goes with {removed_in}; "
            f"use 'stream_log: {replacement}' instead{also}"
        )

    def text(self, value: str) -> str:
        """`value` with environment variables substituted; an unset variable stays as written, and is noted."""
        self.unset.update((name, None) for name in VARIABLE.findall(value) if name not in self.environment)
        if self.hiding:
            return VARIABLE.sub(
                lambda m: f"${{{{{m.group(1)}}}}}" if m.group(1) in self.environment else m.group(0), value
            )
        return VARIABLE.sub(lambda m: self.environment.get(m.group(1), m.group(0)), value)
