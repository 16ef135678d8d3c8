"""`AmbitSessionService` as Google's ADK uses it, on two nodes. Run with the program, an app, a folder for data and an API key for it."""

import asyncio
import sys

from cases import run, space
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai.types import Content, Part
from served import Served

from ambit_store import AmbitSessionService, StoreClient

program, app, data, key = sys.argv[1:]
nodes = [Served(program, app, data) for _ in range(2)]
WHO = {"app_name": "app/1", "user_id": "ann"}


def opened(node, name):
    return AmbitSessionService(StoreClient(node.url, key, space=name))


def event(text, **state):
    delta = {name.replace("__", ":"): value for name, value in state.items()}
    content = Content(role="user", parts=[Part(text=text)])
    return Event(author="user", content=content, actions=EventActions(state_delta=delta))


async def refused(kind, call):
    try:
        await call
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")


def texts(session):
    return [event.content.parts[0].text for event in session.events]


def case(body):
    """A case with two services over one space, each on a node of its own."""

    def wrapped():
        name = space()
        asyncio.run(body(*(opened(node, name) for node in nodes)))

    wrapped.__name__ = body.__name__
    return wrapped


@case
async def of_two_services_the_stale_one_is_refused(one, two):
    mine = await one.create_session(**WHO, session_id="s")
    theirs = await two.get_session(**WHO, session_id="s")
    await one.append_event(mine, event("a", step=1))
    await refused(StaleSessionError, two.append_event(theirs, event("b", step=2)))
    stored = await two.get_session(**WHO, session_id="s")
    assert texts(stored) == ["a"] and stored.state == {"step": 1}
    await two.append_event(stored, event("b", step=2))
    await refused(StaleSessionError, one.append_event(mine, event("c")))
    # One service goes on with its own session as often as it likes.
    for text in "cd":
        await two.append_event(stored, event(text))
    assert texts(await one.get_session(**WHO, session_id="s")) == ["a", "b", "c", "d"]
    assert texts(stored) == ["a", "b", "c", "d"]


@case
async def sixteen_appends_to_one_revision_are_one(one, two):
    session = await one.create_session(**WHO, session_id="s")
    copies = [await two.get_session(**WHO, session_id="s") for _ in range(16)]
    appends = [(one, two)[at % 2].append_event(copy, event(str(at))) for at, copy in enumerate(copies)]
    ended = await asyncio.gather(*appends, return_exceptions=True)
    stored = [end.content.parts[0].text for end in ended if isinstance(end, Event)]
    assert len(stored) == 1 and sum(isinstance(end, StaleSessionError) for end in ended) == 15
    assert texts(await one.get_session(**WHO, session_id=session.id)) == stored


@case
async def state_is_kept_by_its_prefix(one, two):
    state = {"own": 1, "user:lang": "de", "app:motd": "hi", "temp:x": 1}
    first = await one.create_session(**WHO, session_id="s", state=state)
    assert first.state == {"own": 1, "user:lang": "de", "app:motd": "hi"}
    await one.append_event(first, event("a", own=2, user__lang="fr", app__motd="yo", temp__y=3))
    assert first.state["temp:y"] == 3
    stored = await two.get_session(**WHO, session_id="s")
    assert stored.state == {"own": 2, "user:lang": "fr", "app:motd": "yo"}
    assert stored.events[0].actions.state_delta.keys() == {"own", "user:lang", "app:motd"}
    other = await two.create_session(**WHO, session_id="other")
    assert other.state == {"user:lang": "fr", "app:motd": "yo"}
    bob = await two.create_session(app_name="app/1", user_id="bob", session_id="s")
    assert bob.state == {"app:motd": "yo"}
    assert await two.get_user_state(**WHO) == {"lang": "fr"}
    assert await two.get_user_state(app_name="app", user_id="ann") == {}


@case
async def sessions_are_listed_deleted_and_begun_anew(one, two):
    for name in ["s", "s/2"]:
        session = await one.create_session(**WHO, session_id=name)
        await one.append_event(session, event(name))
    await one.create_session(app_name="app/1", user_id="bob", session_id="b")
    await refused(AlreadyExistsError, two.create_session(**WHO, session_id="s"))
    listed = await two.list_sessions(**WHO)
    assert [session.id for session in listed.sessions] == ["s", "s/2"]
    assert len((await two.list_sessions(app_name="app/1")).sessions) == 3
    await two.delete_session(**WHO, session_id="s")
    assert await one.get_session(**WHO, session_id="s") is None
    assert texts(await one.get_session(**WHO, session_id="s/2")) == ["s/2"]
    rows = await one.client.abatch([{"op": "list", "prefix": "e/app%2F1/ann/s/", "limit": 9}])
    assert rows[0]["items"] == []
    again = await one.create_session(**WHO, session_id="s")
    assert again.events == []


@case
async def the_last_events_are_read_alone(one, two):
    session = await one.create_session(**WHO, session_id="s")
    for text in "abcd":
        await one.append_event(session, event(text))

    async def read(**config):
        config = GetSessionConfig(**config)
        return texts(await two.get_session(**WHO, session_id="s", config=config))

    assert await read(num_recent_events=2) == ["c", "d"]
    assert await read(num_recent_events=0) == []
    assert await read(num_recent_events=9) == ["a", "b", "c", "d"]
    assert await read(after_timestamp=session.events[2].timestamp) == ["c", "d"]


@case
async def a_session_goes_on_when_the_server_was_killed_between_two_events(one, two):
    session = await one.create_session(**WHO, session_id="s")
    await one.append_event(session, event("a", step=1))
    nodes[0].kill()
    await two.append_event(session, event("b", step=2))
    nodes[0].start()
    again = opened(nodes[0], one.client.space)
    await again.append_event(session, event("c", step=3))
    for service in (again, two):
        stored = await service.get_session(**WHO, session_id="s")
        assert texts(stored) == ["a", "b", "c"] and stored.state == {"step": 3}


@case
async def an_event_whose_answer_was_lost_is_not_stored_twice(one, two):
    session = await one.create_session(**WHO, session_id="s")
    before = session.model_copy(deep=True)
    before._storage_update_marker = session._storage_update_marker
    sent = event("a", step=1)
    await one.append_event(session, sent)
    await two.append_event(before, sent)
    assert texts(await two.get_session(**WHO, session_id="s")) == ["a"]
    await two.append_event(before, event("b"))
    await refused(StaleSessionError, one.append_event(session, event("c")))


try:
    run(
        [
            of_two_services_the_stale_one_is_refused,
            sixteen_appends_to_one_revision_are_one,
            state_is_kept_by_its_prefix,
            sessions_are_listed_deleted_and_begun_anew,
            the_last_events_are_read_alone,
            a_session_goes_on_when_the_server_was_killed_between_two_events,
            an_event_whose_answer_was_lost_is_not_stored_twice,
        ]
    )
finally:
    for node in nodes:
        node.kill()
