"""The rules that recognise secrets: one table, each rule with the source of its format.

A pattern begins with literal bytes, so that a scan costs little more than `bytes.find`. It has no look-around, so that
other engines can run it too. Group 1 is the secret where a match holds more than that. What stands before and after a
match is checked in `redactor.py`; `check` examines the rest.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from agentv_stages.redaction.checks import (
    KEY_BEGIN,
    follows_a_number,
    is_assigned,
    is_connection,
    is_curl_password,
    is_curl_token,
    is_header_value,
    is_member_value,
    is_mixed_match,
    is_private_key,
)

Check = Callable[[bytes, "re.Match[bytes]"], bool]


@dataclass(frozen=True)
class Rule:
    """One kind of secret.

    `kind` stands in the marker. `open_start`: the match may follow a letter, since the pattern itself says where the
    secret begins. `expression`: a narrower pattern for searches that need no literal beginning.
    """

    kind: str
    pattern: bytes
    source: str
    check: Check | None = None
    open_start: bool = False
    expression: bytes | None = None

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        """The pattern; compiling all of them takes 80 ms, which a faster search often spares."""
        return re.compile(self.pattern)


@dataclass(frozen=True)
class Token:
    """A secret of the form PREFIX + TAIL, where the prefix ends with `_`, `-` or `.`.

    One scan for the separator and what follows it finds all tokens with that separator.
    """

    kind: str
    prefix: bytes
    tail: bytes
    source: str

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        """The tail; compiling all of them takes 80 ms, which a faster search often spares."""
        return re.compile(self.tail)


SEPARATORS = (
    re.compile(rb"_(?=[A-Za-z0-9]{16})"),
    re.compile(rb"-(?<=[kXixyYtrsaboepK]-)(?=[A-Za-z0-9_-]{16})"),
    re.compile(rb"\.(?=[A-Za-z0-9_=-]{16})"),
)
"""What may be the last character of a token's prefix."""

_ALNUM36 = rb"[A-Za-z0-9]{36,251}"
_GITHUB = "https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats"
_STRIPE = "https://docs.stripe.com/keys"
_SHOPIFY = "https://shopify.dev/changelog/app-secret-key-length-has-increased"
_QUOTE = rb"(?:\\*[\"'])?"
_IS = _QUOTE + rb"\s{0,4}[:=]\s{0,4}(?:\\*[\"'`])?"
_VALUE = rb"([A-Za-z0-9._~+/-]{16,512}={0,2})"
_UUID = rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

TOKENS: tuple[Token, ...] = (
    Token("github-token", b"ghp_", _ALNUM36, _GITHUB),
    Token("github-token", b"gho_", _ALNUM36, _GITHUB),
    Token("github-token", b"ghu_", _ALNUM36, _GITHUB),
    Token("github-token", b"ghs_", _ALNUM36, _GITHUB),
    Token("github-token", b"ghr_", _ALNUM36, _GITHUB),
    Token("github-token", b"github_pat_", rb"\w{82}", "GitHub, fine-grained personal access tokens"),
    Token("npm-token", b"npm_", rb"[A-Za-z0-9]{36}", "npm, granular access tokens"),
    Token("huggingface-token", b"hf_", rb"[A-Za-z]{34}", "gitleaks huggingface-access-token"),
    Token("huggingface-token", b"api_org_", rb"[A-Za-z]{34}", "gitleaks huggingface-organization-api-token"),
    Token("groq-key", b"gsk_", rb"[A-Za-z0-9]{52}", "Groq console, API keys"),
    Token("replicate-token", b"r8_", rb"[A-Za-z0-9]{37}", "Replicate, API tokens"),
    Token("fireworks-key", b"fw_", rb"[A-Za-z0-9]{20,40}", "Fireworks AI, API keys"),
    Token("langsmith-key", b"lsv2_pt_", rb"[0-9a-f]{32}_[0-9a-f]{10}", "LangSmith, personal access tokens"),
    Token("langsmith-key", b"lsv2_sk_", rb"[0-9a-f]{32}_[0-9a-f]{10}", "LangSmith, service keys"),
    Token("elevenlabs-key", b"sk_", rb"[0-9a-f]{48}", "ElevenLabs, API keys"),
    Token("stripe-key", b"sk_live_", rb"[A-Za-z0-9]{10,99}", _STRIPE),
    Token("stripe-key", b"rk_live_", rb"[A-Za-z0-9]{10,99}", _STRIPE),
    Token("stripe-key", b"sk_test_", rb"[A-Za-z0-9]{10,99}", _STRIPE),
    Token("stripe-key", b"rk_test_", rb"[A-Za-z0-9]{10,99}", _STRIPE),
    Token("stripe-key", b"sk_prod_", rb"[A-Za-z0-9]{10,99}", "gitleaks stripe-access-token"),
    Token("stripe-key", b"rk_prod_", rb"[A-Za-z0-9]{10,99}", "gitleaks stripe-access-token"),
    Token("stripe-key", b"whsec_", rb"[A-Za-z0-9+/]{24,80}", "Stripe, webhook signing secrets"),
    Token("digitalocean-token", b"dop_v1_", rb"[0-9a-f]{64}", "gitleaks digitalocean-pat"),
    Token("digitalocean-token", b"doo_v1_", rb"[0-9a-f]{64}", "gitleaks digitalocean-access-token"),
    Token("digitalocean-token", b"dor_v1_", rb"[0-9a-f]{64}", "gitleaks digitalocean-refresh-token"),
    Token("supabase-key", b"sbp_", rb"[0-9a-f]{40}", "Supabase, personal access tokens"),
    Token("supabase-key", b"sb_secret_", rb"[A-Za-z0-9_-]{31,}", "Supabase, secret API keys"),
    Token("linear-key", b"lin_api_", rb"[A-Za-z0-9]{40}", "gitleaks linear-api-key"),
    Token("figma-token", b"figd_", rb"[A-Za-z0-9_-]{38,}", "Figma, personal access tokens"),
    Token("notion-token", b"ntn_", rb"[A-Za-z0-9]{43,}", "gitleaks notion-api-token"),
    Token("sentry-token", b"sntryu_", rb"[0-9a-f]{64}", "gitleaks sentry-user-token"),
    Token("sentry-token", b"sntrys_", rb"eyJ[A-Za-z0-9+/=_-]{80,}", "gitleaks sentry-org-token"),
    Token("grafana-token", b"glsa_", rb"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", "gitleaks grafana-service-account-token"),
    Token("grafana-token", b"glc_", rb"[A-Za-z0-9+/]{32,400}={0,3}", "gitleaks grafana-cloud-api-token"),
    Token("rubygems-token", b"rubygems_", rb"[0-9a-f]{48}", "gitleaks rubygems-api-token"),
    Token("shopify-token", b"shpat_", rb"[0-9a-fA-F]{32}", _SHOPIFY),
    Token("shopify-token", b"shpca_", rb"[0-9a-fA-F]{32}", _SHOPIFY),
    Token("shopify-token", b"shppa_", rb"[0-9a-fA-F]{32}", _SHOPIFY),
    Token("shopify-token", b"shpss_", rb"[0-9a-fA-F]{32}", _SHOPIFY),
    Token("posthog-key", b"phx_", rb"[A-Za-z0-9_-]{40,}", "PostHog, personal API keys"),
    Token("sourcegraph-token", b"sgp_", rb"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}", "gitleaks sourcegraph-access-token"),
    Token("pulumi-token", b"pul_", rb"[0-9a-f]{40}", "Pulumi, access tokens"),
    Token("planetscale-token", b"pscale_tkn_", rb"[A-Za-z0-9=._-]{32,64}", "gitleaks planetscale-api-token"),
    Token("planetscale-token", b"pscale_pw_", rb"[A-Za-z0-9=._-]{32,64}", "gitleaks planetscale-password"),
    Token("planetscale-token", b"pscale_oauth_", rb"[A-Za-z0-9=._-]{32,64}", "gitleaks planetscale-oauth-token"),
    Token("docker-token", b"dckr_pat_", rb"[A-Za-z0-9_-]{27,}", "Docker Hub, personal access tokens"),
    Token("docker-token", b"dckr_oat_", rb"[A-Za-z0-9_-]{32,}", "Docker Hub, organization access tokens"),
    Token(
        "anthropic-key",
        b"sk-",
        rb"ant-(?:o[ar]t\d\d-[A-Za-z0-9_-]{40,200}|[a-z]{3,5}\d\d-[A-Za-z0-9_-]{80,120})",
        "gitleaks anthropic-api-key, anthropic-admin-api-key; OAuth tokens (oat01, ort01) of Claude Code",
    ),
    Token("openrouter-key", b"sk-", rb"or-v1-[0-9a-f]{64}", "OpenRouter, API keys"),
    Token(
        "openai-key", b"sk-", rb"(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{20,200}", "gitleaks openai-api-key"
    ),
    Token("openai-key", b"sk-", rb"[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}", "gitleaks openai-api-key, until 2024"),
    Token("langfuse-key", b"sk-", rb"lf-" + _UUID, "Langfuse, secret keys"),
    Token(
        "api-key",
        b"sk-",
        rb"[A-Za-z0-9]{32,64}",
        "the form of DeepSeek, Moonshot, DashScope, SiliconFlow and gateways that follow OpenAI",
    ),
    Token("google-secret", b"GOCSPX-", rb"[A-Za-z0-9_-]{28}", "Google Cloud, OAuth client secrets"),
    Token("google-token", b"ya29.", rb"[A-Za-z0-9_-]{30,500}", "Google Cloud, OAuth access tokens"),
    Token("xai-key", b"xai-", rb"[A-Za-z0-9]{70,90}", "xAI, API keys"),
    Token("perplexity-key", b"pplx-", rb"[A-Za-z0-9]{48}", "gitleaks perplexity-api-key"),
    Token("nvidia-key", b"nvapi-", rb"[A-Za-z0-9_-]{60,70}", "NVIDIA NIM, API keys"),
    Token("cerebras-key", b"csk-", rb"[a-z0-9]{48}", "Cerebras, API keys"),
    Token("tavily-key", b"tvly-", rb"(?:dev-|prod-)?[A-Za-z0-9]{32}", "Tavily, API keys"),
    Token("vault-token", b"hvs.", rb"[A-Za-z0-9_-]{90,120}", "gitleaks vault-service-token"),
    Token("vault-token", b"hvb.", rb"[A-Za-z0-9_-]{138,300}", "gitleaks vault-batch-token"),
    Token("age-key", b"AGE-SECRET-KEY-", rb"1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", "gitleaks age-secret-key"),
    Token("pypi-token", b"pypi-", rb"AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,1000}", "gitleaks pypi-upload-token"),
    *(
        Token("gitlab-token", b"gl%s-" % use, rb"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_.-]{7,})?", "GitLab, token prefixes")
        for use in (
            *(b"pat", b"dt", b"rt", b"rtr", b"cbt", b"ptt", b"ft", b"imt", b"agent", b"oas", b"soat", b"ffct", b"wt"),
        )
    ),
    *(
        Token("slack-token", b"xox%s-" % use, rb"[A-Za-z0-9-]{10,250}", "gitleaks slack-*-token")
        for use in (b"a", b"b", b"e", b"o", b"p", b"r", b"s")
    ),
    Token("slack-token", b"xapp-", rb"\d-[A-Z0-9]+-\d+-[A-Za-z0-9]+", "gitleaks slack-app-token"),
    Token("sendgrid-key", b"SG.", rb"[A-Za-z0-9_=-]{20,24}\.[A-Za-z0-9_=-]{39,50}", "gitleaks sendgrid-api-token"),
    Token("newrelic-key", b"NRAK-", rb"[A-Z0-9]{27}", "gitleaks new-relic-user-api-key"),
    Token("postman-key", b"PMAK-", rb"[0-9a-fA-F]{24}-[0-9a-fA-F]{34}", "gitleaks postman-api-token"),
    *(
        Token("doppler-token", b"dp.%s." % use, rb"[A-Za-z0-9._-]{40,60}", "gitleaks doppler-api-token")
        for use in (b"pt", b"st", b"ct", b"sa", b"scim", b"audit")
    ),
)

RULES: tuple[Rule, ...] = (
    Rule("google-key", rb"AIza[A-Za-z0-9_-]{35}", "gitleaks gcp-api-key"),
    Rule("aws-key", rb"A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z2-7]{16}", "gitleaks aws-access-token"),
    Rule("aws-bedrock-key", rb"ABSK[A-Za-z0-9+/]{109,269}={0,2}", "gitleaks aws-amazon-bedrock-api-key-long-lived"),
    Rule("azure-key", rb"AccountKey=([A-Za-z0-9+/]{86}==)", "Azure Storage, connection strings", open_start=True),
    Rule("azure-secret", rb"Q~[A-Za-z0-9_~.-]{31,34}", "gitleaks azure-ad-client-secret", open_start=True),
    Rule("alibaba-key", rb"LTAI[A-Za-z0-9]{17,21}", "gitleaks alibaba-access-key-id", is_mixed_match),
    Rule("databricks-token", rb"dapi[0-9a-f]{32}(?:-\d)?", "gitleaks databricks-api-token"),
    Rule("fly-token", rb"fo1_[A-Za-z0-9_-]{43}", "gitleaks flyio-access-token"),
    Rule("fly-token", rb"FlyV1 fm[12]a?_[A-Za-z0-9+/=,_-]{100,}", "gitleaks flyio-access-token"),
    Rule("atlassian-token", rb"ATATT3[A-Za-z0-9_=-]{180,200}", "gitleaks atlassian-api-token"),
    Rule("atlassian-token", rb"ATBB[A-Za-z0-9]{24,40}", "Bitbucket, app passwords", is_mixed_match),
    Rule(
        "slack-webhook",
        rb"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56})",
        "gitleaks slack-webhook-url",
        open_start=True,
    ),
    Rule(
        "discord-webhook",
        rb"/api/webhooks/\d{17,20}/([A-Za-z0-9_-]{60,80})",
        "Discord, webhooks",
        open_start=True,
    ),
    Rule(
        "telegram-token",
        rb":A[A-Za-z0-9_-]{34}",
        "gitleaks telegram-bot-api-token",
        follows_a_number,
        open_start=True,
    ),
    Rule("terraform-token", rb"\.atlasv1\.[A-Za-z0-9_=-]{60,70}", "gitleaks hashicorp-tf-api-token", open_start=True),
    Rule(
        "private-key",
        KEY_BEGIN,
        "RFC 7468; OpenSSH; RFC 4880 (armour)",
        is_private_key,
    ),
    Rule("jwt", rb"eyJ[A-Za-z0-9_-]{14,}\.eyJ[A-Za-z0-9_-]{14,}\.[A-Za-z0-9_-]{10,}={0,2}", "RFC 7519"),
    Rule(
        "url-password",
        rb"://[A-Za-z0-9._~%!$&'()*+,;=-]{0,80}:([^\s\"'`\\<>{}@/]{3,200})@",
        "RFC 3986 userinfo: connection strings of databases, brokers and proxies",
        is_connection,
        open_start=True,
    ),
    Rule(
        "auth-header",
        rb"uthorization(?:\\*[\"'])?\s{0,4}[:=,]\s{0,4}(?:\\*[\"'`])?\s{0,4}(?:[A-Za-z][A-Za-z-]{1,19}(?:\s+|%20))?([A-Za-z0-9._~+/=:-]{8,4096})",
        "RFC 9110, Authorization and Proxy-Authorization",
        is_header_value,
        open_start=True,
    ),
    Rule(
        "auth-header",
        rb"earer(?:\s+|%20)([A-Za-z0-9._~+/=-]{16,4096})",
        "RFC 6750",
        is_header_value,
        open_start=True,
    ),
    Rule(
        "api-key-header",
        rb"pi[_-]?[Kk]ey" + _IS + _VALUE,
        "headers, members and settings: x-api-key, apikey, api_key, apiKey; gitleaks curl-auth-header, generic-api-key",
        is_header_value,
        open_start=True,
    ),
    Rule(
        "api-key-header",
        rb"PI[_-]?(?:KEY|Key)" + _IS + _VALUE,
        "the same: X-API-Key, API-KEY",
        is_header_value,
        open_start=True,
    ),
    Rule(
        "api-key-header",
        rb"-(?:H|-header)[ =]{0,5}" + _QUOTE + rb"(?:[A-Za-z-]{1,40}-)?"
        rb"(?:[Aa][Pp][Ii]-?)?(?:[Kk][Ee][Yy]|[Tt][Oo][Kk][Ee][Nn]):\s{0,5}([A-Za-z0-9._~@+/=-]{8,512})",
        "gitleaks curl-auth-header",
        is_header_value,
        open_start=True,
    ),
    Rule(
        "curl-password",
        rb"-(?:u|-user)[ =]{0,5}"
        + _QUOTE
        + rb"[^\s:\"'\\<$\[]{0,80}"
        + _QUOTE
        + rb":"
        + _QUOTE
        + rb"([^\s\"'\\]{3,200})",
        "gitleaks curl-auth-user",
        is_curl_password,
        open_start=True,
    ),
    Rule(
        "curl-password",
        rb"-(?:u|-user)[ =]{0,5}" + _QUOTE + rb"([^\s:\"'\\<$\[]{8,200}):(?:[\s\"'\\]|\Z)",
        "gitleaks curl-auth-user: a token in place of the user's name",
        is_curl_token,
        open_start=True,
    ),
    Rule(
        "token",
        rb"oken" + _IS + _VALUE,
        "headers, members and settings: x-auth-token, private-token, access_token, refreshToken, oauth_token",
        is_member_value,
        open_start=True,
    ),
    Rule("token", rb"OKEN" + _IS + _VALUE, "the same: PRIVATE-TOKEN", is_member_value, open_start=True),
    Rule(
        "assignment",
        rb"ecret(?:_access_key|AccessKey|_key|Key)?" + _IS + _VALUE,
        "members and settings: client_secret, aws_secret_access_key, secretKey; gitleaks generic-api-key",
        is_member_value,
        open_start=True,
    ),
    Rule(
        "assignment",
        rb"assword" + _IS + rb"([^\s\"'`\\$<>{}()\[\]|&;,]{8,200})",
        "members and settings: password, db_password; gitleaks generic-api-key",
        is_member_value,
        open_start=True,
    ),
    Rule(
        "assignment",
        rb"=(?:\\*[\"'])?([^\s\"'`\\$<>{}()|&;,]{6,512})",
        "lines of .env files and shells: NAME=VALUE, where the name says that it is secret",
        is_assigned,
        open_start=True,
        expression=rb"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?)[A-Z0-9_]{0,30}="
        rb"(?:\\*[\"'])?[^\s\"'`\\$<>{}()|&;,]{6}",
    ),
)


GATE = re.compile(rb"A(?:Iza|[KSB]IA|CCA|3T|BSK|ccountKey=|TATT3|TBB)")
"""Without a match none of the rules whose pattern begins with A has one: one search in place of six."""


def by_ending(tokens: Iterable[Token]) -> dict[bytes, list[Token]]:
    """The tokens by the last three bytes of their prefix; of one ending, longer prefixes first."""
    found: dict[bytes, list[Token]] = {}
    for token in sorted(tokens, key=lambda t: -len(t.prefix)):
        found.setdefault(token.prefix[-3:], []).append(token)
    return found
