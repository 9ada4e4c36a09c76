"""The known names of each dialect: the fields and words of recordings, and the fields that its decoder reads.

The catalogue is `known/`, which `learn` writes: a file for each dialect with `{fields: {path: kinds}, words: {path:
words}}`, kinds and words separated by spaces.
"""

from functools import cache
from importlib import import_module, resources

import msgspec
from msgspec import Struct

from agentv_stages.model.provider import Dialect


class Shapes(Struct, frozen=True):
    """The fields of a dialect with their kinds, and the words that stand in them."""

    fields: dict[str, str] = {}
    words: dict[str, str] = {}


NOTHING = Shapes()
_decode = msgspec.json.Decoder(Shapes).decode


@cache
def shapes_of(dialect: str) -> Shapes:
    """The shapes of a dialect; `NOTHING` where there are no recordings of it."""
    file = resources.files("agentv_stream.drift").joinpath("known", f"{dialect}.json")
    return _decode(file.read_bytes()) if file.is_file() else NOTHING


def names_read(dialect: Dialect) -> frozenset[str]:
    """The names of all fields that the decoder of a dialect reads, wherever they stand."""
    package = ".".join(getattr(dialect.decoder, "__module__", "").split(".")[:3])
    try:
        wire = import_module(f"{package}.wire")
    except ImportError:
        return frozenset()
    structs = [struct for struct in vars(wire).values() if isinstance(struct, type) and issubclass(struct, Struct)]
    return frozenset(name for struct in structs for name in struct.__struct_encode_fields__)
