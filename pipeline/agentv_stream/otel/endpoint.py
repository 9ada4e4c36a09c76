"""The endpoint for spans. In: the option `--otel` and the variables `OTEL_*`. Out: one endpoint.

Source: OpenTelemetry specification, "OpenTelemetry Protocol Exporter" and "Environment Variables".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args
from urllib.parse import unquote, urlsplit

from agentv_stream.errors import UsageError

ENVIRONMENT = "env"
"""The value of `--otel` without an endpoint: the variables say it."""
DEFAULT = "http://localhost:4318"
DEFAULT_TIMEOUT_MS = 10_000
_PREFIX = "OTEL_EXPORTER_OTLP_"

Signal: TypeAlias = Literal["traces", "logs"]
_PATHS: dict[Signal, str] = {"traces": "/v1/traces", "logs": "/v1/logs"}
Protocol: TypeAlias = Literal["http/protobuf", "http/json"]
Compression: TypeAlias = Literal["none", "gzip", "deflate"]


@dataclass(frozen=True)
class Endpoint:
    """`urls` by signal. `timeout` is in seconds, of one request and of the last ones when a command ends.

    `certificate` are the authorities to trust; `client` are a certificate and the file of its key."""

    urls: dict[Signal, str]
    headers: dict[str, str] = field(default_factory=dict[str, str])
    protocol: Protocol = "http/protobuf"
    compression: Compression = "none"
    timeout: float = DEFAULT_TIMEOUT_MS / 1000
    certificate: str | None = None
    client: tuple[str, str] | None = None


def endpoint_of(option: str, environment: Mapping[str, str]) -> Endpoint:
    """The endpoint for `--otel`; a URL in `option` takes precedence over the variables.

    Raises: UsageError for a value that is not allowed.
    """

    def variable(name: str) -> str:
        """The value for traces, else for all signals."""
        return (environment.get(f"{_PREFIX}TRACES_{name}") or environment.get(_PREFIX + name) or "").strip()

    protocol = variable("PROTOCOL") or "http/protobuf"
    if protocol not in get_args(Protocol):
        raise UsageError(
            f"{_PREFIX}PROTOCOL={protocol!r}: only http/protobuf and http/json are supported (port 4318 of a collector)"
        )
    compression = variable("COMPRESSION") or "none"
    if compression not in get_args(Compression):
        raise UsageError(f"{_PREFIX}COMPRESSION={compression!r}: expected none, gzip or deflate")
    timeout = variable("TIMEOUT") or str(DEFAULT_TIMEOUT_MS)
    if not timeout.isdecimal() or len(timeout) > 9 or int(timeout) == 0:
        raise UsageError(f"{_PREFIX}TIMEOUT={timeout!r}: expected milliseconds")
    certificate, key = variable("CLIENT_CERTIFICATE"), variable("CLIENT_KEY")
    return Endpoint(
        urls=_urls(option, environment),
        headers=_headers(environment.get(f"{_PREFIX}HEADERS")) | _headers(environment.get(f"{_PREFIX}TRACES_HEADERS")),
        protocol="http/json" if protocol == "http/json" else "http/protobuf",
        compression="gzip" if compression == "gzip" else "deflate" if compression == "deflate" else "none",
        timeout=int(timeout) / 1000,
        certificate=variable("CERTIFICATE") or None,
        client=(certificate, key) if certificate and key else None,
    )


def _urls(option: str, environment: Mapping[str, str]) -> dict[Signal, str]:
    if option not in ("", ENVIRONMENT):
        return {signal: _below(option, signal, "--otel") for signal in _PATHS}
    common = environment.get(f"{_PREFIX}ENDPOINT") or DEFAULT
    return {
        signal: _checked(exact, name)
        if (exact := environment.get(name := f"{_PREFIX}{signal.upper()}_ENDPOINT"))
        else _below(common, signal, f"{_PREFIX}ENDPOINT")
        for signal in _PATHS
    }


def _below(base: str, signal: Signal, name: str) -> str:
    """The URL of a signal below a base, which may be the URL of traces itself."""
    base = _checked(base, name).rstrip("/").removesuffix(_PATHS["traces"])
    return base + _PATHS[signal]


def _checked(url: str, name: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port):
            return url
    except ValueError:
        pass
    raise UsageError(f"{name} {url!r}: expected a URL such as {DEFAULT}")


def _headers(text: str | None) -> dict[str, str]:
    """`name=value` pairs separated by commas; values are percent-encoded."""
    headers: dict[str, str] = {}
    for pair in (text or "").split(","):
        name, separator, value = pair.partition("=")
        if not pair.strip():
            continue
        if not separator or not name.strip() or not name.strip().isascii():
            raise UsageError(f"{_PREFIX}HEADERS: expected NAME=VALUE, separated by commas")
        decoded = unquote(value.strip())
        if not decoded.isascii() or not decoded.isprintable():
            raise UsageError(f"{_PREFIX}HEADERS: the value of {name.strip()!r} is no value of a header")
        headers[name.strip()] = decoded
    return headers
