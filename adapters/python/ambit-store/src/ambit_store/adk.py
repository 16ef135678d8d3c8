"""A session service for Google's Agent Development Kit."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any
from uuid import uuid4

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions import BaseSessionService, Session, State
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
from pydantic_core import to_jsonable_python

from .client import StoreClient
from .errors import StoreConflict
from .keys import join, split
from .steps import PAGE, Request, batch, delete, delete_all, entries, get, put, read

# Kinds of rows: sessions, events, state of an app, state of a user.
_SESSION, _EVENT, _APP, _USER = "s", "e", "a", "u"


class AmbitSessionService(BaseSessionService):
    """Keeps sessions of ADK in an Ambit server.

    An event and what it changes of the state are one commit. A session object is of one revision: an event that is appended to an older
    one raises `StaleSessionError`, and nothing is written.
    """

    def __init__(self, client: StoreClient) -> None:
        self.client = client

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        name = (session_id or "").strip() or str(uuid4())
        return await self.client.arun(_create(app_name, user_id, name, state or {}))

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        return await self.client.arun(_load(app_name, user_id, session_id.strip(), config))

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        return await self.client.arun(_list(app_name, user_id))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await self.client.arun(_delete(app_name, user_id, session_id.strip()))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        prefix = join(_USER, app_name, user_id, "")
        (found,) = await self.client.arun(read([entries(prefix, values=True)]))
        return {split(item["key"])[-1]: item["value"] for item in found["items"]}

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        session._storage_update_marker = await self.client.arun(_append(session, event))
        session.last_update_time = event.timestamp
        return self._commit_event_to_session(session, event)


def _session_key(app: str, user: str, session: str) -> str:
    return join(_SESSION, app, user, session)


def _event_key(app: str, user: str, session: str, log: str, number: int) -> str:
    return f"{join(_EVENT, app, user, session, log, '')}{number:012}"


def _delta(app: str, user: str, changed: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The writes of state that an app or a user shares, and the state of the session alone."""
    writes, own = [], {}
    for name, value in to_jsonable_python(changed, fallback=str).items():
        if name.startswith(State.APP_PREFIX):
            writes.append(put(join(_APP, app, name.removeprefix(State.APP_PREFIX)), value))
        elif name.startswith(State.USER_PREFIX):
            writes.append(put(join(_USER, app, user, name.removeprefix(State.USER_PREFIX)), value))
        elif not name.startswith(State.TEMP_PREFIX):
            own[name] = value
    return writes, own


def _shared(items: list[dict[str, Any]], prefix: str) -> dict[str, Any]:
    return {prefix + split(item["key"])[-1]: item["value"] for item in items}


def _session(
    app: str, user: str, name: str, item: dict[str, Any], shared: dict[str, Any]
) -> Session:
    row = item["value"]
    session = Session(
        app_name=app,
        user_id=user,
        id=name,
        state={**row["state"], **shared},
        events=[],
        last_update_time=row["updated"],
    )
    session._storage_update_marker = str(item["version"])
    return session


def _create(
    app: str, user: str, name: str, state: dict[str, Any]
) -> Generator[Request, Any, Session]:
    writes, own = _delta(app, user, state)
    row = {"state": own, "updated": time.time(), "count": 0, "log": str(uuid4()), "before": None}
    try:
        yield batch([put(_session_key(app, user, name), row, expect=0), *writes])
    except StoreConflict:
        raise AlreadyExistsError(f"Session with id {name} already exists.") from None
    session = yield from _load(app, user, name, None)
    if session is None:
        raise SessionNotFoundError(f"Session {name} was deleted while it was created.")
    return session


def _load(
    app: str, user: str, name: str, config: GetSessionConfig | None
) -> Generator[Request, Any, Session | None]:
    item, of_app, of_user = yield from read(
        [
            get(_session_key(app, user, name)),
            entries(join(_APP, app, ""), values=True),
            entries(join(_USER, app, user, ""), values=True),
        ]
    )
    if item is None:
        return None
    shared = _shared(of_app["items"], State.APP_PREFIX)
    shared |= _shared(of_user["items"], State.USER_PREFIX)
    session = _session(app, user, name, item, shared)
    session.events = yield from _events(app, user, name, item["value"], config)
    return session


def _events(
    app: str, user: str, name: str, row: dict[str, Any], config: GetSessionConfig | None
) -> Generator[Request, Any, list[Event]]:
    """The events up to the revision that was read; those behind it are not part of it."""
    count = row["count"]
    recent = config.num_recent_events if config else None
    if count == 0 or recent == 0:
        return []
    prefix = join(_EVENT, app, user, name, row["log"], "")
    first = max(count - recent, 0) if recent is not None else 0
    after = _event_key(app, user, name, row["log"], first - 1) if first else None
    (found,) = yield from read([entries(prefix, PAGE, after=after, values=True)])
    events = [Event.model_validate(item["value"]) for item in found["items"][: count - first]]
    if config and config.after_timestamp is not None:
        events = [event for event in events if event.timestamp >= config.after_timestamp]
    return events


def _list(app: str, user: str | None) -> Generator[Request, Any, ListSessionsResponse]:
    of = (app,) if user is None else (app, user)
    rows, of_app, of_users = yield from read(
        [
            entries(join(_SESSION, *of, ""), values=True),
            entries(join(_APP, app, ""), values=True),
            entries(join(_USER, *of, ""), values=True),
        ]
    )
    shared = _shared(of_app["items"], State.APP_PREFIX)
    users: dict[str, list[dict[str, Any]]] = {}
    for item in of_users["items"]:
        users.setdefault(split(item["key"])[2], []).append(item)
    sessions = []
    for item in rows["items"]:
        _, _, owner, name = split(item["key"])
        theirs = _shared(users.get(owner, []), State.USER_PREFIX)
        sessions.append(_session(app, owner, name, item, {**shared, **theirs}))
    sessions.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
    return ListSessionsResponse(sessions=sessions)


def _delete(app: str, user: str, name: str) -> Generator[Request, Any, None]:
    # Events of a session that is gone are never found again: the next one of this name has another log.
    yield batch([delete(_session_key(app, user, name))])
    yield from delete_all([join(_EVENT, app, user, name, "")])


def _append(session: Session, event: Event) -> Generator[Request, Any, str]:
    """Stores an event behind the revision of the session; the answer is the new revision."""
    app, user, name = session.app_name, session.user_id, session.id
    key = _session_key(app, user, name)
    (item,) = yield batch([get(key)])
    if item is None:
        raise SessionNotFoundError(f"Session {name} not found.")
    row, revision = item["value"], str(item["version"])
    marker = session._storage_update_marker
    is_current = marker == revision if marker else row["updated"] <= session.last_update_time
    if not is_current:
        return (yield from _stored_before(session, event, item))
    writes, own = _delta(app, user, event.actions.state_delta if event.actions else {})
    new = {
        "state": {**row["state"], **own},
        "updated": event.timestamp,
        "count": row["count"] + 1,
        "log": row["log"],
        "before": revision,
    }
    stored = event.model_dump(mode="json", exclude_none=True)
    event_key = _event_key(app, user, name, row["log"], row["count"])
    try:
        result, *_ = yield batch([put(key, new, expect=item["version"]), put(event_key, stored), *writes])
    except StoreConflict:
        raise _stale(session) from None
    return str(result["version"])


def _stored_before(
    session: Session, event: Event, item: dict[str, Any]
) -> Generator[Request, Any, str]:
    """The revision that this very event has made, whose answer did not arrive; any other one is somebody else's."""
    row = item["value"]
    if row["count"] and row["before"] == session._storage_update_marker:
        number = row["count"] - 1
        key = _event_key(session.app_name, session.user_id, session.id, row["log"], number)
        (last,) = yield batch([get(key)])
        if last is not None and last["value"].get("id") == event.id:
            return str(item["version"])
    raise _stale(session)


def _stale(session: Session) -> StaleSessionError:
    return StaleSessionError(
        f"Session {session.id} has changed since it was read; read it again and repeat."
    )
