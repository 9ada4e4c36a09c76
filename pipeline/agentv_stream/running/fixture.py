"""The agent's working folder for one attempt: a copy of a prepared folder, beside the results and never among them."""

import shutil
from pathlib import Path

from agentv_stream.errors import SinkError, SourceError, UsageError
from agentv_stream.sources.files import is_folder


def check_fixture(fixture: Path, folder: Path) -> None:
    """Raises: SourceError if there is no such folder, UsageError if the results are in it."""
    if not is_folder(fixture):
        raise SourceError(f"--fixture: cannot read {fixture}: no such folder")
    if folder.absolute().resolve().is_relative_to(fixture.absolute().resolve()):
        raise UsageError(f"--fixture {fixture}: the results in {folder} are inside it; give another --out")


def working_copy(fixture: Path, folder: Path, stem: str) -> Path:
    """A fresh copy for the attempt `stem`, in `FOLDER.work/`: a log in it is not taken for a result.

    Links are copied as links. Raises: SinkError.
    """
    place = folder.with_name(f"{folder.name}.work") / stem
    try:
        if place.is_symlink():
            place.unlink()
        elif place.exists():  # left by an attempt of the same number
            shutil.rmtree(place)
        shutil.copytree(fixture, place, symlinks=True)
    except shutil.Error as error:  # several files
        raise SinkError(str(place), OSError(0, f"the copy of {fixture} is not whole")) from error
    except OSError as error:
        raise SinkError(str(place), error) from error
    return place
