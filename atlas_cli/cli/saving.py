"""The answer of a command as a file that the user names."""

from pathlib import Path

from ..env.env import Env
from ..errors import Refused, Usage
from ..store import files, ground


def save(env: Env, name: str, data: bytes) -> None:
    """Writes bytes to a path that the user gives; a plain file whole or not at all. A link is
    written through, as is a device or a pipe; but not one that came with the project's files,
    whatever it leads to."""
    path = Path(env.options.directory, name)
    if not path.name:
        raise Usage(f"{path} is a folder", "name a file")
    try:
        if link := ground.brought(env.place, Path(env.options.directory), name):
            raise Refused(
                f"{link} is a link that came with the project's files: nothing is written"
                " through it",
                "name a file of another name",
            )
        _put(path, data)
    except (OSError, ValueError) as error:
        raise Usage(
            f"{path} cannot be written: {getattr(error, 'strerror', None) or error}"
        ) from None


def _put(path: Path, data: bytes) -> None:
    if not path.is_symlink() and (path.is_file() or not path.exists()):
        files.again(path, data)
        return
    real = path.resolve()
    if real.is_file() or not real.exists():
        files.again(real, data)
    else:
        path.write_bytes(data)
