"""Bytes in, the same bytes with `[redacted:KIND:xxxxxxxx]` in the place of each secret out.

Works on the raw bytes of a log, JSON or not, before they are decoded. A marker has no quote, backslash or control
character, so JSON stays valid, at any depth of JSON in JSON.
"""

import hmac
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from agentv_stages.redaction.checks import KEY_END, LONGEST_KEY, is_mixed, is_placeholder, stands_alone
from agentv_stages.redaction.rules import GATE, RULES, SEPARATORS, TOKENS, Rule, Token, by_ending
from agentv_stages.redaction.vault import Vault


class Finding(NamedTuple):
    """A secret: `data[start:end]`, and the kind of it."""

    start: int
    end: int
    kind: str


# identifiers, and what vendors sign or encrypt for themselves: never touched, whatever they look like
_KEPT_MEMBER = re.compile(
    rb'"(?:[a-z_]*[iI][dD]|[a-zA-Z_]*Id|[a-zA-Z]*U?u?uid|type|kind|model|role|timestamp|signature|thought_?[sS]ignature|'
    rb'encrypted_content|reasoning_opaque)\\*"\s*:\s*\\*"$'
)
_ESCAPED = re.compile(rb"\\u00[2-7]")
_ESCAPES = rb"\u00"  # found ten times as fast where there is none
_ESCAPED_SLASHES = re.compile(rb":\\/")
_CONTRACTED = re.compile(rb"\\+u00([2-7][0-9a-fA-F])|\\+/")
_ARMOUR_PARTS = re.compile(rb"\\+u[0-9a-fA-F]{4}|\\+[nrt]|((?:[A-Za-z0-9+/=]|\\+/)+)")
_ARMOUR_TEXT = re.compile(
    rb"(?:[A-Za-z0-9+/=:, .()|\r\n\t-]|\\+[nrt/]|\\+u000[aAdD9]|\\+u2192|\xe2\x86\x92|\"\s*,\s*\")*"
)


def expressions(rules: Iterable[Rule] = ()) -> list[bytes]:
    """A regular expression for everything that makes `Redactor` look closer, for a faster search."""
    tokens = [b"".join(b"\\x%02x" % letter for letter in token.prefix) + token.tail for token in TOKENS]
    patterns = [rule.expression or rule.pattern for rule in (*RULES, *rules)]
    return [*tokens, *patterns, _ESCAPED.pattern, _ESCAPED_SLASHES.pattern]


class Redactor:
    """Finds and replaces secrets. `counts` has the number of replaced secrets by kind.

    `key` makes the markers: equal secrets get equal markers, and a guess cannot be tested without the key. `rules` are
    the user's, beside ours; `allow` are patterns of texts that stay. `may_match` is a faster search: bytes in, out
    whether any of `expressions()` occurs in them; without it each rule looks for itself. `vault` remembers what markers
    stand for.
    """

    def __init__(
        self,
        key: bytes,
        *,
        rules: Iterable[Rule] = (),
        allow: Iterable[re.Pattern[bytes]] = (),
        may_match: Callable[[bytes], bool] | None = None,
        vault: Vault | None = None,
    ) -> None:
        rules = tuple(rules)
        self.vault = vault
        self.counts: Counter[str] = Counter()
        self.key = key
        self._rules = (*RULES, *rules)
        self._after_gate = (*(rule for rule in RULES if not rule.pattern.startswith(b"A")), *rules)
        self._tokens = by_ending(TOKENS)
        self._allow = tuple(allow)
        self._may_match = may_match

    def findings(self, data: bytes) -> list[Finding]:
        """The secrets in a record or a text, in order, without overlap."""
        if self._may_match is not None and not self._may_match(data):
            return []
        escaped = _ESCAPES in data and _ESCAPED.search(data) is not None
        if not escaped and _ESCAPED_SLASHES.search(data) is None:
            return self._without_overlap(self._found(data))
        plain, raw, at = _contracted(data)
        found: list[Finding] = []
        for finding in self._found(plain):
            start, end = _place(finding.start, raw, at), _place(finding.end - 1, raw, at)
            found.append(Finding(start, end + _width(data, end), finding.kind))
        return self._without_overlap(found)

    @property
    def is_fast(self) -> bool:
        """Whether the faster search is installed."""
        return self._may_match is not None

    def may_hold(self, data: bytes) -> bool:
        """Whether there may be secrets; with the faster search some of them are none."""
        return bool(self.findings(data)) if self._may_match is None else self._may_match(data)

    def redact(self, data: bytes) -> bytes:
        """The same bytes with markers; the same object if there is nothing to replace."""
        found = self.findings(data)
        if not found:
            return data
        pieces: list[bytes] = []
        begin = 0
        for finding in found:
            pieces += (data[begin : finding.start], self.replacement(data, finding))
            begin = finding.end
        pieces.append(data[begin:])
        return b"".join(pieces)

    def redact_part(self, data: bytes, whole: bytes) -> bytes:
        """As `redact`; `whole` was redacted, and if it contains the data they need not be searched again."""
        if self._may_match is None and data in whole:  # the faster search is faster than this comparison
            return data
        return self.redact(data)

    def hide(self, data: bytes) -> bytes:
        """A text about originals, such as a verdict, without any secret or the beginning of a remembered one."""
        return self.redact(data) if self.vault is None else self.vault.hide(data, self.redact)

    def hide_text(self, text: str) -> str:
        """As `hide`."""
        return self.hide(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def replacement(self, data: bytes, finding: Finding) -> bytes:
        """The marker for a finding, which is counted."""
        self.counts[finding.kind] += 1
        secret = data[finding.start : finding.end]
        marker = self.marker(finding.kind, secret)
        if self.vault is not None:
            self.vault.keep(marker, secret)
        return marker

    def marker(self, kind: str, secret: bytes) -> bytes:
        """The text in place of a secret. For a private key only the base64 counts, not its layout."""
        if kind == "private-key":
            secret = b"".join(secret[start:end] for start, end in _armoured(secret, 0, len(secret))).replace(b"\\", b"")
        return b"[redacted:%s:%s]" % (kind.encode(), hmac.digest(self.key, secret, "sha256")[:4].hex().encode())

    def _found(self, data: bytes) -> list[Finding]:
        found: list[Finding] = []
        for separator in SEPARATORS:
            for match in separator.finditer(data):
                end = match.end()
                for token in self._tokens.get(data[end - 3 : end], ()):
                    if (finding := self._token(data, end, token)) is not None:
                        found.append(finding)
                        break
        for rule in self._rules if GATE.search(data) else self._after_gate:
            for match in rule.compiled.finditer(data):
                found += self._secrets(data, rule, match)
        return found

    def _token(self, data: bytes, tail: int, token: Token) -> Finding | None:
        """The token whose prefix ends at `tail`."""
        start = tail - len(token.prefix)
        match = token.compiled.match(data, tail) if start >= 0 and data.startswith(token.prefix, start) else None
        if match is None or not stands_alone(data, start, match.end()) or not is_mixed(match[0]):
            return None
        return Finding(start, match.end(), token.kind) if self._is_secret(data, start, match.end()) else None

    def _secrets(self, data: bytes, rule: Rule, match: "re.Match[bytes]") -> list[Finding]:
        if rule.check is not None and not rule.check(data, match):
            return []
        if rule.kind == "private-key":
            return _private_key(data, match.end())
        start, end = match.span(1 if rule.compiled.groups else 0)
        alone = rule.open_start or stands_alone(data, start, end)
        return [Finding(start, end, rule.kind)] if alone and self._is_secret(data, start, end) else []

    def _is_secret(self, data: bytes, start: int, end: int) -> bool:
        secret = data[start:end]
        if is_placeholder(secret) or _KEPT_MEMBER.search(data, max(0, start - 64), start) is not None:
            return False
        return not any(pattern.search(secret) for pattern in self._allow)

    @staticmethod
    def _without_overlap(found: list[Finding]) -> list[Finding]:
        if len(found) < 2:
            return found
        found.sort(key=lambda f: (f.start, -f.end))
        kept = [found[0]]
        for finding in found[1:]:
            if finding.start >= kept[-1].end:
                kept.append(finding)
        return kept


def _private_key(data: bytes, begin: int) -> list[Finding]:
    """The secrets of an armoured key whose first line ends at `begin`: all up to its last line, as far as it goes.

    If the lines are members of an array, each is a finding of its own, so that the array stays one.
    """
    text = _ARMOUR_TEXT.match(data, begin, begin + LONGEST_KEY)
    limit = text.end() if text is not None else begin
    end = KEY_END.search(data, begin, begin + LONGEST_KEY)
    last = end.start() if end is not None and end.start() <= limit + 1 else limit
    runs = _armoured(data, begin, last)
    if not runs:
        return []
    if b'"' in data[runs[0][0] : runs[-1][1]]:
        return [Finding(start, stop, "private-key") for start, stop in runs]
    return [Finding(runs[0][0], runs[-1][1], "private-key")]


def _armoured(data: bytes, begin: int, end: int) -> list[tuple[int, int]]:
    """The stretches of base64 in the lines of a key: without escapes between lines, and without line numbers."""
    spans = (match.span(1) for match in _ARMOUR_PARTS.finditer(data, begin, end) if match[1])
    return [(start, stop) for start, stop in spans if stop - start > 7 or not data[start:stop].isdigit()]


def _contracted(data: bytes) -> tuple[bytes, list[int], list[int]]:
    """`\\u003d` and `\\/` as the characters that they mean; for each change, its offset in `data` and in the result.

    Quotes and backslashes stay as they are: they say where a string ends.
    """
    pieces: list[bytes] = []
    raw, at = [0], [0]
    begin = length = 0
    for match in _CONTRACTED.finditer(data):
        code = int(match[1], 16) if match[1] else 0x2F
        if code in (0x22, 0x5C):
            continue
        pieces += (data[begin : match.start()], bytes((code,)))
        length += match.start() - begin + 1
        begin = match.end()
        raw += (match.start(), begin)
        at += (length - 1, length)
    pieces.append(data[begin:])
    return b"".join(pieces), raw, at


def _place(offset: int, raw: list[int], at: list[int]) -> int:
    index = bisect_right(at, offset) - 1
    return raw[index] + offset - at[index]


def _width(data: bytes, at: int) -> int:
    """Bytes of the character that begins at an offset: an escape, or one."""
    match = _CONTRACTED.match(data, at)
    return match.end() - at if match is not None else 1
