"""Files that are not regular: devices, which may never end, and pipes, which can be read only once."""

from __future__ import annotations

from pathlib import Path


def is_device(path: str | Path) -> bool:
    """Return whether `path` is a device."""
    return Path(path).is_char_device() or Path(path).is_block_device()


def is_special(path: str | Path) -> bool:
    """Return whether `path` is neither a file nor a directory, nor missing."""
    return Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir())
