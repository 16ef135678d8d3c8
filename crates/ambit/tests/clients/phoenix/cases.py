"""A turn that is broken off and taken up, as Phoenix shows it.

`begin SERVER` asks, and prints the turn's id when its answer has begun. `check SERVER PHOENIX REQUEST` waits for the turn's end at another
node, asks again in the same chat, and prints what Phoenix has right.
"""

import json
import sys
import time
import urllib.request

CHAT = "chat-1"


def get(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def ask(server, text, streams=False):
    body = {"model": "desk", "chat_id": CHAT, "on_busy": "queue", "stream": streams}
    body["messages"] = [{"role": "user", "content": text}]
    headers = {"content-type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(f"{server}/chat/completions", json.dumps(body).encode(), headers))


def begin(server):
    answer = ask(server, "slowly", streams=True)
    next(line for line in answer if b'"content":"1 ' in line)
    print(answer.headers["x-ambit-request"], flush=True)


def listed(phoenix, what):
    return get(f"{phoenix}/v1/projects/default/{what}")["data"]


def shown(phoenix, count):
    """So many spans, once Phoenix has them."""
    last = time.monotonic() + 120
    while len(spans := listed(phoenix, "spans?limit=1000")) < count:
        assert time.monotonic() < last, f"{len(spans)} of {count} spans have come: {spans}"
        time.sleep(0.1)
    return spans


def check(server, phoenix, request):
    # Ends with the turn, on whatever node.
    urllib.request.urlopen(f"{server}/chat/requests/{request}/stream").read()
    ask(server, "quickly").read()
    turns = {turn["request_id"]: turn for turn in get(f"{server}/chat/requests")["items"]}
    assert len(turns) == 2 and turns[request]["status"] == "completed", turns
    nodes = {turn: get(f"{server}/trace/traces/{turn}/nodes")["total"] for turn in turns}
    spans = shown(phoenix, sum(nodes.values()))

    [session] = listed(phoenix, "sessions")
    assert session["session_id"] == CHAT, session
    tokens = [sum(turn["usage"][name] for turn in turns.values()) for name in ("prompt_tokens", "completion_tokens")]
    assert [session["token_count_prompt"], session["token_count_completion"]] == tokens, (session, tokens)
    print("ok one session has the tokens of both turns")

    traces = {}
    for span in spans:
        traces.setdefault(span["attributes"]["ambit.request_id"], []).append(span)
    assert traces.keys() == turns.keys(), traces.keys()
    for turn, of_turn in traces.items():
        assert len(of_turn) == nodes[turn], of_turn
        assert len({span["context"]["trace_id"] for span in of_turn}) == 1, of_turn
        usage = turns[turn]["usage"]
        models = [span["attributes"] for span in of_turn if span["span_kind"] == "LLM"]
        for name, kind in [("prompt_tokens", "prompt"), ("completion_tokens", "completion")]:
            assert sum(model.get(f"llm.token_count.{kind}", 0) for model in models) == usage[name], (models, usage)
    print("ok each turn is one trace whose tokens add up")

    assert tree(traces[request]) == [
        ("AGENT", "invoke_agent Desk", [
            ("LLM", "chat desk-1", []),
            ("TOOL", "execute_tool count", []),
            ("LLM", "chat desk-1", []),
            ("LLM", "chat desk-1", []),
            ("UNKNOWN", "ambit.hook desk Next", []),
            ("AGENT", "invoke_agent Closer", [("LLM", "chat closer-1", [])]),
        ]),
    ], tree(traces[request])
    broken_off = [span["status_code"] for span in in_order(traces[request]) if span["name"] == "chat desk-1"]
    assert broken_off == ["UNSET", "ERROR", "UNSET"], broken_off
    print("ok the turn that was taken up is one tree, with what its first node has done")


def in_order(spans):
    return sorted(spans, key=lambda span: (span["start_time"], span["end_time"]))


def tree(spans, parent=None):
    below = [span for span in in_order(spans) if span["parent_id"] == parent]
    return [(span["span_kind"], span["name"], tree(spans, span["context"]["span_id"])) for span in below]


if __name__ == "__main__":
    {"begin": begin, "check": check}[sys.argv[1]](*sys.argv[2:])
