"""How spans are made, and what those of a session have in common: options in, the attributes of the resource out."""

from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from agentv_stages.sinks.transcript import Identity

if TYPE_CHECKING:  # its Structs take 2 ms, and most sessions are not exported
    from agentv_stages.model.otlp import Attribute


class SpanOptions(Struct, frozen=True):
    """How spans are made. `content`: with texts, inputs and outputs, redacted. `service` and `attributes`
    describe the resource (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`); without `service` it is the provider.
    `old_names`: cache writes also have their earlier name. `version` is ours."""

    version: str = ""
    content: bool = False
    service: str | None = None
    attributes: str = ""
    machine: str | None = None
    old_names: bool = False


def resource_of(options: SpanOptions, identity: Identity) -> "dict[str, Attribute]":
    """The common attributes of a session's spans."""
    known: dict[str, Attribute] = {"service.name": identity.provider}
    if identity.version is not None:
        known["service.version"] = identity.version
    for pair in options.attributes.split(","):
        name, separator, value = pair.partition("=")
        if separator and name.strip():
            known[unquote(name.strip())] = unquote(value.strip())
    if options.service is not None:
        known["service.name"] = options.service
    if options.machine is not None:
        known["host.name"] = options.machine
    return known
