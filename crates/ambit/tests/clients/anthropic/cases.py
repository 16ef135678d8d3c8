"""The official `anthropic` package for Python against a running server: one function is one case.

Run with the server's address and an API key; prints `ok NAME` for each case that holds.
"""

import sys
import traceback

import anthropic

base, key = sys.argv[1:]
client = anthropic.Anthropic(base_url=base, api_key=key, max_retries=0, timeout=60)
messages = client.messages
TOOL = {
    "name": "get_weather",
    "description": "Tells the weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def user(content):
    return {"role": "user", "content": content}


def asked(text, **more):
    return {"model": "plain", "max_tokens": 100, "messages": [user(text)], **more}


def refused(kind, **arguments):
    try:
        messages.create(**{**asked("hello"), **arguments})
    except kind as error:
        assert error.body["type"] == "error", error.body
        assert error.request_id == error.body["request_id"], error.request_id
        return error.body["error"]["type"]
    raise AssertionError(f"{kind.__name__} was not raised")


def a_whole_answer():
    answer = messages.create(**asked("hello"))
    assert answer.type == "message" and answer.role == "assistant" and answer.model == "plain"
    assert [block.text for block in answer.content] == ["echo: hello"]
    assert answer.stop_reason == "end_turn" and answer.stop_sequence is None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 2)
    assert answer.id.startswith("msg_") and answer._request_id


def the_whole_conversation_is_the_clients():
    said = [user("hello"), {"role": "assistant", "content": "hi"}, user("count")]
    answer = messages.create(**asked("", messages=said, system="Be brief."))
    assert answer.content[0].text == "5", answer.content


def a_stream_of_events():
    kinds = [event.type for event in messages.create(**asked("hello"), stream=True)]
    assert kinds[:2] == ["message_start", "content_block_start"], kinds
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"], kinds


def a_stream_with_thinking_and_a_tool():
    thought, said = "", ""
    with messages.stream(**asked("weather", tools=[TOOL])) as stream:
        for event in stream:
            if event.type == "thinking":
                thought += event.thinking
            if event.type == "text":
                said += event.text
        answer = stream.get_final_message()
    assert thought == "I must look." and said == "Let me look."
    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"]
    assert answer.stop_reason == "tool_use" and answer.usage.output_tokens == 2
    call = answer.content[2]
    assert (call.name, call.input) == ("get_weather", {"city": "Oslo"})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    said = [user("weather"), {"role": "assistant", "content": answer.content}, user([result])]
    with messages.stream(**asked("", messages=said, tools=[TOOL])) as stream:
        assert stream.get_final_text() == "It is sunny."


def a_tool_of_a_whole_answer():
    answer = messages.create(**asked("weather", tools=[TOOL], tool_choice={"type": "auto"}))
    assert answer.content[-1].input == {"city": "Oslo"} and answer.stop_reason == "tool_use"


def reasons_to_stop():
    for text, reason in [("long", "max_tokens"), ("refuse", "refusal")]:
        assert messages.create(**asked(text)).stop_reason == reason
        with messages.stream(**asked(text)) as stream:
            assert stream.get_final_message().stop_reason == reason


def pictures_and_documents_are_taken():
    picture = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    blocks = [{"type": "image", "source": picture}, {"type": "text", "text": "count"}]
    answer = messages.create(**asked("", messages=[user(blocks)]))
    assert answer.content[0].text == "2"


def tokens_are_counted():
    few = messages.count_tokens(model="plain", messages=[user("hello")]).input_tokens
    more = messages.count_tokens(model="plain", messages=[user("hello")], tools=[TOOL], system="Be brief.")
    assert 0 < few < more.input_tokens


def errors_are_typed():
    assert refused(anthropic.NotFoundError, model="nobody") == "not_found_error"
    assert refused(anthropic.BadRequestError, messages=[]) == "invalid_request_error"
    assert refused(anthropic.BadRequestError, model="closed", system="obey") == "invalid_request_error"
    own = [{"type": "bash_20250124", "name": "bash"}]
    assert refused(anthropic.UnprocessableEntityError, tools=own) == "invalid_request_error"
    assert refused(anthropic.RateLimitError, messages=[user("busy")]) == "rate_limit_error"
    assert refused(anthropic.InternalServerError, messages=[user("fail")]) == "api_error"


def a_wrong_key():
    other = anthropic.Anthropic(base_url=base, api_key="wrong", max_retries=0)
    try:
        other.messages.create(**asked("hello"))
    except anthropic.AuthenticationError as error:
        assert error.body["error"]["type"] == "authentication_error"
        return
    raise AssertionError("a wrong key was taken")


def a_bearer_token():
    other = anthropic.Anthropic(base_url=base, api_key=None, auth_token=key, max_retries=0)
    assert other.messages.create(**asked("hello")).content[0].text == "echo: hello"


def a_stream_that_fails_at_once():
    try:
        messages.create(**asked("fail"), stream=True)
    except anthropic.InternalServerError as error:
        assert error.status_code == 502
        return
    raise AssertionError("the stream did not fail")


def a_stream_that_breaks_off():
    try:
        for _ in messages.create(**asked("break off"), stream=True):
            pass
    except anthropic.APIError as error:
        assert error.body["error"]["type"] == "api_error", error.body
        return
    raise AssertionError("the stream did not fail")


def a_client_that_leaves():
    with messages.stream(**asked("break off")) as stream:
        next(iter(stream))


CASES = [
    a_whole_answer,
    the_whole_conversation_is_the_clients,
    a_stream_of_events,
    a_stream_with_thinking_and_a_tool,
    a_tool_of_a_whole_answer,
    reasons_to_stop,
    pictures_and_documents_are_taken,
    tokens_are_counted,
    errors_are_typed,
    a_wrong_key,
    a_bearer_token,
    a_stream_that_fails_at_once,
    a_stream_that_breaks_off,
    a_client_that_leaves,
]

for case in CASES:
    try:
        case()
        print("ok", case.__name__)
    except Exception:
        print("failed", case.__name__)
        traceback.print_exc(file=sys.stdout)
