"""The web server of a campaign: Starlette under uvicorn, one process."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import ipaddress
import os
import socket
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from ranker.apps.collect import access, assigning
from ranker.apps.collect.campaign import (
    connect,
    files_of,
    host_and_port,
    progress_of,
    settings_of,
    transaction,
)
from ranker.apps.collect.marking import marks_in
from ranker.apps.collect.tables import MARKED, MOST_FORM
from ranker.apps.collect.tasks import answer_of
from ranker.apps.collect.web.connections import BACKLOG, Listener
from ranker.apps.collect.web.pages import missing, people, render, static, task_page
from ranker.errors import NOTES, DataError, OptionError
from ranker.files import display_name, printable

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, RedirectResponse, Response
    from starlette.routing import Route
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
except ImportError:
    raise missing() from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 16_384
"""Maximum size of the body of a form, in bytes."""
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
    500: "The page could not be shown. Go back and try again in a moment.",
    503: "Your answer could not be saved. Go back and try again in a moment.",
}
_STATIC = {
    "style.css": "text/css; charset=utf-8",
    "judge.js": "text/javascript; charset=utf-8",
    "marking.js": "text/javascript; charset=utf-8",
}
_LONGEST_ADDRESS = 45
_LINES = access.Limiter(rate=0.1, burst=10)


class Site:
    """The pages of one campaign, whose file is read and written by a single connection in the event loop's thread."""

    def __init__(self, path: str | Path, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.settings = settings_of(self.connection)
        self._path, self._turn, self._files = path, asyncio.Lock(), files_of(path)
        self.by_person = access.Limiter(rate=20, burst=120)
        self.by_address = access.Limiter(rate=1, burst=30)

    def served_at(self, address: str) -> None:
        """Store the address at which the campaign is served, for personal links that are made later."""
        self.settings = dataclasses.replace(self.settings, served=address)
        with self._changing():
            self.connection.execute("UPDATE settings SET served = ?", (address,))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Run the block as one transaction; raise an error if the campaign's files were moved, deleted or replaced."""
        try:
            unchanged = files_of(self._path) == self._files
        except OSError:
            unchanged = False
        if not unchanged:
            what = "the campaign's file was moved, deleted or replaced"
            raise sqlite3.OperationalError(f"{what}: stop the server and put the file back")
        with transaction(self.connection):
            yield

    # pages of judges

    async def start(self, request: Request) -> Response:
        """Redirect a judge to the item to be judged next, and the owner to the dashboard."""
        _, person = self._person(request)
        if person.role == access.OWNER:
            return _see("/owner")
        with self._changing():
            assignment = assigning.next_assignment(self.connection, self.settings, person.id, time.time())
        return _see("/done" if assignment is None else f"/item/{assignment}")

    async def enter(self, request: Request) -> Response:
        """Check the token of a personal link, store it in a cookie, and redirect to the person's start page."""
        token = request.path_params["token"]
        person = access.person_of(self.connection, token)
        if person is None:
            raise HTTPException(403)
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
        """Show a judge one of the judge's own items, already judged or not."""
        token, person = self._person(request, access.JUDGE)
        return self._task(token, person, _number(request.path_params, "assignment", 404))

    def _task(
        self,
        token: str,
        person: access.Person,
        assignment: int,
        error: str = "",
        form_values: dict[str, str] | None = None,
    ) -> Response:
        page = task_page(self.connection, self.settings, person.id, assignment, form_values)
        if page is None:
            raise HTTPException(404)
        values = {"title": self.settings.title, "code": person.code, "key": access.form_key(token), "error": error}
        return HTMLResponse(
            render("known.html" if page.final else "item.html", page=page, **values), 422 if error else 200
        )

    def _outdated(self, person: access.Person, assignment: int, undoing: bool) -> Response:
        """Tell a judge that a form was not accepted because it is outdated, and link to the item."""
        last = assigning.last_change(self.connection, assignment)
        values = {"title": self.settings.title, "code": person.code, "assignment": assignment, "undoing": undoing}
        answered = last is not None and last["answer"] is not None
        return HTMLResponse(render("outdated.html", answered=answered, **values), 409)

    async def judge(self, request: Request) -> Response:
        """Save an answer and redirect to the next item."""
        token, person = self._person(request, access.JUDGE)
        fields = await self._form(request, token)
        assignment = _number(fields, "assignment")
        row = self.connection.execute(
            f"SELECT shown, {MARKED} FROM assignment JOIN item ON item.id = item WHERE assignment.id = ? AND judge = ?",
            (assignment, person.id),
        ).fetchone()
        if row is None:
            raise HTTPException(404)
        kind = self.settings.task
        try:
            answer: list[Any] = [*answer_of(kind, fields, _places(row["shown"]))]
            if kind.severities:
                answer += marks_in(fields.get("marks", ""), (row["target"], row["origin"]), self.settings)
        except OptionError as error:
            return self._task(token, person, assignment, str(error), fields)

        form, now = _number(fields, "form"), time.time()
        with self._changing():
            if not assigning.save(self.connection, person.id, assignment, answer, form, now):
                return self._outdated(person, assignment, undoing=False)
            following = assigning.next_assignment(self.connection, self.settings, person.id, now)
            if assigning.is_final(self.connection, assignment):
                following = assignment
        return _see("/done" if following is None else f"/item/{following}")

    async def undo(self, request: Request) -> Response:
        """Undo the last answer and show its item again."""
        token, person = self._person(request, access.JUDGE)
        fields = await self._form(request, token)
        assignment = _number(fields, "assignment")

        query = "SELECT 1 FROM assignment WHERE id = ? AND judge = ?"
        if self.connection.execute(query, (assignment, person.id)).fetchone() is None:
            raise HTTPException(404)
        with self._changing():
            if not assigning.undo(self.connection, person.id, assignment, _number(fields, "form"), time.time()):
                return self._outdated(person, assignment, undoing=True)
        return _see(f"/item/{assignment}")

    async def done(self, request: Request) -> Response:
        """Tell a judge that no item is left."""
        token, person = self._person(request, access.JUDGE)
        count = self.connection.execute(
            "SELECT count(*) FROM assignment WHERE judge = ? AND answer IS NOT NULL", (person.id,)
        ).fetchone()[0]
        last = assigning.last_answered(self.connection, person.id)
        values = {"title": self.settings.title, "code": person.code, "key": access.form_key(token)}
        form = assigning.new_form(self.connection, last)
        return HTMLResponse(render("done.html", count=count, last=last, form=form, **values))

    # pages of the owner

    async def dashboard(self, request: Request) -> Response:
        """Show the owner the progress of the campaign."""
        token, _ = self._person(request, access.OWNER)
        return await self._dashboard(token)

    async def _dashboard(self, token: str, link: tuple[str, str] | None = None, error: str = "") -> Response:
        figures = await self.figures()
        text = render(
            "owner.html",
            title=self.settings.title,
            code="owner",
            key=access.form_key(token),
            link=link,
            error=error,
            settings=self.settings,
            progress=progress_of(self.connection),
            people=people(self.connection, time.time()),
            quality={judge["code"]: judge for judge in figures["judges"]},
            figures=figures,
        )
        return HTMLResponse(text, 422 if error else 200)

    async def figures(self) -> dict[str, Any]:
        """Compute the campaign's statistics, as JSON values, in another thread."""
        async with self._turn:
            return await asyncio.to_thread(self._compute_figures)

    def _compute_figures(self) -> dict[str, Any]:
        from ranker.apps.collect.figures import figures_of

        with closing(connect(self._path)) as connection:
            return figures_of(connection, self.settings)

    async def links(self, request: Request) -> Response:
        """Create a new link for a judge, or revoke the judge's link."""
        token, _ = self._person(request, access.OWNER)
        fields = await self._form(request, token)
        code, days = fields.get("code", ""), 90.0
        try:
            access.check_code(code)
        except OptionError as error:
            return await self._dashboard(token, error=str(error))
        state = access.link_state(self.connection, code)
        if fields.get("state", state) != state:
            what = "this form is older than the last link, or was sent before; nothing was changed"
            return await self._dashboard(token, error=f"{code}: {what}")
        if fields.get("do") == "close":
            with self._changing():
                access.close_link(self.connection, code)
            return _see("/owner#judges")
        with self._changing():
            link = access.give_link(self.connection, code, days)
        return await self._dashboard(token, (code, f"{self.settings.address}/enter/{link}"))

    # used by the pages of both

    def _cookie(self, role: str) -> str:
        return f"ranker-{self.settings.id}-{role}"

    def _person(self, request: Request, role: str | None = None) -> tuple[str, access.Person]:
        """Return the token and the person of a request; refuse unknown senders with 403."""
        for role_name in (access.JUDGE, access.OWNER) if role is None else (role,):
            token = request.cookies.get(self._cookie(role_name), "")
            person = access.person_of(self.connection, token, role_name)
            if person is not None:
                return token, person
        raise HTTPException(403)

    def admit(self, request: Request) -> None:
        """Refuse a request with 429 if its sender (a known person, or else the address) sends too many."""
        tokens: list[tuple[str, str | None]] = [
            (request.cookies.get(self._cookie(role), ""), role) for role in (access.JUDGE, access.OWNER)
        ]
        if request.scope["path"].startswith("/enter/"):
            tokens.append((request.scope["path"].removeprefix("/enter/"), None))
        people = (access.person_of(self.connection, token, role) for token, role in tokens)
        person = next(filter(None, people), None)
        if person is not None:
            allowed = self.by_person.allows(f"{person.id}")
        else:
            allowed = self.by_address.allows((request.client.host if request.client else "")[:_LONGEST_ADDRESS])
        if not allowed:
            raise HTTPException(429)

    async def _form(self, request: Request, token: str) -> dict[str, str]:
        """Read the form sent by a page of this token; refuse a form of another site, or too long, slow or invalid."""
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != request.headers.get("host", ""):
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

    def app(self, hosts: Collection[str], listener: Listener, ready: Callable[[], None]) -> ASGIApp:
        """Return the ASGI application, which answers requests to `hosts` and calls `ready` once it has started."""

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            ready()
            yield

        routes = [
            Route("/", self.start),
            Route("/enter/{token}", self.enter),
            Route("/item/{assignment}", self.item),
            Route("/judge", self.judge, methods=["POST"]),
            Route("/undo", self.undo, methods=["POST"]),
            Route("/done", self.done),
            Route("/owner", self.dashboard),
            Route("/owner/links", self.links, methods=["POST"]),
            Route("/static/{name}", _static),
        ]
        application = Starlette(
            routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _refused, Exception: _refused}
        )
        application.router.redirect_slashes = False
        application.add_middleware(TrustedHostMiddleware, allowed_hosts=[*hosts], www_redirect=False)
        trusted = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")
        guarded: Any = _Guard(application, self.admit)
        proxied: Any = ProxyHeadersMiddleware(guarded, trusted_hosts=trusted)

        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            # before a proxy's headers replace the address of the connection
            with listener.answering(tuple(scope.get("client") or ())):
                await proxied(scope, receive, send)

        return answered


class _Guard:
    """Middleware that limits the rate of requests, and answers a failed request with a short page.

    It also adds headers to every response that restrict what a browser does with it.
    """

    def __init__(self, app: ASGIApp, admit: Callable[[Request], None]) -> None:
        self.app, self.admit = app, admit
        self.headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                cache = [] if scope["path"].startswith("/static/") else [(b"cache-control", b"no-store")]
                message = {**message, "headers": [*message["headers"], *self.headers, *cache]}
            await send(message)

        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            self.admit(Request(scope))
            await self.app(scope, receive, sending)
        except Exception as error:
            # Starlette has answered its own errors and raises them again
            if not started:
                await (await _refused(Request(scope), error))(scope, receive, sending)
            if not isinstance(error, HTTPException):
                _report(error)


def _see(address: str) -> RedirectResponse:
    return RedirectResponse(address, 303)


def _number(fields: Mapping[str, str], name: str, status: int = 400) -> int:
    """Read a whole number from a form or path; respond with `status` if it is missing, malformed or too large."""
    text = fields.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < len(str(MOST_FORM))):
        raise HTTPException(status)
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
    status = error.status_code if isinstance(error, HTTPException) else 503 if isinstance(error, sqlite3.Error) else 500
    if isinstance(error, ValueError | OverflowError):
        # a value that no page sends
        status = 400
    headers = {"Retry-After": "5"} if status in (429, 503) else {}
    # what is left of a body that is too long is not read
    if status in (408, 413, 415):
        headers["Connection"] = "close"
    text = render("message.html", title="", code="", status=status, message=_MESSAGES.get(status, _MESSAGES[400]))
    return HTMLResponse(text, status, headers)


def _report(error: Exception) -> None:
    """Log an error in one line; the rate is limited, so that nobody can flood the log."""
    if _LINES.allows(""):
        what = "cannot write to the campaign" if isinstance(error, sqlite3.Error) else type(error).__name__
        NOTES.error("ranker: error: %s: %s", what, printable(str(error))[:300])


def serve(path: str | Path, host: str, port: int, hosts: Collection[str], ready: Callable[[list[str]], None]) -> None:
    """Serve a campaign until interrupted; requests are refused if they name hosts other than `hosts` and this server.

    `ready` is called when it begins, with the addresses at which it answers; personal links lead to the first.
    """
    with listening(host, port) as listener, closing(connect(path)) as connection:
        addresses = addresses_of(listener, host, hosts)
        try:
            site = Site(path, connection)
            site.served_at(addresses[0])
        except (sqlite3.Error, OSError) as error:
            raise DataError(
                f"cannot be used ({error}): wait if another process is using it, or check its permissions",
                file=display_name(path),
            ) from None
        public = [host_and_port(site.settings.url)[0]] if site.settings.url else []
        names = {host, str(listener.getsockname()[0]), "localhost", "127.0.0.1", "::1", *public, *hosts}
        app = site.app({_in_address(name) for name in names}, listener, lambda: ready(addresses))
        uvicorn.Server(configuration(app)).run(sockets=[listener])


def addresses_of(listener: Listener, host: str, hosts: Collection[str]) -> list[str]:
    """Return the URLs of a server that listens at `host`, which may be a wildcard for all addresses of the computer."""
    bound, port = listener.getsockname()[:2]
    names = [host]
    if ipaddress.ip_address(bound.partition("%")[0]).is_unspecified:
        names = [*hosts, "127.0.0.1" if listener.family == socket.AF_INET else "::1"]
    return [f"http://{_in_address(name)}:{port}" for name in names]


def _in_address(name: str) -> str:
    """Return a host as it is written in URLs and requests: in brackets if it contains colons."""
    return f"[{name}]" if ":" in name else name


def configuration(app: ASGIApp) -> uvicorn.Config:
    """Return the uvicorn configuration for the application."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        access_log=False,
        # malformed requests are warnings
        log_level="error",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=5,
        backlog=BACKLOG,
    )


def listening(host: str, port: int) -> Listener:
    """Return a socket that listens at `host` and `port`; raise an `OptionError` if they cannot be used."""
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = Listener(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.open()
    except OSError as error:
        if listener is not None:
            listener.close()
        what = f"cannot listen on {host}, port {port}: {error.strerror or error}"
        raise OptionError(f"{what}; choose another --host or --port") from None
    return listener
