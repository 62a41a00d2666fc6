"""Who may come in: the token of this start, or the cookie that was given for one. The cookie outlives a restart."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final

from cos.core.config_errors import FolderError

if TYPE_CHECKING:
    from pathlib import Path

COOKIE_SECONDS: Final = 30 * 24 * 60 * 60
_KEY_BYTES: Final = 32


class Access:
    """Of one server."""

    def __init__(self, key: bytes, port: int) -> None:
        self.token: Final = secrets.token_urlsafe(18)
        self.cookie: Final = f"cos_{port}"
        """Its name; cookies do not tell ports apart."""
        self._key = key

    def new_cookie(self) -> str:
        """The value of the header that sets it."""
        ends = str(int(time.time()) + COOKIE_SECONDS)
        value = f"{ends}.{self._signature(ends)}"
        return f"{self.cookie}={value}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict"

    def is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.token.encode())

    def has_token(self, headers: Mapping[str, str]) -> bool:
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_token(credentials.strip())

    def has_cookie(self, headers: Mapping[str, str]) -> bool:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        ends, _, signature = (morsel.value if morsel else "").partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(ends).encode()):
            return False
        return int(ends) > time.time()

    def _signature(self, ends: str) -> str:
        return hmac.new(self._key, f"{self.cookie}.{ends}".encode(), hashlib.sha256).hexdigest()


def cookie_key(file: Path) -> bytes:
    """The key that cookies are signed with; made when there is none. Whoever deletes the file ends all log-ins.

    Raises:
        FolderError: it cannot be read or written.
    """
    try:
        return _stored_key(file)
    except OSError as error:
        raise FolderError(f"{error.strerror}; the dashboard keeps the key of its cookies here", file=file) from error


def _stored_key(file: Path) -> bytes:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as output:
        output.write(secrets.token_bytes(_KEY_BYTES))
    try:
        os.link(made, file)  # The first of several processes decides.
    except FileExistsError:
        pass
    finally:
        made.unlink()
    key = file.read_bytes()
    if len(key) != _KEY_BYTES:
        raise FolderError(f"is not the key of the dashboard's cookies ({len(key)} bytes); delete it", file=file)
    return key
