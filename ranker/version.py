"""The version of the package, without importing the rest of it."""

from __future__ import annotations

VERSION = "0.1.0"
