"""Responses and Conversations of the official `openai` package for Python: one function is one case.

Run with an API key and the base URLs of the nodes; prints `ok NAME` for each case that holds.
"""

import json
import sys
import time
import traceback

import openai
from in_turn import in_turn

key, *urls = sys.argv[1:]
nodes = openai.DefaultHttpxClient(event_hooks={"request": [in_turn(urls)]})
client = openai.OpenAI(base_url=urls[0], api_key=key, max_retries=0, timeout=60, http_client=nodes)
responses, conversations = client.responses, client.conversations
TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}
CUSTOM = {"type": "custom", "name": "apply", "description": "Applies a patch"}


def ask(text, **more):
    return responses.create(**{"model": "helper", "input": text, **more})


def refused(kind, **arguments):
    try:
        ask(**{"text": "hello", **arguments})
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def gone(call, *arguments, **more):
    try:
        call(*arguments, **more)
    except openai.NotFoundError as error:
        return error
    raise AssertionError("it is still there")


def seen(**more):
    """The messages that the model has got, but for the agent's own instructions."""
    shown = json.loads(ask("show", **more).output_text)
    return shown["messages"][1:]


def a_whole_answer():
    answer = ask("hello", metadata={"a": "b"}, temperature=0.5, instructions="Be brief.")
    assert answer.object == "response" and answer.status == "completed", answer
    assert answer.id.startswith("resp_") and answer.model == "helper"
    assert answer.output_text == "echo: hello", answer
    [item] = answer.output
    assert item.type == "message" and item.id.startswith("msg_") and item.status == "completed"
    assert (answer.temperature, answer.metadata, answer.instructions) == (0.5, {"a": "b"}, "Be brief.")
    assert answer.usage.total_tokens == 12 and answer.usage.input_tokens_details.cached_tokens == 0
    assert answer.usage.output_tokens_details.reasoning_tokens == 0
    assert answer.usage.input_tokens_details.cache_write_tokens == 0
    assert responses.retrieve(answer.id).to_dict() == answer.to_dict()


def a_streamed_answer():
    kinds, numbers, text = [], [], ""
    for event in ask("think", stream=True):
        kinds.append(event.type)
        numbers.append(event.sequence_number)
        if event.type == "response.output_text.delta":
            text += event.delta
    assert numbers == list(range(len(numbers)))
    assert kinds[:2] == ["response.created", "response.in_progress"], kinds
    assert kinds[-1] == "response.completed" and text == "I thought about it."
    assert "response.reasoning_summary_text.delta" in kinds
    last = event.response
    assert [item.type for item in last.output] == ["reasoning", "message"]
    assert last.output[0].summary[0].text == "Let me think."


def streamed_through_the_helper():
    with responses.stream(model="helper", input="weather", tools=[TOOL]) as stream:
        deltas = [e.snapshot for e in stream if e.type == "response.function_call_arguments.delta"]
        final = stream.get_final_response()
    assert json.loads(deltas[-1]) == {"city": "Oslo"}
    [call] = final.output
    assert call.type == "function_call" and call.call_id.startswith("call_")


def a_function_of_the_client():
    first = ask("weather", tools=[TOOL])
    [call] = first.output
    assert call.type == "function_call" and call.name == "get_weather" and call.status == "completed"
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    second = ask([output], tools=[TOOL], previous_response_id=first.id)
    assert second.output_text == "It is sunny.", second
    assert second.previous_response_id == first.id
    again = [{"role": "user", "content": "weather"}, call.to_dict(), output]
    stateless = ask(again, tools=[TOOL])
    assert stateless.output_text == "It is sunny.", stateless
    wrong = {"type": "function_call_output", "call_id": "call_x_M1", "output": "sunny"}
    assert refused(openai.BadRequestError, text=[wrong]).param == "input"


def a_custom_tool_of_the_client():
    first = ask("patch it", tools=[CUSTOM])
    [call] = first.output
    assert call.type == "custom_tool_call" and call.input == "*** Begin", call
    output = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "done"}
    second = ask([output], tools=[CUSTOM], previous_response_id=first.id)
    assert second.output_text == "patched: done"


def a_tool_of_the_server():
    answer = ask("ping", model="lookup")
    call, text = answer.output
    assert call.type == "mcp_call" and (call.server_label, call.name) == ("echo", "ping"), call
    assert call.output == "pong pong" and call.status == "completed" and call.error is None
    assert text.content[0].text == "The server says pong pong."
    kinds = [event.type for event in ask("ping", model="lookup", stream=True)]
    for kind in ["in_progress", "completed"]:
        assert f"response.mcp_call.{kind}" in kinds, kinds


def going_on_from_a_response():
    first = ask("my name is Ann")
    second = ask("and I am 40", previous_response_id=first.id)
    texts = [message["content"] for message in seen(previous_response_id=second.id)]
    assert texts == ["my name is Ann", "echo: my name is Ann", "and I am 40", "echo: and I am 40", "show"], texts
    # From an earlier one: what came behind it is not known, and stays as it is.
    texts = [message["content"] for message in seen(previous_response_id=first.id)]
    assert texts == ["my name is Ann", "echo: my name is Ann", "show"], texts
    texts = [message["content"] for message in seen(previous_response_id=first.id)]
    assert texts == ["my name is Ann", "echo: my name is Ann", "show"], texts


def in_the_background():
    answer = ask("slow", background=True)
    assert answer.status in ("queued", "in_progress") and answer.output == []
    while answer.status in ("queued", "in_progress"):
        time.sleep(0.05)
        answer = responses.retrieve(answer.id)
    assert answer.status == "completed" and answer.output_text.endswith("nine ten"), answer
    assert answer.background is True


def taken_up_behind_an_event():
    stream = ask("slow", stream=True)
    first = [next(stream) for _ in range(6)]
    stream.close()
    id = first[0].response.id
    whole = list(responses.retrieve(id, stream=True))
    rest = list(responses.retrieve(id, stream=True, starting_after=first[-1].sequence_number))
    assert [e.to_dict() for e in whole[:6]] == [e.to_dict() for e in first]
    assert [e.to_dict() for e in whole[6:]] == [e.to_dict() for e in rest]
    assert whole[-1].type == "response.completed"
    with responses.stream(response_id=id, starting_after=2) as stream:
        assert stream.get_final_response().output_text.endswith("nine ten")
    try:
        list(responses.retrieve(id, stream=True, starting_after=10_000))
    except openai.BadRequestError as error:
        assert error.param == "starting_after"
    else:
        raise AssertionError("a number beyond the last was taken")


def cancelled():
    running = ask("forever", background=True)
    stopped = responses.cancel(running.id)
    assert stopped.status == "cancelled", stopped
    assert responses.retrieve(running.id).status == "cancelled"
    ended = ask("hello")
    assert responses.cancel(ended.id).status == "completed"


def failed():
    error = refused(openai.APIStatusError, text="fail")
    # What the provider said is in the log alone.
    assert "the model failed" in str(error), error
    assert "no such model" not in str(error), error
    events = list(ask("fail", stream=True))
    last = events[-1]
    assert last.type == "response.failed" and last.response.status == "failed"
    assert last.response.error.code == "server_error", last
    assert last.response.metadata["ambit_code"] == "llm_error"
    assert responses.retrieve(last.response.id).status == "failed"
    cut = ask("long")
    assert cut.status == "incomplete" and cut.incomplete_details.reason == "max_output_tokens"


def the_items_of_an_input():
    items = [{"role": "user", "content": "one"}, {"role": "user", "content": [{"type": "input_text", "text": "two"}]}]
    answer = ask(items)
    listed = responses.input_items.list(answer.id, order="asc")
    assert [item.content[0].text for item in listed.data] == ["one", "two"], listed
    assert all(item.type == "message" and item.role == "user" for item in listed.data)
    newest = responses.input_items.list(answer.id, limit=1)
    assert newest.data[0].content[0].text == "two" and newest.has_more
    assert [i.content[0].text for i in responses.input_items.list(answer.id, limit=1)] == ["two", "one"]
    referred = ask([{"type": "item_reference", "id": listed.data[0].id}])
    assert referred.output_text == "echo: one"
    gone(ask, [{"type": "item_reference", "id": "msg_x_M1"}])


def a_conversation():
    talk = conversations.create(metadata={"topic": "x"}, items=[{"role": "user", "content": "hi"}])
    assert talk.object == "conversation" and talk.id.startswith("conv_") and talk.metadata == {"topic": "x"}
    assert conversations.retrieve(talk.id).to_dict() == talk.to_dict()
    assert conversations.update(talk.id, metadata={"topic": "y"}).metadata == {"topic": "y"}
    answer = ask("weather", conversation=talk.id, tools=[TOOL])
    assert answer.conversation.id == talk.id
    output = {"type": "function_call_output", "call_id": answer.output[0].call_id, "output": "sunny"}
    answer = ask([output], conversation={"id": talk.id}, tools=[TOOL])
    assert answer.output_text == "It is sunny."
    items = conversations.items.list(talk.id, order="asc").data
    kinds = [item.type for item in items]
    assert kinds == ["message", "message", "function_call", "function_call_output", "message"], kinds
    assert items[-1].id == answer.output[0].id and items[-1].content[0].text == "It is sunny."
    assert conversations.items.retrieve(items[2].id, conversation_id=talk.id).name == "get_weather"
    paged = [item.id for item in conversations.items.list(talk.id, limit=2)]
    assert paged == [item.id for item in reversed(items)], paged
    deleted = conversations.delete(talk.id)
    assert deleted.deleted and deleted.object == "conversation.deleted"
    gone(conversations.retrieve, talk.id)
    gone(conversations.items.list, talk.id)


def items_that_are_added():
    talk = conversations.create()
    given = {"type": "message", "id": "msg_mine", "role": "user", "content": "one"}
    added = conversations.items.create(talk.id, items=[given, {"role": "assistant", "content": "two"}])
    assert [item.role for item in added.data] == ["user", "assistant"] and added.data[0].id == "msg_mine"
    again = conversations.items.create(talk.id, items=[given])
    assert again.data[0].id != "msg_mine"
    other = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "eA=="}
    conversations.items.create(talk.id, items=[other])
    kept = conversations.items.retrieve("ig_1", conversation_id=talk.id)
    assert kept.to_dict() == other, kept
    texts = [message["content"] for message in seen(conversation=talk.id)]
    assert texts == ["one", "two", "one", "show"], texts
    try:
        conversations.items.create(talk.id, items=[{"role": "developer", "content": "obey"}])
    except openai.BadRequestError as error:
        assert error.param == "items[0].role"
    else:
        raise AssertionError("instructions were taken into a conversation")


def instructions_need_leave():
    assert refused(openai.BadRequestError, model="strict", instructions="obey").param == "instructions"
    hidden = [{"role": "developer", "content": "obey"}, {"role": "user", "content": "hi"}]
    assert refused(openai.BadRequestError, model="strict", text=hidden).param == "input[0].role"
    first = ask("hello", instructions="Say it once.")
    roles = [message["role"] for message in seen(previous_response_id=first.id)]
    assert roles == ["user", "assistant", "user"], roles
    own = seen(instructions="Now.")
    assert own[0] == {"role": "developer", "content": "Now."}, own


def instructions_stay_with_agents_that_take_some():
    talk = conversations.create()
    ask([{"role": "developer", "content": "obey"}, {"role": "user", "content": "hello"}], conversation=talk.id)
    strict = ask("show", model="strict", conversation=talk.id)
    assert "obey" not in strict.output_text, strict.output_text
    assert "developer" in [message["role"] for message in seen(conversation=talk.id)]


def wrong_requests_are_refused():
    assert refused(openai.NotFoundError, model="nobody").code == "not_found"
    assert refused(openai.NotFoundError, previous_response_id="resp_x").param == "previous_response_id"
    assert refused(openai.NotFoundError, conversation="conv_x").param == "conversation"
    both = {"conversation": "conv_x", "previous_response_id": "resp_x"}
    assert refused(openai.BadRequestError, **both).param == "previous_response_id"
    hosted = refused(openai.UnprocessableEntityError, tools=[{"type": "file_search", "vector_store_ids": []}])
    assert hosted.code == "unsupported" and hosted.param == "tools[0].type"
    assert refused(openai.UnprocessableEntityError, prompt={"id": "x"}).param == "prompt"
    uploaded = [{"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]}]
    assert refused(openai.UnprocessableEntityError, text=uploaded).param == "input[0].content[0].file_id"
    stateless = {"store": False, "previous_response_id": "resp_x"}
    assert refused(openai.BadRequestError, **stateless).param == "previous_response_id"
    gone(responses.retrieve, "resp_x")
    gone(responses.cancel, "resp_x")


CASES = [value for name, value in list(globals().items()) if callable(value) and not name.startswith("_")]
CASES = [case for case in CASES if getattr(case, "__module__", "") == "__main__"]
HELPERS = {ask, refused, gone, seen}

for case in CASES:
    if case in HELPERS:
        continue
    try:
        case()
        print("ok", case.__name__)
    except Exception:
        print("failed", case.__name__)
        traceback.print_exc(file=sys.stdout)
