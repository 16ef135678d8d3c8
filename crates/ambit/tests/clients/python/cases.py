"""The official `openai` package for Python against a running server: one function is one case.

Run with an API key and the base URLs of the nodes; prints `ok NAME` for each case that holds.
"""

import sys
import traceback

import openai
from in_turn import in_turn

key, *urls = sys.argv[1:]
nodes = openai.DefaultHttpxClient(event_hooks={"request": [in_turn(urls)]})
client = openai.OpenAI(base_url=urls[0], api_key=key, max_retries=0, timeout=60, http_client=nodes)
completions = client.chat.completions
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def user(text):
    return [{"role": "user", "content": text}]


def refused(kind, **arguments):
    try:
        completions.create(**{"model": "plain", "messages": user("hello"), **arguments})
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def turn(request_id):
    return client.get(f"/chat/requests/{request_id}", cast_to=object)


def end_of(request_id):
    """Waits for the end of a turn by reading its stream."""
    client.get(f"/chat/requests/{request_id}/stream", cast_to=str)
    return turn(request_id)


def a_whole_answer():
    answer = completions.create(model="plain", messages=user("hello"))
    assert answer.object == "chat.completion" and answer.model == "plain"
    assert answer.choices[0].message.content == "echo: hello"
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == 12
    assert answer.id == f"chatcmpl-{answer.ambit['request_id']}"


def a_streamed_answer():
    stream = completions.create(
        model="plain",
        messages=user("hello"),
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "echo: hello"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens == 12


def streamed_through_the_helper():
    with completions.stream(model="plain", messages=user("hello")) as stream:
        kinds = [event.type for event in stream]
        answer = stream.get_final_completion()
    assert "content.delta" in kinds and "content.done" in kinds
    assert answer.choices[0].message.content == "echo: hello"


def reasoning_beside_the_answer():
    message = completions.create(model="plain", messages=user("think")).choices[0].message
    assert message.reasoning_content == "Let me think."
    assert message.content == "I thought about it."


def a_tool_of_the_client():
    messages = user("what is the weather?")
    call = {"model": "plain", "tools": [TOOL], "extra_body": {"chat_id": "py-tools"}}
    with completions.stream(messages=messages, **call) as stream:
        for _ in stream:
            pass
        choice = stream.get_final_completion().choices[0]
    assert choice.finish_reason == "tool_calls"
    (made,) = choice.message.tool_calls
    assert made.function.name == "get_weather"
    assert made.function.arguments == '{"city":"Oslo"}'
    result = {"role": "tool", "tool_call_id": made.id, "content": "sunny"}
    history = [*messages, choice.message.model_dump(exclude_none=True), result]
    answer = completions.create(messages=history, **call)
    assert answer.choices[0].message.content == "It is sunny."
    assert answer.choices[0].finish_reason == "stop"


def the_models_are_the_agents():
    assert [model.id for model in client.models.list()] == ["plain"]
    assert client.models.retrieve("plain").id == "plain"


def wrong_requests_are_refused():
    error = refused(openai.BadRequestError, n=2)
    assert error.status_code == 400 and error.code == "invalid_argument" and error.param == "n"
    error = refused(openai.BadRequestError, messages=[{"role": "system", "content": "obey"}])
    assert error.param == "messages[0].role"
    error = refused(openai.NotFoundError, model="nobody")
    assert error.status_code == 404 and error.code == "not_found"


def a_wrong_key_is_refused():
    stranger = client.with_options(api_key="ambit_wrong")
    try:
        stranger.chat.completions.create(model="plain", messages=user("hello"))
    except openai.AuthenticationError as error:
        assert error.status_code == 401 and error.code == "unauthenticated"
    else:
        raise AssertionError("nobody noticed")


def a_busy_chat_is_refused():
    chat = {"chat_id": "py-busy"}
    stream = completions.create(
        model="plain", messages=user("forever"), stream=True, extra_body=chat
    )
    running = stream.response.headers["x-ambit-request"]
    error = refused(openai.ConflictError, extra_body=chat)
    assert error.status_code == 409 and error.code == "chat_busy"
    client.post(f"/chat/requests/{running}/cancel", cast_to=object)
    list(stream)


def a_failed_model_is_told():
    error = refused(openai.InternalServerError, messages=user("fail"))
    assert error.status_code == 502 and error.code == "llm_error"
    stream = completions.create(model="plain", messages=user("break off"), stream=True)
    text = ""
    try:
        for chunk in stream:
            text += chunk.choices[0].delta.content or ""
    except openai.APIError as error:
        assert error.code == "llm_error"
        assert text.startswith("one")
    else:
        raise AssertionError("the stream ended as if nothing had happened")


def leaving_does_not_stop_a_turn():
    stream = completions.create(model="plain", messages=user("slow"), stream=True)
    request_id = stream.response.headers["x-ambit-request"]
    next(iter(stream))
    stream.close()
    ended = end_of(request_id)
    assert ended["status"] == "completed"
    said = ended["response"]["completion"]["content"]
    assert said == "one two three four five six seven eight nine ten"


def cancelling_stops_a_turn():
    stream = completions.create(model="plain", messages=user("forever"), stream=True)
    request_id = stream.response.headers["x-ambit-request"]
    client.post(f"/chat/requests/{request_id}/cancel", cast_to=object)
    assert list(stream)[-1].choices[0].finish_reason == "stop"
    assert turn(request_id)["status"] == "cancelled"


def a_repeated_request_is_one_turn():
    again = {"extra_headers": {"Idempotency-Key": "py-once"}, "extra_body": {"chat_id": "py-once"}}
    answers = [
        completions.create(model="plain", messages=user("hello"), **again) for _ in range(2)
    ]
    assert answers[0].id == answers[1].id
    assert answers[0].choices[0].message.content == answers[1].choices[0].message.content
    refused(openai.ConflictError, messages=user("something else"), **again)
    count = completions.create(
        model="plain", messages=user("count"), extra_body={"chat_id": "py-once"}
    )
    assert count.choices[0].message.content == "4", count.choices[0].message.content


def a_retry_after_a_time_out_joins_the_turn():
    patient = client.with_options(timeout=0.8, max_retries=8)
    answer = patient.chat.completions.create(
        model="plain",
        messages=user("slow"),
        extra_headers={"Idempotency-Key": "py-retry"},
        extra_body={"chat_id": "py-retry"},
    )
    assert answer.choices[0].message.content.endswith("ten")
    count = completions.create(
        model="plain", messages=user("count"), extra_body={"chat_id": "py-retry"}
    )
    assert count.choices[0].message.content == "4", count.choices[0].message.content


CASES = [
    a_whole_answer,
    a_streamed_answer,
    streamed_through_the_helper,
    reasoning_beside_the_answer,
    a_tool_of_the_client,
    the_models_are_the_agents,
    wrong_requests_are_refused,
    a_wrong_key_is_refused,
    a_busy_chat_is_refused,
    a_failed_model_is_told,
    leaving_does_not_stop_a_turn,
    cancelling_stops_a_turn,
    a_repeated_request_is_one_turn,
    a_retry_after_a_time_out_joins_the_turn,
]

for case in CASES:
    try:
        case()
        print("ok", case.__name__)
    except Exception:
        print("failed", case.__name__)
        traceback.print_exc(file=sys.stdout)
