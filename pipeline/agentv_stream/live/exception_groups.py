"""Takes exceptions out of the groups in which a task group raises them."""

from typing import TypeVar

Error = TypeVar("Error", bound=BaseException)


def leaves(group: BaseExceptionGroup[Error]) -> list[Error]:
    """The exceptions in a group and in the groups within it, in order."""
    found: list[Error] = []
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            found += leaves(error)  # pyright: ignore[reportUnknownArgumentType] - of the same exceptions
        else:
            found.append(error)
    return found


def alone(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The only exception in a group, however deep; the first group with several exceptions unchanged."""
    inner: list[BaseException] = list(group.exceptions)
    if len(inner) > 1:
        return group
    return alone(inner[0]) if isinstance(inner[0], BaseExceptionGroup) else inner[0]  # pyright: ignore[reportUnknownArgumentType] - of any exceptions
