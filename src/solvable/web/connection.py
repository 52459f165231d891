"""Connections to the explorer with a time limit: a request's head must come in time; refusals carry the security headers."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from solvable.web.guarding import HEADERS

HEAD = 5.0  # seconds from the first word of a connection, or from its opening, to the end of a request's head


class Connection(H11Protocol):
    """An HTTP connection with time limits for the first request; uvicorn's own limit begins after the first answer."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        if self.timeout_keep_alive_task is not None:  # another request begins
            self._expect_head()
        super().data_received(data)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        fields = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
        fields += [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=fields, reason=b"Bad Request"),
            h11.Data(data=msg.encode("ascii")),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _expect_head(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
