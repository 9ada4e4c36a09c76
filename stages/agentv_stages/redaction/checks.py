"""Checks of a secret beyond its pattern: whether a match is one, or a placeholder, an example, a piece of code."""

import re

_PLACEHOLDER = re.compile(
    rb"example|placeholder|changeme|change[_-]me|your[_-]|dummy|redacted|xxxx|\*\*\*|\.\.\.|0123456789abcdef|"
    rb"1234567890ab|abcdefghijkl|notreal|<|\$\{|\{\{",
    re.I,
)
_FEWEST_CHARACTERS = 6  # different ones, in a secret of 12 and more


def is_placeholder(secret: bytes) -> bool:
    """Whether a text only stands in the place of a secret, as documentation and tests write it."""
    few = len(secret) >= 12 and len(set(secret)) < _FEWEST_CHARACTERS
    return few or _PLACEHOLDER.search(secret) is not None


_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-")
_MAY_PRECEDE = re.compile(
    rb"(?:\\[nrtbf]|\\u00[01][0-9a-fA-F]|%[0-9A-F]{2}"  # an escape that ends with a letter
    rb"|(?:\x1b|\\u001[bB]|\\x1[bB]|\\e|\\033)\[[\d;]*m"  # a terminal's colour
    rb"|(?:[\"\n]|\\n)[+-])$"  # a line of a diff
)


def starts_alone(data: bytes, start: int) -> bool:
    """Whether no letter of base64 stands before `start`, except the last one of an escape."""
    if start == 0 or data[start - 1] not in _BASE64:
        return True
    return start == 1 or _MAY_PRECEDE.search(data, max(0, start - 24), start) is not None


_NOT_BASE64 = re.compile(rb"[_.-]")


def stands_alone(data: bytes, start: int, end: int) -> bool:
    """Whether `data[start:end]` is no part of a longer word or of base64. A slash beside a secret with a sign that
    base64 lacks separates the parts of a path."""
    if _NOT_BASE64.search(data, start, end) is not None:
        ends = end == len(data) or data[end] not in _BASE64 or data[end] in b"/+"
        return ends and (start == 0 or data[start - 1] in b"/+" or starts_alone(data, start))
    return not (end < len(data) and data[end] in _BASE64) and starts_alone(data, start)


def is_mixed(secret: bytes) -> bool:
    """For tokens of any letters: digits and letters are among them, or letters of both cases."""
    digits = any(48 <= c <= 57 for c in secret)
    upper, lower = any(65 <= c <= 90 for c in secret), any(97 <= c <= 122 for c in secret)
    return digits + upper + lower >= 2


def is_mixed_match(data: bytes, match: "re.Match[bytes]") -> bool:
    """`is_mixed` for the whole match."""
    return is_mixed(match[0])


_NUMBER = re.compile(rb"[0-9]{5,16}$")


def follows_a_number(data: bytes, match: "re.Match[bytes]") -> bool:
    """For tokens of bots: the bot's number precedes, and no letter follows."""
    at = match.start()
    ends = match.end() == len(data) or data[match.end()] not in _BASE64
    return ends and _NUMBER.search(data, max(0, at - 16), at) is not None


_SECRET_WORDS = (
    rb"(?:API|SECRET|ACCESS|PRIVATE|ENCRYPTION|SIGNING|MASTER|AUTH|SERVICE|ACCOUNT|DEPLOY|ADMIN|ROOT|SESSION|JWT|CLIENT)"
    rb"_?KEY|APIKEY|TOKEN|SECRET|SECRET_KEY_BASE|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?"
)
_NAME = re.compile(rb"[A-Z][A-Z0-9_]*$")
_SECRET_NAME = re.compile(rb"(?:\A|_)(?:" + _SECRET_WORDS + rb")(?:_[A-Z0-9]{1,20})?\Z")
_NOT_SECRET_NAMES = re.compile(
    rb"(?:_FILE|_PATH|_URL|_NAME|_ID|_TYPE|_LENGTH|_SIZE|_LIMIT|_COUNT|_HEADER|_PREFIX|_TTL)$"
)
_LONGEST_NAME = 80
_CODE = re.compile(
    rb"(?:os|sys|self|this|process|config|settings|env|req|request|args|options|crypto|Environment|ENV)[.\[]|"
    rb"(?:true|false|null|none|undefined|required|optional|string|secret|password|passwd|token|disabled|enabled)$|[/~]|\d+$",
    re.I,
)


def is_assigned(data: bytes, match: "re.Match[bytes]") -> bool:
    """For `NAME=VALUE`: an upper-case name of a secret, and a value that is no variable, path, number or call."""
    at = match.start()
    name = _NAME.search(data, max(0, at - _LONGEST_NAME), at)
    if name is None or _SECRET_NAME.search(name[0]) is None or _NOT_SECRET_NAMES.search(name[0]) is not None:
        return False
    if not starts_alone(data, name.start()):
        return False  # the end of a longer name
    return _CODE.match(match[1]) is None and data[match.end() : match.end() + 1] != b"("


_WEAK_WORDS = frozenset((b"password", b"pass", b"passwd", b"pwd", b"secret", b"token", b"user", b"xxx", b"test"))


def is_connection(data: bytes, match: "re.Match[bytes]") -> bool:
    """For `scheme://user:password@host`: a password that is no word for one, and a host behind it."""
    password = match[1]
    host = data[match.end() : match.end() + 1]
    return (
        password.lower() not in _WEAK_WORDS
        and password[:1] not in b"$%{["
        and (host.isalnum() or host in b"[$_")
        and host != b""
    )


_CURL = re.compile(rb"curl[\s\\]")
_LONGEST_COMMAND = 2_000


def is_curl_password(data: bytes, match: "re.Match[bytes]") -> bool:
    """For `-u user:password`: an option of curl, and a password that is no word for one and no variable."""
    password = match[1].rstrip(b"/,;)").lower()
    if password in _WEAK_WORDS or password[:1] in b"$%{[(<" or len(set(password)) == 1 or b"://" in password:
        return False
    return _is_option_of_curl(data, match.start())


def is_curl_token(data: bytes, match: "re.Match[bytes]") -> bool:
    """For `-u token:`: an option of curl, and a token with digits, which a user's name seldom is."""
    return is_header_value(data, match) and _is_option_of_curl(data, match.start())


def _is_option_of_curl(data: bytes, at: int) -> bool:
    before = data[at - 1 : at]
    starts = before.isspace() or (before in (b"n", b"t") and data[at - 2 : at - 1] == b"\\")
    return starts and _CURL.search(data, max(0, at - _LONGEST_COMMAND), at) is not None


_SCHEMES = frozenset((b"bearer", b"basic", b"token", b"digest", b"apikey", b"negotiate", b"aws4-hmac-sha256"))
_WORDS = re.compile(rb"[A-Za-z]+\d{0,3}(?:[-_.](?:[A-Za-z]+\d{0,3}|\d{1,3}))+=?")


def is_header_value(data: bytes, match: "re.Match[bytes]") -> bool:
    """For header values: a digit or a sign of base64 is among them, so it is no word of prose or code."""
    secret = match[1]
    if secret.lower() in _SCHEMES or b"://" in secret or _CODE.match(secret) is not None:
        return False
    if data[match.end() : match.end() + 1] in (b"(", b"[") or _WORDS.fullmatch(secret) is not None:
        return False  # a call, an element, a name
    return (any(48 <= c <= 57 for c in secret) and any(c >= 65 for c in secret)) or secret.endswith(b"=")


_NO_MEMBER = re.compile(
    rb"(?:[:/][A-Za-z0-9_-]*|(?:next|page|key|continuation|request|change|progress|cursor)[_-]?t)\Z", re.I
)


def is_member_value(data: bytes, match: "re.Match[bytes]") -> bool:
    """As `is_header_value`, for names such as `access_token`: not the part of a path or an ARN, no mark of a place."""
    at = match.start()
    return is_header_value(data, match) and _NO_MEMBER.search(data[max(0, at - 40) : at]) is None


_ARMOUR = re.compile(rb"[A-Za-z0-9+/]{40}")
KEY_BEGIN = rb"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----"
KEY_END = re.compile(rb"-----END[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----")
LONGEST_KEY = 32 * 1024  # bytes of a private key with its escapes and line numbers; RSA of 16,384 bits has 12,500


def is_private_key(data: bytes, match: "re.Match[bytes]") -> bool:
    """For the first line of a key: a line of base64 follows before the last line, or before the next key."""
    end = data.find(b"-----", match.end(), match.end() + LONGEST_KEY)
    return _ARMOUR.search(data, match.end(), end if end > 0 else match.end() + LONGEST_KEY) is not None
