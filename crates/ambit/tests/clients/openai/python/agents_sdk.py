"""The official `openai-agents` package for Python with its default settings: one function is one case.

Run with an API key and the base URLs of the nodes; prints `ok NAME` for each case that holds.
"""

import asyncio
import sys
import traceback

import openai
from agents import (
    Agent,
    OpenAIConversationsSession,
    Runner,
    function_tool,
    set_default_openai_client,
    set_tracing_disabled,
)
from in_turn import in_turn

key, *urls = sys.argv[1:]
send_on = in_turn(urls)


async def to_the_next(request):
    send_on(request)


nodes = openai.DefaultAsyncHttpxClient(event_hooks={"request": [to_the_next]})
client = openai.AsyncOpenAI(base_url=urls[0], api_key=key, max_retries=0, timeout=60, http_client=nodes)
set_default_openai_client(client, use_for_tracing=False)
set_tracing_disabled(True)


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


agent = Agent(name="Forecaster", instructions="Tell the weather.", model="helper", tools=[get_weather])
ANSWER = "It is sunny in Oslo."


async def a_run_with_a_function_tool():
    result = await Runner.run(agent, "weather")
    assert result.final_output == ANSWER, result.final_output
    kinds = [item.type for item in result.new_items]
    assert kinds == ["tool_call_item", "tool_call_output_item", "message_output_item"], kinds
    again = await Runner.run(agent, result.to_input_list() + [{"role": "user", "content": "hello"}])
    assert again.final_output == "echo: hello"


async def a_streamed_run():
    result = Runner.run_streamed(agent, "weather")
    kinds = [event.type async for event in result.stream_events()]
    assert result.final_output == ANSWER and "raw_response_event" in kinds


async def with_a_previous_response():
    first = await Runner.run(agent, "weather")
    second = await Runner.run(agent, "hello", previous_response_id=first.last_response_id)
    assert second.final_output == "echo: hello"
    tool = await Runner.run(agent, "weather", previous_response_id=second.last_response_id)
    assert tool.final_output == ANSWER
    automatic = await Runner.run(agent, "weather", auto_previous_response_id=True)
    assert automatic.final_output == ANSWER


async def with_a_conversation():
    talk = await client.conversations.create()
    first = await Runner.run(agent, "weather", conversation_id=talk.id)
    assert first.final_output == ANSWER
    second = await Runner.run(agent, "hello", conversation_id=talk.id)
    assert second.final_output == "echo: hello"
    items = await client.conversations.items.list(talk.id, order="asc", limit=100)
    kinds = [item.type for item in items.data]
    assert kinds == ["message", "function_call", "function_call_output", "message", "message", "message"], kinds


async def with_a_session():
    session = OpenAIConversationsSession()
    first = await Runner.run(agent, "weather", session=session)
    assert first.final_output == ANSWER
    streamed = Runner.run_streamed(agent, "hello", session=session)
    async for _ in streamed.stream_events():
        pass
    assert streamed.final_output == "echo: hello"
    items = await session.get_items()
    kinds = [item["type"] for item in items]
    assert kinds == ["message", "function_call", "function_call_output", "message", "message", "message"], kinds
    popped = await session.pop_item()
    assert popped["content"][0]["text"] == "echo: hello", popped
    assert await session.get_items() == items[:-1]
    assert await session.get_items(limit=2) == items[-3:-1]
    id = session.session_id
    await session.clear_session()
    try:
        await client.conversations.retrieve(id)
    except openai.NotFoundError:
        pass
    else:
        raise AssertionError("the conversation is still there")


async def with_tools_of_the_server():
    own = Agent(name="Caller", model="lookup")
    result = await Runner.run(own, "ping")
    assert result.final_output == "The server says pong pong.", result.final_output
    again = await Runner.run(own, result.to_input_list() + [{"role": "user", "content": "hello"}])
    assert again.final_output == "echo: hello"


CASES = [
    a_run_with_a_function_tool,
    a_streamed_run,
    with_a_previous_response,
    with_a_conversation,
    with_a_session,
    with_tools_of_the_server,
]


async def main():
    for case in CASES:
        try:
            await case()
            print("ok", case.__name__)
        except Exception:
            print("failed", case.__name__)
            traceback.print_exc(file=sys.stdout)


asyncio.run(main())
