"""Sessions of the `openai-agents` package when their server is killed: one function is one case.

Run with the program, an app, a folder for data and an API key for it; prints `ok NAME` for each case that holds.
"""

import asyncio
import sys
import traceback

import openai
from agents import Agent, OpenAIConversationsSession, Runner, function_tool, set_tracing_disabled
from agents.models.openai_provider import OpenAIProvider
from agents.run import RunConfig
from served import Served

program, app, data, key = sys.argv[1:]
nodes = [Served(program, app, data) for _ in range(2)]
set_tracing_disabled(True)
SESSIONS, ADDITIONS = 16, 6


def client_of(node):
    return openai.AsyncOpenAI(base_url=node.url, api_key=key, max_retries=0, timeout=60)


def opened(client, conversation=None):
    return OpenAIConversationsSession(conversation_id=conversation, openai_client=client)


def said(text):
    return {"role": "user", "content": text}


async def texts(session):
    return [item["content"][0]["text"] for item in await session.get_items()]


async def a_session_goes_on_when_the_server_was_killed_between_two_additions():
    session = opened(client_of(nodes[0]))
    await session.add_items([said("one"), said("two")])
    nodes[0].kill()
    other = opened(client_of(nodes[1]), session.session_id)
    assert await texts(other) == ["one", "two"]
    await other.add_items([said("three")])
    nodes[0].start()
    again = opened(client_of(nodes[0]), session.session_id)
    await again.add_items([said("four")])
    for each in (again, other):
        assert await texts(each) == ["one", "two", "three", "four"]
    assert (await again.pop_item())["content"][0]["text"] == "four"
    assert await texts(other) == ["one", "two", "three"]


async def a_run_goes_on_when_the_server_was_killed_between_two_of_its_additions():
    client = client_of(nodes[0])
    session = opened(client)

    @function_tool
    def get_weather(city: str) -> str:
        """The weather of a city."""
        nodes[0].kill()
        client.base_url = nodes[1].url
        return f"sunny in {city}"

    agent = Agent(name="Forecaster", model="helper", tools=[get_weather])
    config = RunConfig(model_provider=OpenAIProvider(openai_client=client))
    first = await Runner.run(agent, "weather", session=session, run_config=config)
    assert first.final_output == "It is sunny in Oslo.", first.final_output
    nodes[0].start()
    client.base_url = nodes[0].url
    second = await Runner.run(agent, "hello", session=session, run_config=config)
    assert second.final_output == "echo: hello", second.final_output
    items = await opened(client_of(nodes[1]), session.session_id).get_items()
    kinds = [item["type"] for item in items]
    assert kinds == ["message", "function_call", "function_call_output", "message", "message", "message"], kinds
    ids = [item["id"] for item in items]
    assert len(set(ids)) == len(ids), ids


def own(texts, number):
    return [text for text in texts if text.startswith(f"{number}:")]


async def of_sixteen_sessions_all_is_there_once_and_in_order():
    first, second = client_of(nodes[0]), client_of(nodes[1])
    conversation = (await second.conversations.create()).id
    acknowledged = [0] * SESSIONS
    half_is_stored = asyncio.Event()

    async def add(session, number, start):
        for addition in range(start, ADDITIONS):
            await session.add_items([said(f"{number}:{addition}:{half}") for half in "ab"])
            acknowledged[number] += 1
            if sum(acknowledged) == SESSIONS * ADDITIONS // 2:
                half_is_stored.set()

    async def go_on(number):
        """Asks whether the addition whose answer was lost is there, and adds the rest at the other node."""
        session = opened(second, conversation)
        there = len(own(await texts(session), number))
        assert there in (2 * acknowledged[number], 2 * acknowledged[number] + 2), (number, there)
        await add(session, number, there // 2)

    numbers = range(SESSIONS)
    running = [asyncio.create_task(add(opened(first, conversation), number, 0)) for number in numbers]
    await asyncio.wait_for(half_is_stored.wait(), 300)
    nodes[0].kill()
    ended = await asyncio.gather(*running, return_exceptions=True)
    assert {type(end) for end in ended if end} == {openai.APIConnectionError}, ended
    await asyncio.gather(*(go_on(number) for number in numbers))
    nodes[0].start()
    stored = await texts(opened(client_of(nodes[0]), conversation))
    assert len(stored) == 2 * SESSIONS * ADDITIONS
    for number in numbers:
        expected = [f"{number}:{addition}:{half}" for addition in range(ADDITIONS) for half in "ab"]
        assert own(stored, number) == expected, stored


CASES = [
    a_session_goes_on_when_the_server_was_killed_between_two_additions,
    a_run_goes_on_when_the_server_was_killed_between_two_of_its_additions,
    of_sixteen_sessions_all_is_there_once_and_in_order,
]


async def main():
    for case in CASES:
        try:
            await case()
            print("ok", case.__name__, flush=True)
        except Exception:
            print("failed", case.__name__)
            traceback.print_exc(file=sys.stdout)


try:
    asyncio.run(main())
finally:
    for node in nodes:
        node.kill()
