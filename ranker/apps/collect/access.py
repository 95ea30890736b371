"""Access control: personal links with random tokens, stored only as hashes, and protection of forms."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import sqlite3
import time
from dataclasses import dataclass

from ranker.errors import OptionError

OWNER = "owner"
JUDGE = "judge"
_DAY = 86_400.0
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}\Z")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}\Z")


@dataclass(frozen=True)
class Person:
    """A judge or the owner, identified by a valid personal link."""

    id: int
    code: str
    role: str


def token_hash(token: str) -> str:
    """Return the plain hash that is stored in place of a token, safe because a token has 256 random bits."""
    return hashlib.sha256(token.encode()).hexdigest()


def check_code(code: str) -> str:
    """Return a judge's code; raise an `OptionError` if it could be a name or an address, which must not be stored."""
    if not _CODE.match(code) or code.lower() == OWNER:
        raise OptionError(
            f"judge code {code[:40]!r}: expected up to 32 letters, digits, '.', '_' or '-', and not {OWNER!r}; "
            "use codes, not names"
        )
    return code


def give_link(connection: sqlite3.Connection, code: str, days: float) -> str:
    """Create and return a new token for a person, revoking any earlier token; add a judge if the code is unknown."""
    if code != OWNER:
        check_code(code)
    # 256 random bits as 43 URL-safe characters
    token = secrets.token_urlsafe(32)
    connection.execute(
        "INSERT INTO person (code, role, token, expires) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (code) DO UPDATE SET token = excluded.token, expires = excluded.expires",
        (code, OWNER if code == OWNER else JUDGE, token_hash(token), time.time() + days * _DAY),
    )
    return token


def link_state(connection: sqlite3.Connection, code: str) -> str:
    """Return a text that changes whenever a person's link does, so that forms made before a change can be refused."""
    query = "SELECT coalesce(substr(token, 1, 16), 'closed') FROM person WHERE code = ?"
    row = connection.execute(query, (code,)).fetchone()
    return "new" if row is None else str(row[0])


def close_link(connection: sqlite3.Connection, code: str) -> bool:
    """Revoke a judge's link but keep the judgements; return False if there is no such judge."""
    changed = connection.execute("UPDATE person SET token = NULL WHERE code = ? AND role = ?", (code, JUDGE))
    return changed.rowcount > 0


def codes(connection: sqlite3.Connection) -> list[str]:
    """Return the codes of all judges."""
    return [row["code"] for row in connection.execute("SELECT code FROM person WHERE role = ?", (JUDGE,))]


def person_of(connection: sqlite3.Connection, token: str, role: str | None = None) -> Person | None:
    """Return a token's holder; None if the token is unknown, expired or revoked, or the holder has another role."""
    if not _TOKEN.match(token):
        return None
    row = connection.execute(
        "SELECT id, code, role, expires FROM person WHERE token = ?", (token_hash(token),)
    ).fetchone()
    if row is None or row["expires"] < time.time() or role not in (None, row["role"]):
        return None
    return Person(row["id"], row["code"], row["role"])


def form_key(token: str) -> str:
    """Return the secret, unknown to other sites, that is put into the forms shown to a token's holder."""
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()[:32]


def is_form_key(token: str, key: str) -> bool:
    """True if `key` is the form secret of this token."""
    return hmac.compare_digest(form_key(token).encode(), key.encode())


class Limiter:
    """A rate limiter with a token bucket per key: `burst` requests at once, then `rate` per second."""

    _MOST = 10_000

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._level: dict[str, tuple[float, float]] = {}

    def allows(self, key: str) -> bool:
        """True if a request from `key` is allowed now; an allowed request counts towards the limit."""
        now = time.monotonic()
        level, at = self._level.pop(key, (self.burst, now))
        level = min(self.burst, level + (now - at) * self.rate)
        self._level[key] = (level - 1 if level >= 1 else level, now)
        if len(self._level) > self._MOST:
            # the bucket that was used longest ago
            del self._level[next(iter(self._level))]
        return level >= 1
