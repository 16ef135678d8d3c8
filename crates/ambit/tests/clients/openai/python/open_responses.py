"""What every server of Open Responses must do: one function is one case of the specification's compliance suite, by its name.

The suite itself is in no registry. `openresponses-types` has the specification's schemas, which every answer and every event is held
against; a field that may be null is never absent in them. Its two optional cases are of tools that are not offered: `file_search` is
refused, and the items of `web_search` are not sent.

Run with an API key and the base URLs of the nodes; prints `ok NAME` for each case that holds.
"""

import json
import sys
import traceback
from itertools import cycle
from typing import get_args
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from openresponses_types import types

key, *urls = sys.argv[1:]
nodes = cycle(urls)
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PAGE = "JVBERi0xLjEKJSVFT0Y="


def kinds(event):
    """The types that events of this class have: an enumeration or a literal."""
    type_of = event.model_fields["type"].annotation
    return get_args(type_of) or [kind.value for kind in type_of]


classes = [found for name, found in vars(types).items() if name.endswith("StreamingEvent")]
EVENTS = {kind: event for event in classes for kind in kinds(event)}


def post(**body):
    """Asks one node after the other."""
    data = json.dumps({"model": "helper", **body}).encode()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    try:
        with urlopen(Request(f"{next(nodes)}/responses", data, headers), timeout=60) as answer:
            return answer.headers["content-type"], answer.read().decode()
    except HTTPError as error:
        raise AssertionError(error.read().decode()) from error


def completed(answer):
    """An answer with output, by the schema."""
    answer = types.ResponseResource.model_validate_json(answer, strict=True)
    assert answer.status == "completed" and answer.output, answer
    return answer


def ask(said, **more):
    kind, answer = post(input=said, **more)
    assert kind == "application/json", kind
    return completed(answer)


def follow(said, **more):
    """The types of a stream's events, and the answer at its end."""
    kind, stream = post(input=said, stream=True, **more)
    assert kind.startswith("text/event-stream"), kind
    frames = [frame for frame in stream.split("\n\n") if frame and not frame.startswith(":")]
    assert frames.pop() == "data: [DONE]"
    told = []
    for number, frame in enumerate(frames):
        [name, data] = frame.split("\n")
        data = data.removeprefix("data: ")
        event = json.loads(data)
        EVENTS[event["type"]].model_validate_json(data, strict=True)
        assert (name, event["sequence_number"]) == (f"event: {event['type']}", number), frame
        told.append(event["type"])
    return told, completed(json.dumps(event["response"]))


def message(role, content):
    return {"type": "message", "role": role, "content": content}


def text(answer):
    return answer.output[-1].content[0].text


def call(answer):
    [made] = [item for item in answer.output if item.type == "function_call"]
    assert (made.name, json.loads(made.arguments)) == ("get_weather", {"city": "Oslo"}), made
    return made


def basic_response():
    assert text(ask([message("user", "hello")])) == "echo: hello"


def streaming_response():
    told, answer = follow([message("user", "hello")])
    assert told[:2] == ["response.created", "response.in_progress"], told
    assert "response.output_text.delta" in told and told[-1] == "response.completed", told
    assert text(answer) == "echo: hello"


def system_prompt():
    said = [message("system", "Speak like a pirate."), message("user", "show")]
    assert "Speak like a pirate." in text(ask(said))


def tool_calling():
    call(ask([message("user", "weather?")], tools=[WEATHER]))


def tool_calling_streaming():
    told, answer = follow([message("user", "weather?")], tools=[WEATHER])
    call(answer)
    for kind in ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"]:
        assert f"response.{kind}" in told, told


def function_call_roundtrip():
    chosen = {"type": "function", "name": "get_weather"}
    first = ask("weather?", tools=[WEATHER], tool_choice=chosen)
    result = {"type": "function_call_output", "call_id": call(first).call_id, "output": "sunny in Oslo"}
    assert text(ask([result], previous_response_id=first.id)) == "It is sunny in Oslo."


def image_input():
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{DOT}"}
    assert DOT in text(ask([message("user", [{"type": "input_text", "text": "show"}, picture])]))


def file_input():
    page = {"type": "input_file", "filename": "page.pdf", "file_data": f"data:application/pdf;base64,{PAGE}"}
    assert PAGE in text(ask([message("user", [{"type": "input_text", "text": "show"}, page])]))


def multi_turn():
    said = [message("user", "My name is Ann."), message("assistant", "Hello Ann!"), message("user", "show")]
    shown = text(ask(said))
    assert "My name is Ann." in shown and "Hello Ann!" in shown, shown


def previous_response_id():
    first = ask("The word is papaya.")
    shown = text(ask("show", previous_response_id=first.id))
    assert "The word is papaya." in shown, shown


CASES = [
    basic_response,
    streaming_response,
    system_prompt,
    tool_calling,
    tool_calling_streaming,
    function_call_roundtrip,
    image_input,
    file_input,
    multi_turn,
    previous_response_id,
]

for case in CASES:
    try:
        case()
        print("ok", case.__name__)
    except Exception:
        print("failed", case.__name__, traceback.format_exc())
