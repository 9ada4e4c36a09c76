"""A Struct whose members can also be read by key: `figures.turns` and `figures["turns"]`."""

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from msgspec import UNSET, Struct, to_builtins


class Keyed(Struct, frozen=True):
    """Reads like a mapping. A member that is UNSET has no key. Equal to a mapping with the same members."""

    def __getitem__(self, name: str) -> Any:
        value = self.get(name, UNSET)
        if value is UNSET:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.__struct_fields__ if getattr(self, name) is not UNSET)

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):  # a Keyed is registered as one
            return self._members() == dict(other.items())  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType] - any mapping
        return NotImplemented

    def __ne__(self, other: object) -> bool:  # msgspec's own compares types
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = None  # type: ignore[assignment]  # its members are lists and maps

    def __repr__(self) -> str:
        return repr(self._members())

    def keys(self) -> KeysView[str]:
        """The names of the members."""
        return self._members().keys()

    def values(self) -> ValuesView[Any]:
        """The members."""
        return self._members().values()

    def items(self) -> ItemsView[str, Any]:
        """The members with their names."""
        return self._members().items()

    def _members(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self}

    def get(self, name: str, default: Any = None) -> Any:
        """The member of this name, otherwise `default`."""
        value = getattr(self, name, UNSET) if name in self.__struct_fields__ else UNSET
        return default if value is UNSET else value

    def as_dict(self) -> dict[str, Any]:
        """The members as plain dicts and lists, for tables and `json.dumps`."""
        values: dict[str, Any] = to_builtins(self)
        return values


Mapping.register(Keyed)  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType] - an abstract base class
