"""Redaction's inputs besides our rules: the key, a user's rules and allow-list. In: settings. Out: a `Redactor`.

A worker gets it in memory, as part of its work, and makes a redactor of its own.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from agentv_stream.settings import Settings, compiled

if TYPE_CHECKING:  # compiling our rules takes time, and most commands do not redact
    from agentv_stages.redaction.copied import RedactCopy
    from agentv_stages.redaction.redactor import Redactor
    from agentv_stages.redaction.rules import Rule


class Redaction(Struct, frozen=True):
    """`rules` are `KIND=PATTERN`, `allow` are patterns of texts that stay."""

    key: bytes
    rules: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


def redaction_of(settings: Settings) -> Redaction | None:
    """None where nothing is to be redacted.

    Raises: those of `installation_key`.
    """
    return redaction_with(settings) if settings.redact else None


def redaction_by(redact: bool | Redaction) -> Redaction | None:
    """For callers of the API: True means our rules alone. Raises: those of `installation_key`."""
    if isinstance(redact, Redaction):
        return redact
    return redaction_with(Settings()) if redact else None


def redactor_by(redact: bool | Redaction) -> "Redactor | None":
    """As `redaction_by`."""
    redaction = redaction_by(redact)
    return None if redaction is None else redactor_of(redaction)


def redaction_with(settings: Settings) -> Redaction:
    """As `redaction_of`, whether or not the settings ask for it."""
    from agentv_stream.redaction.key import installation_key

    return Redaction(installation_key(), settings.redact_rules, settings.redact_allow)


@lru_cache(4)
def redactor_of(redaction: Redaction) -> "Redactor":
    """The redactor of this process, with the fastest search that is installed."""
    from agentv_stages.redaction.redactor import Redactor, expressions
    from agentv_stages.redaction.vault import Vault
    from agentv_stream.redaction.fast_search import fast_search

    rules = [_own_rule(text) for text in redaction.rules]
    allow = [compiled(text, text) for text in redaction.allow]
    return Redactor(redaction.key, rules=rules, allow=allow, may_match=fast_search(expressions(rules)), vault=Vault())


def redactor_for(settings: Settings) -> "Redactor | None":
    """The redactor that settings ask for. Raises: as `redaction_of`."""
    redaction = redaction_of(settings)
    return None if redaction is None else redactor_of(redaction)


def redacted_copy(redactor: "Redactor") -> "RedactCopy":
    """The redactor of a copy of a stream of any agent, or of other text."""
    from agentv_stages.providers import all_providers
    from agentv_stages.redaction.copied import RedactCopy

    patterns = (pattern for provider in all_providers() for dialect in provider.dialects for pattern in dialect.deltas)
    return RedactCopy(redactor, dict.fromkeys(patterns))


def _own_rule(text: str) -> "Rule":
    """The rule of a setting `KIND=PATTERN`: the pattern says where the secret begins."""
    from agentv_stages.redaction.rules import Rule

    kind, _, pattern = text.partition("=")
    return Rule(kind, compiled(pattern, text).pattern, "the user's settings", open_start=True)
