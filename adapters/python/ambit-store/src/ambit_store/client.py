"""Speaks to the store of an Ambit server, from threads and from asyncio alike.

What is done is written once, as a generator that yields requests and is sent their answers; `run` and `arun` carry it out.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Generator
from typing import Any, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import httpx

from .errors import StoreConflict, StoreError
from .steps import Request, batch, search

T = TypeVar("T")
Steps = Generator[Request, Any, T]

# Pauses before a request is sent again, in seconds.
_PAUSES = (0.1, 0.3, 1.0, 3.0)
# Nothing of the request can have reached the server.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class StoreClient:
    """The keys of one space: the caller's own, or with `owner="team"` those of the caller's team."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080/v1",
        token: str | None = None,
        *,
        space: str = "framework",
        owner: str = "user",
        timeout: float = 60.0,
    ) -> None:
        self.space = space
        self.owner = owner
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._settings: dict[str, Any] = {
            "base_url": url,
            "headers": headers,
            "timeout": timeout,
            "verify": httpx.create_ssl_context(),
        }
        # One for each request under way: threads that share one close each other's connections.
        self._idle: deque[httpx.Client] = deque()
        # Connections belong to the loop that opened them.
        self._clients: WeakKeyDictionary[Any, httpx.AsyncClient] = WeakKeyDictionary()

    def batch(self, ops: list[dict[str, Any]]) -> list[Any]:
        """Reads keys, or writes them: all or none."""
        return self.run(_one(batch(ops)))

    async def abatch(self, ops: list[dict[str, Any]]) -> list[Any]:
        """Reads keys, or writes them: all or none."""
        return await self.arun(_one(batch(ops)))

    def search(self, prefix: str = "", **conditions: Any) -> list[dict[str, Any]]:
        """Finds items: `filter`, `query`, `limit`, `offset`."""
        return self.run(_one(search(prefix, **conditions)))

    async def asearch(self, prefix: str = "", **conditions: Any) -> list[dict[str, Any]]:
        """Finds items: `filter`, `query`, `limit`, `offset`."""
        return await self.arun(_one(search(prefix, **conditions)))

    def close(self) -> None:
        """Closes the connections of threads."""
        while self._idle:
            self._idle.pop().close()

    async def aclose(self) -> None:
        """Closes the connections of the running loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def run(self, steps: Steps[T]) -> T:
        """Carries out steps, and returns what they return."""
        try:
            request = next(steps)
            while True:
                try:
                    answer = self._send(request)
                except StoreError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as end:
            return end.value

    async def arun(self, steps: Steps[T]) -> T:
        """The same, without holding up the loop."""
        try:
            request = next(steps)
            while True:
                try:
                    answer = await self._asend(request)
                except StoreError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as end:
            return end.value

    def _send(self, request: Request) -> list[Any]:
        message = self._message(request)
        for pause in (*_PAUSES, None):
            try:
                response = self._post(message)
            except _UNSENT:
                if pause is None:
                    raise
            else:
                if response.status_code != 503 or pause is None:
                    return request.answer(_content(response))
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _post(self, message: dict[str, Any]) -> httpx.Response:
        try:
            client = self._idle.pop()
        except IndexError:
            client = httpx.Client(**self._settings)
        try:
            return client.post(**message)
        finally:
            self._idle.append(client)

    async def _asend(self, request: Request) -> list[Any]:
        message = self._message(request)
        client = self._async_client()
        for pause in (*_PAUSES, None):
            try:
                response = await client.post(**message)
            except _UNSENT:
                if pause is None:
                    raise
            else:
                if response.status_code != 503 or pause is None:
                    return request.answer(_content(response))
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _async_client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = httpx.AsyncClient(**self._settings)
        return client

    def _message(self, request: Request) -> dict[str, Any]:
        # One key for all tries, so that a batch whose answer was lost is not written twice.
        headers = {"idempotency-key": str(uuid4())} if request.writes else {}
        body = {"space": self.space, "owner": self.owner, **request.body}
        return {"url": request.path, "json": body, "headers": headers}


def _one(request: Request) -> Steps[Any]:
    return (yield request)


def _content(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json()
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        error = {"message": response.text[:200]}
    kind = StoreConflict if response.status_code == 409 else StoreError
    raise kind(
        response.status_code,
        error.get("code", "unknown"),
        error.get("message", "the server did not say why"),
        error.get("details"),
    )
