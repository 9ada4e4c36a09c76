"""Secrets in raw bytes: every kind is found in every way a log may write it, and nothing else is."""

import base64
import itertools
import json
import random
import re
import string
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentv_stages.redaction.redact_stream import LONGEST_HELD, RedactStream
from agentv_stages.redaction.redactor import Redactor
from agentv_stages.redaction.rules import RULES, TOKENS
from agentv_stages.redaction.vault import MARKER

KEY = b"a key of this installation"
LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"


def made(length: int, letters: str = LETTERS, seed: int = 7) -> str:
    """A made-up secret with a digit and letters of both cases, as far as `letters` has them."""
    chance = random.Random(f"{length} {letters} {seed}")
    return "".join(chance.choice(letters) for _ in range(length))


def armour(lines: int = 8) -> str:
    body = "\n".join(made(64, LETTERS + "+/", seed) for seed in range(lines))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n{made(30)}==\n-----END RSA PRIVATE KEY-----\n"


def numbered(text: str, sign: str) -> str:
    return "".join(f"{row:6d}{sign}{line}\n" for row, line in enumerate(text.splitlines(), 1))


SECRETS: dict[str, list[str]] = {
    "anthropic-key": [f"sk-ant-{use}-{made(93)}AA" for use in ("api03", "admin01", "oat01")]
    + [f"sk-ant-oat01-{made(44)}"],
    "openai-key": [f"sk-proj-{made(74)}", f"sk-svcacct-{made(60)}", f"sk-{made(20)}T3BlbkFJ{made(20)}"],
    "openrouter-key": [f"sk-or-v1-{made(64, HEX)}"],
    "api-key": [f"sk-{made(32, HEX)}", f"sk-{made(48)}"],
    "langfuse-key": [f"sk-lf-{uuid.UUID(hex=made(32, HEX))}"],
    "google-key": [f"AIza{made(35)}"],
    "google-secret": [f"GOCSPX-{made(28)}"],
    "google-token": [f"ya29.{made(120)}"],
    "groq-key": [f"gsk_{made(52)}"],
    "xai-key": [f"xai-{made(80)}"],
    "huggingface-token": [f"hf_{made(34, string.ascii_letters)}"],
    "replicate-token": [f"r8_{made(37)}"],
    "perplexity-key": [f"pplx-{made(48)}"],
    "nvidia-key": [f"nvapi-{made(64)}"],
    "aws-key": [f"AKIA{made(16, BASE32)}", f"ASIA{made(16, BASE32)}"],
    "aws-bedrock-key": [f"ABSK{made(128)}"],
    "azure-key": [f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={made(86)}==;EndpointSuffix=b"],
    "azure-secret": [f"abc8Q~{made(34)}"],
    "digitalocean-token": [f"dop_v1_{made(64, HEX)}"],
    "databricks-token": [f"dapi{made(32, HEX)}"],
    "vault-token": [f"hvs.{made(95)}"],
    "github-token": [f"gh{use}_{made(36)}" for use in "pousr"] + [f"github_pat_{made(22)}_{made(59)}"],
    "gitlab-token": [f"glpat-{made(20)}", f"gldt-{made(20)}", f"glrt-{made(20)}"],
    "npm-token": [f"npm_{made(36)}"],
    "pypi-token": [f"pypi-AgEIcHlwaS5vcmc{made(120)}"],
    "docker-token": [f"dckr_pat_{made(27)}"],
    "atlassian-token": [f"ATATT3{made(186)}"],
    "slack-token": [f"xoxb-123456789012-1234567890123-{made(24)}", f"xapp-1-A0123ABC-1234567-{made(64, HEX)}"],
    "slack-webhook": [f"https://hooks.slack.com/services/T{made(8, BASE32)}/B{made(8, BASE32)}/{made(26)}"],
    "discord-webhook": [f"https://discord.com/api/webhooks/123456789012345678/{made(68)}"],
    "telegram-token": [f"1234567890:AA{made(33)}"],
    "stripe-key": [f"sk_live_{made(24)}", f"rk_test_{made(24)}"],
    "sendgrid-key": [f"SG.{made(22)}.{made(43)}"],
    "private-key": [armour(), numbered(armour(), "\t"), numbered(armour(), "→"), armour().replace("RSA ", "")],
    "jwt": [f"eyJ{made(33)}.eyJ{made(80)}.{made(43)}"],
    "url-password": ["postgres://app:s3cr3t&Pw9@db.internal:5432/x", "redis://:p4ss!w0rd@10.0.0.1:6379/0"],
    "auth-header": [f"Authorization: Bearer {made(40)}", "curl -H 'authorization: Basic dXNlcjpwYXNzd29yZA=='"],
    "api-key-header": [
        f"x-api-key: {made(40)}",
        f"X-Goog-Api-Key={made(39)}",
        f'curl -H "apikey: {uuid.UUID(hex=made(32, HEX))}"',
        f'curl --header "Api-Token: {made(12)}" https://h',
        f"curl -H 'Token: {made(16, HEX)}' https://h",
        f'"api_key": "{made(32, HEX)}"',
    ],
    "token": [
        f"private-token: {made(20)}",
        f"PRIVATE-TOKEN: {made(20)}",
        f'{{"access_token":"{made(24)}","refreshToken": "{made(24)}"}}',
        f"X-Vault-Token: s.{made(24)}",
    ],
    "curl-password": [
        "curl -s -u elastic:P4ssw0rdOfSearch https://h",
        "curl --user 'api:P4ssw0rdOfMailing' https://h",
        'curl -u "P4ssw0rdAsAUser:" https://h',
        "curl -X POST \\\n  --user kevin:'P4ssw0rdOfKevin' h",
    ],
    "assignment": [
        "export DB_PASSWORD=hunter2!secret",
        f"STRIPE_SECRET_KEY='{made(30)}'",
        f"MY_API_KEY={made(20)}",
        f"aws_secret_access_key = {made(40)}",
        f'"client_secret": "{made(24)}"',
        "password: hunter2OfTheWoods",
    ],
}

WAYS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "after an escape": lambda text: json.dumps({"text": f"first\n{text}\nlast"}),
    "ASCII only, compact": lambda text: json.dumps({"output": f"\t{text} "}, separators=(",", ":")),
    "JSON in JSON": lambda text: json.dumps({"arguments": json.dumps({"command": f"x\t{text}"})}),
    "JSON in JSON in JSON": lambda text: json.dumps({"a": json.dumps({"b": json.dumps({"c": f"\n{text}\n"})})}),
    "lines of an array": lambda text: json.dumps({"lines": [f"+{line}" for line in text.split("\n")]}),
    "characters escaped as other programs do": lambda text: (
        json.dumps({"text": text}).replace("=", r"\u003d").replace("/", r"\/").replace("&", r"\u0026")
    ),
    "in colour": lambda text: json.dumps({"text": f"\x1b[32m{text}\x1b[0m"}),
}
CASES = [(kind, secret) for kind, secrets in SECRETS.items() for secret in secrets]


def hidden_parts(kind: str, secret: str) -> list[bytes]:
    """What must be gone: the long words of the secret, without what says the kind."""
    if kind in ("url-password", "assignment"):
        return [
            re.split(r"[:@'=]", secret)[
                {"url-password": 2, "assignment": -1 if secret[-1] != "'" else -2}[kind]
            ].encode()
        ]
    words = re.findall(r"[A-Za-z0-9+]{12,}", secret)
    return [max(words, key=len).encode()] if kind != "private-key" else [word.encode() for word in words]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("kind", "secret"), CASES, ids=[f"{kind}-{i}" for i, (kind, _) in enumerate(CASES)])
def test_every_kind_is_found_in_every_way_of_writing(kind: str, secret: str, way: str) -> None:
    redactor = Redactor(KEY)
    written = WAYS[way](secret).encode()
    done = redactor.redact(written)
    assert [part for part in hidden_parts(kind, secret) if part in done] == []
    assert MARKER.search(done) is not None
    if way != "as it is":
        assert json.loads(done).keys() == json.loads(written).keys()
    assert redactor.redact(done) == done


@pytest.mark.parametrize("kind", ["github-token", "gitlab-token", "anthropic-key", "npm-token", "sendgrid-key"])
def test_a_token_in_a_path_is_found(kind: str) -> None:
    for secret in SECRETS[kind]:
        path = json.dumps({"file_path": f"/w/{secret}/x"}).encode()
        assert MARKER.sub(secret.encode(), Redactor(KEY).redact(path)) == path
        assert secret.encode() not in Redactor(KEY).redact(path)


def test_each_rule_has_a_test() -> None:
    assert {rule.kind for rule in RULES} <= SECRETS.keys() | {"alibaba-key", "fly-token", "terraform-token"}
    assert all(token.source for token in TOKENS)


def test_equal_secrets_have_equal_markers_and_the_key_decides_them() -> None:
    secret = f"ghp_{made(36)}".encode()
    first = Redactor(KEY).redact(b"a " + secret + b" b " + secret)
    assert len(set(MARKER.findall(first))) == 1
    assert Redactor(b"another key").redact(secret) != Redactor(KEY).redact(secret)


def test_a_private_key_has_one_marker_however_its_lines_are_written() -> None:
    key = armour()
    ways = (
        key,
        json.dumps({"t": key}),
        json.dumps({"t": numbered(key, "→")}),
        json.dumps({"t": json.dumps({"u": key})}),
    )
    assert len({marker for way in ways for marker in MARKER.findall(Redactor(KEY).redact(way.encode()))}) == 1


def test_what_surrounds_a_secret_stays() -> None:
    secret = f"glpat-{made(20)}"
    before = json.dumps({"id": "x", "n": [1, 2.50, None], "text": f"a\n{secret}, b"}).encode()
    after = Redactor(KEY).redact(before)
    assert MARKER.sub(secret.encode(), after) == before


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-" + "x" * 95,
        "sk-ant-api03-your-key-here",
        "OPENAI_API_KEY=sk-...",
        "ghp_" + "x" * 36,
        "AKIAIOSFODNN7EXAMPLE",
        "API_KEY=$API_KEY",
        "API_KEY=${API_KEY:-none}",
        'TOKEN="$(cat token.txt)"',
        "API_KEY=<your key>",
        "TOKEN=os.environ['TOKEN']",
        "MAX_TOKENS=100000",
        "CACHE_KEY=session:user:1",
        "SECRET_PATH=/run/secrets/db",
        "PASSWORD_MIN_LENGTH=12345678",
        "postgres://user:password@localhost/db",
        "postgres://user:$PASSWORD@localhost/db",
        "https://example.com/a:b@c",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "the Authorization header, bearer of something",
        "-----BEGIN PRIVATE KEY----- is how such a file begins",
        "-----BEGIN CERTIFICATE-----\n" + "A1b2" * 16,
        "toolu_01AbCdEfGhIjKlMnOpQrStUv",
        "call_AbCdEfGhIjKlMnOpQrStUv12",
        "risk-assessment-of-the-whole-repository-1234",
        "task-0123456789abcdef0123456789abcdef",
        str(uuid.UUID(int=123456789)),
        '"Action": ["ec2:AssociateVerifiedAccessInstanceWebAcl", "payments:AcceptTermsAndConditionsForProgram"]',
        "Authorization: AWS4-HMAC-SHA256 Credential",
        'headers = ("authorization", "x-amz-content-sha256")',
        "apiKey: process.env.OPENAI_API_KEY2,",
        "api_key=settings.providers2.openai_key",
        "api_key = client.get_key2_from_environment()",
        "X-Token: imdsv2_session_token",
        "token:e.tokens.length-1});",
        "t.NumberToken=t.FStringEndToken=t.FStringStartToken=void 0",
        '"NextContinuationToken": "1w41l63U0xa8q7smH50vCxyT"',
        "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestDatabaseSecret-a1b2c3",
        "auth(username=info[0], password=info[1])",
        "password = read_password1(from_file)",
        "curl -u test:test h",
        'curl -u "$NAME:$PASSWORD" h',
        "curl -u name h; date -u +%H:%M",
        "docker run -u 1000:1000 image",
    ],
)
def test_placeholders_code_and_ids_stay(text: str) -> None:
    assert Redactor(KEY).findings(text.encode()) == []


@pytest.mark.parametrize("member", ["id", "tool_use_id", "uuid", "sessionId", "signature", "encrypted_content", "type"])
def test_ids_and_what_vendors_sign_are_never_touched(member: str) -> None:
    record = json.dumps({member: f"ghp_{made(36)}"}).encode()
    assert Redactor(KEY).redact(record) is record


def test_hashes_base64_and_ids_of_five_megabytes_hold_no_secret() -> None:
    chance = random.Random(1)
    pieces = [
        base64.b64encode(chance.randbytes(2_000_000)),
        b"\n".join(
            f'"integrity": "sha512-{base64.b64encode(chance.randbytes(64)).decode()}"'.encode() for _ in range(9_000)
        ),
        b"\n".join(chance.randbytes(20).hex().encode() for _ in range(20_000)),
        b"\n".join(str(uuid.UUID(bytes=chance.randbytes(16))).encode() for _ in range(20_000)),
        b"\n".join(f"toolu_{made(24, seed=i)} msg_{made(24, seed=-i)}".encode() for i in range(4_000)),
    ]
    assert [Redactor(KEY).findings(piece) for piece in pieces] == [[]] * len(pieces)


def test_a_users_texts_may_stay() -> None:
    secret = f"glpat-{made(20)}".encode()
    assert Redactor(KEY, allow=[re.compile(rb"^glpat-")]).redact(secret) is secret


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    done = Redactor(KEY).redact(data)
    assert Redactor(KEY).redact(done) == done


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.sampled_from([s for _, s in CASES]),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
        max_leaves=8,
    )
)
def test_json_stays_json(value: object) -> None:
    for ascii_only in (True, False):
        json.loads(Redactor(KEY).redact(json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")))


def streamed(data: bytes, cuts: list[int]) -> bytes:
    stream = RedactStream(Redactor(KEY))
    places = [0, *sorted(cuts), len(data)]
    pieces = [stream.push(data[begin:end]) for begin, end in itertools.pairwise(places)]
    return b"".join((*pieces, stream.flush()))


LOG = "\n".join(way(secret) for _, secret in CASES for way in WAYS.values()).encode()


@given(st.lists(st.integers(0, len(LOG)), max_size=40))
@settings(deadline=None, max_examples=15)
def test_pieces_are_redacted_as_the_whole_is(cuts: list[int]) -> None:
    assert streamed(LOG, cuts) == Redactor(KEY).redact(LOG)


def test_a_line_without_an_end_leaves_in_parts() -> None:
    secrets = [f"ghp_{made(36, seed=i)}" for i in range(100)]
    line = json.dumps({"text": [f"{secret} {'word ' * 9_000}{armour()}" for secret in secrets]}).encode()
    stream = RedactStream(Redactor(KEY))
    pieces = [stream.push(line[at : at + 65536]) for at in range(0, len(line), 65536)]
    assert max(map(len, pieces)) < 3 * LONGEST_HELD and sum(map(len, pieces)) > len(line) // 2
    assert b"".join((*pieces, stream.flush())) == Redactor(KEY).redact(line)
