"""The web server of a campaign: Starlette under uvicorn, one process."""

from __future__ import annotations

import asyncio
import functools
import logging
import socket
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import parse_qsl, urlsplit

from ranker.collect import access, assigning
from ranker.collect.campaign import connect, settings_of
from ranker.collect.tasks import KINDS, answer_of
from ranker.collect.web import owner
from ranker.collect.web.pages import missing, render, static, task_page
from ranker.collect.web.writing import Writer
from ranker.errors import OptionError

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, RedirectResponse, Response
    from starlette.routing import Route
except ImportError:
    raise missing() from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 16_384
"""Longest body of a form."""
BODY_SECONDS = 15.0
COOKIE_SECONDS = 90 * 86_400
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_MESSAGES = {
    400: "The form was incomplete or invalid. Go back and try again.",
    403: "This page requires a personal link. Open the link that you were given; if it no longer works, ask for a "
    "new one.",
    404: "Page not found.",
    405: "Page not found.",
    408: "The request timed out. Go back and try again.",
    413: "The form is too long.",
    415: "The form was not submitted from this page. Reload the page and try again.",
    429: "Too many requests. Wait a few seconds and try again.",
    503: "Your answer could not be saved. Go back and try again in a moment.",
}
_STATIC = {"style.css": "text/css; charset=utf-8", "judge.js": "text/javascript; charset=utf-8"}
_LOG = logging.getLogger(__name__)


class Site:
    """The pages of one campaign.

    Parameters
    ----------
    path : path
        The campaign.
    background : bool, default True
        Train the ranker and compute the figures of the owner's page in another process.
    """

    def __init__(self, path: str | Path, *, background: bool = True) -> None:
        self.path = path
        self.reading = connect(path)
        self.settings = settings_of(self.reading)
        self.writer = Writer(path)
        self.background = owner.Background(path, self.settings) if background else None
        self.by_person = access.Limiter(rate=20, burst=120)
        self.by_address = access.Limiter(rate=1, burst=30)

    # pages of judges

    async def start(self, request: Request) -> Response:
        """Send a judge to the item to be judged, the owner to the dashboard."""
        _, person = self._person(request)
        if person.role == access.OWNER:
            return _see("/owner")
        assignment = await self.writer.run(
            lambda connection: assigning.next_assignment(connection, self.settings, person.id, time.time())
        )
        return _see("/done" if assignment is None else f"/item/{assignment}")

    async def enter(self, request: Request) -> Response:
        """Take the token of a personal link, and keep it in a cookie."""
        token = request.path_params["token"]
        person = access.person_of(self.reading, token)
        if person is None:
            self._stranger(request)
        answer = _see("/owner" if person.role == access.OWNER else "/")
        answer.set_cookie(
            self._cookie(person.role),
            token,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return answer

    async def item(self, request: Request) -> Response:
        """Show an item of this judge: to be judged, or judged before."""
        token, person = self._person(request, access.JUDGE)
        return self._task(token, person, request.path_params["assignment"])

    def _task(
        self,
        token: str,
        person: access.Person,
        assignment: int,
        error: str = "",
        form_values: dict[str, str] | None = None,
    ) -> Response:
        page = task_page(self.reading, self.settings, person.id, assignment, form_values)
        if page is None:
            raise HTTPException(404)
        text = render(
            "item.html", page=page, title=self.settings.title, code=person.code, key=access.form_key(token), error=error
        )
        return HTMLResponse(text, 422 if error else 200)

    async def judge(self, request: Request) -> Response:
        """Save an answer and go on to the next item."""
        token, person = self._person(request, access.JUDGE)
        fields = await self._form(request, token)
        assignment = _number(fields, "assignment")
        row = self.reading.execute(
            "SELECT shown FROM assignment WHERE id = ? AND judge = ?", (assignment, person.id)
        ).fetchone()
        if row is None:
            raise HTTPException(404)
        try:
            answer = answer_of(KINDS[self.settings.kind], fields, _places(row["shown"]))
        except OptionError as error:
            return self._task(token, person, assignment, str(error), fields)

        def step(connection: sqlite3.Connection) -> int | None:
            now = time.time()
            assigning.save(connection, person.id, assignment, answer, fields.get("form", "")[:32], now)
            return assigning.next_assignment(connection, self.settings, person.id, now)

        following = await self.writer.run(step)
        return _see("/done" if following is None else f"/item/{following}")

    async def undo(self, request: Request) -> Response:
        """Take back the last answer and show its item again."""
        token, person = self._person(request, access.JUDGE)
        fields = await self._form(request, token)
        assignment = _number(fields, "assignment")

        def step(connection: sqlite3.Connection) -> bool:
            known = connection.execute("SELECT 1 FROM assignment WHERE id = ? AND judge = ?", (assignment, person.id))
            if known.fetchone() is None:
                return False
            assigning.undo(connection, person.id, assignment, fields.get("form", "")[:32], time.time())
            return True

        if not await self.writer.run(step):
            raise HTTPException(404)
        return _see(f"/item/{assignment}")

    async def done(self, request: Request) -> Response:
        """Tell a judge that there is nothing left."""
        token, person = self._person(request, access.JUDGE)
        count = self.reading.execute(
            "SELECT count(*) FROM assignment WHERE judge = ? AND answer IS NOT NULL", (person.id,)
        ).fetchone()[0]
        last = assigning.last_answered(self.reading, person.id)
        values = {"title": self.settings.title, "code": person.code, "key": access.form_key(token)}
        return HTMLResponse(render("done.html", count=count, last=last, **values))

    # pages of the owner

    async def dashboard(self, request: Request) -> Response:
        """Show the owner the progress of the campaign."""
        token, _ = self._person(request, access.OWNER)
        if self.background:
            self.background.wanted()
        return self._dashboard(token)

    def _dashboard(self, token: str, link: tuple[str, str] | None = None, error: str = "") -> Response:
        values = owner.dashboard(self.reading, self.settings)
        key = access.form_key(token)
        text = render(
            "owner.html", title=self.settings.title, code="owner", key=key, link=link, error=error, board=values
        )
        return HTMLResponse(text, 422 if error else 200)

    async def links(self, request: Request) -> Response:
        """Create a new link for a judge, or revoke one."""
        token, _ = self._person(request, access.OWNER)
        fields = await self._form(request, token)
        code, days = fields.get("code", ""), 90.0
        try:
            access.check_code(code)
        except OptionError as error:
            return self._dashboard(token, error=str(error))
        if fields.get("do") == "close":
            await self.writer.run(lambda connection: access.close_link(connection, code))
            return _see("/owner#judges")
        link = await self.writer.run(lambda connection: access.give_link(connection, code, days))
        return self._dashboard(token, (code, f"{self.settings.url.rstrip('/')}/enter/{link}"))

    # what they share

    def _cookie(self, role: str) -> str:
        return f"ranker-{self.settings.id}-{role}"

    def _person(self, request: Request, role: str | None = None) -> tuple[str, access.Person]:
        """Return who sent a request, with the token.

        Raises
        ------
        HTTPException
            403 for strangers, 429 for who sends too much.
        """
        roles = (access.JUDGE, access.OWNER) if role is None else (role,)
        for role_name in roles:
            token = request.cookies.get(self._cookie(role_name), "")
            person = access.person_of(self.reading, token, role_name)
            if person is not None:
                if not self.by_person.allows(f"{person.id}"):
                    raise HTTPException(429)
                return token, person
        return self._stranger(request)

    def _stranger(self, request: Request) -> NoReturn:
        if not self.by_address.allows(request.client.host if request.client else ""):
            raise HTTPException(429)
        raise HTTPException(403)

    async def _form(self, request: Request, token: str) -> dict[str, str]:
        """Read a form of a page of this token.

        Raises
        ------
        HTTPException
            If it comes from elsewhere, is too long, too slow, or no form.
        """
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
            raise HTTPException(403)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
            raise HTTPException(415)
        length = request.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:12]) > MOST_BYTES:
            raise HTTPException(413)
        body = b""
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > MOST_BYTES:
                        raise HTTPException(413)
        except TimeoutError:
            raise HTTPException(408) from None
        except ClientDisconnect:
            raise HTTPException(400) from None
        try:
            fields = dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=50))
        except ValueError:
            raise HTTPException(400) from None
        if not access.is_form_key(token, fields.get("key", "")):
            raise HTTPException(403)
        return fields

    def app(self) -> Starlette:
        """Return the application."""

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            if self.background:
                self.background.start()
            yield
            if self.background:
                await self.background.stop()
            self.writer.close()
            self.reading.close()

        routes = [
            Route("/", self.start),
            Route("/enter/{token}", self.enter),
            Route("/item/{assignment:int}", self.item),
            Route("/judge", self.judge, methods=["POST"]),
            Route("/undo", self.undo, methods=["POST"]),
            Route("/done", self.done),
            Route("/owner", self.dashboard),
            Route("/owner/links", self.links, methods=["POST"]),
            Route("/static/{name}", _static),
        ]
        application = Starlette(
            routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _refused, sqlite3.Error: _not_saved}
        )
        application.add_middleware(_Headers)
        return application


class _Headers:
    """Adds the headers that restrict what a browser does with any answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                cache = [] if scope["path"].startswith("/static/") else [(b"cache-control", b"no-store")]
                message = {**message, "headers": [*message["headers"], *self.headers, *cache]}
            await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" else send)


def _see(address: str) -> RedirectResponse:
    return RedirectResponse(address, 303)


def _number(fields: dict[str, str], name: str) -> int:
    text = fields.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise HTTPException(400)
    return int(text)


@functools.lru_cache(maxsize=1000)
def _places(shown: str) -> tuple[int, ...]:
    return tuple(map(int, shown.strip("[]").split(",")))


async def _static(request: Request) -> Response:
    kind = _STATIC.get(request.path_params["name"])
    if kind is None:
        raise HTTPException(404)
    name = request.path_params["name"]
    return Response(static(name), headers={"Content-Type": kind, "Cache-Control": "max-age=300"})


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = {"Retry-After": "5"} if status in (429, 503) else {}
    # what is left of a body that is too long is not read
    if status in (408, 413, 415):
        headers["Connection"] = "close"
    text = render("message.html", title="", code="", status=status, message=_MESSAGES.get(status, _MESSAGES[400]))
    return HTMLResponse(text, status, headers)


async def _not_saved(request: Request, error: Exception) -> Response:
    _LOG.error("ranker: error: cannot write to the campaign: %s", error)
    return await _refused(request, HTTPException(503))


def serve(path: str | Path, host: str, port: int, ready: Callable[[], None]) -> None:
    """Serve a campaign until interrupted.

    Parameters
    ----------
    path : path
    host : str
    port : int
    ready : callable
        Called once the server takes requests.

    Raises
    ------
    OptionError
        If it cannot listen there.
    MissingError
        If uvicorn is not installed.
    """
    try:
        import uvicorn

        from ranker.collect.web.connections import Protocol
    except ImportError:
        raise missing() from None
    listening = _listening(host, port)
    site = Site(path)

    class _Server(uvicorn.Server):
        async def startup(self, sockets: list[Any] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

    config = uvicorn.Config(
        site.app(),
        http=Protocol,
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=5,
        backlog=1024,
    )
    _Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises
    ------
    OptionError
        If the address is not one of this computer, or the port is taken.
    """
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        if listener is not None:
            listener.close()
        what = f"cannot listen on {host}, port {port}: {error.strerror or error}"
        raise OptionError(f"{what}; choose another --host or --port") from None
    return listener
