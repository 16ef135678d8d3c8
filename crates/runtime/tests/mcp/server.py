"""A tool server of nothing but the standard library, which does well or badly as it is told.

`server.py stdio|http|sse`. It tells what it does, a line each, to the test that listens on `WITNESS`.
"""

import http.server
import json
import os
import queue
import socket
import sys
import threading
import time

NEWEST, BEFORE = "2026-07-28", "2025-11-25"
SPEAKS = os.environ.get("SPEAKS", BEFORE)
FAULTS = os.environ.get("FAULTS", "").split()

witness = None
telling = threading.Lock()
extra = []


def tell(*words):
    if witness:
        with telling:
            witness.sendall((" ".join(str(word) for word in words) + "\n").encode())


def schema(**properties):
    return {"type": "object", "properties": properties}


TOOLS = {
    "echo": ("gives back what it gets", {**schema(text={"type": "string"}), "required": ["text"]}),
    "add": ("adds", {**schema(a={"type": "number"}, b={"type": "number", "default": 10}), "required": ["a"]}),
    "fail": ("fails", schema()),
    "die": ("ends the server in the middle", schema()),
    "last": ("answers and ends the server", schema()),
    "hang": ("never answers", schema()),
    "big": ("answers at length", schema(bytes={"type": "integer"}, trailing={"type": "boolean"})),
    "environment": ("shows its environment", schema()),
    "change": ("changes the list of tools", schema()),
    "babble": ("writes what is no message", schema()),
    "wrong": ("answers with something else", schema()),
    "picture": ("gives a picture", schema()),
    "child": ("starts a process of its own that outlives it", schema()),
    "headers": ("shows the headers of the request", schema()),
    "walk": ("tells each step, and never answers", schema(steps={"type": "integer"})),
}

RESOURCES = [
    {"uri": "test://one", "name": "one", "description": "first", "mimeType": "text/plain", "_meta": {"k": 1}},
    {"uri": "test://two", "name": "two"},
]


class Gone(Exception):
    pass


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def call(name, arguments, output, headers):
    if name not in TOOLS and name not in extra:
        raise KeyError(f"unknown tool {name}")
    if name == "echo":
        return text(arguments["text"])
    if name == "add":
        total = arguments["a"] + arguments["b"]
        return {**text(json.dumps({"total": total})), "structuredContent": {"total": total}}
    if name == "fail":
        return {**text("it does not work"), "isError": True}
    if name == "die":
        os._exit(3)
    if name == "last":
        return text("bye")
    if name == "hang":
        tell("hangs")
        threading.Event().wait()
    if name == "big":
        return text("x" * arguments["bytes"])
    if name == "environment":
        return text(json.dumps(dict(os.environ)))
    if name == "change" and "takes" in arguments:
        TOOLS.pop(arguments["takes"])
        return text("changed")
    if name == "change":
        extra.append("new")
        if output:
            output({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("changed")
    if name == "babble":
        for line in ["no json", "{\"jsonrpc\":", "[1, 2]", "{}", "7", "\x00\x01", ""]:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
        return text("still here")
    if name == "picture":
        return {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}
    if name == "child":
        there, here = os.pipe()
        if os.fork() == 0:
            witness.sendall(b"child\n")
            os.write(here, b".")
            threading.Event().wait()
        os.read(there, 1)
        os._exit(0)
    if name == "headers":
        return text(json.dumps(headers))
    if name in extra:
        return text("it is new")
    if name == "wrong":
        return wrong(arguments.get("how"))
    raise KeyError(f"unknown tool {name}")


def walk(params, output):
    """Tells how far it has come, and does not come to its end."""
    token, steps = params["_meta"]["progressToken"], params["arguments"]["steps"]
    for step in range(1, steps + 1):
        told = {"progressToken": token, "progress": step, "total": steps, "message": f"step {step}"}
        output({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
    tell("hangs")
    threading.Event().wait()


def wrong(how):
    """A result whose message is no strict JSON; that of something else is not seen."""
    if how == "surrogate":
        return text("half of a picture: \ud83d")
    if how == "deep":
        nested = []
        for _ in range(200):
            nested = [nested]
        return {**text("deep"), "structuredContent": {"nested": nested}}
    return text("BYTES" if how == "bytes" else "not seen")


def written(message):
    """A message as bytes."""
    return json.dumps(message).encode().replace(b"BYTES", b"\xff\xfe")


def tools():
    listed = [{"name": name, "description": what, "inputSchema": takes} for name, (what, takes) in TOOLS.items()]
    listed[1]["outputSchema"] = {**schema(total={"type": "integer"}), "required": ["total"]}
    return listed + [{"name": name, "inputSchema": schema()} for name in extra]


def paged(params, listed, key):
    start = int(params.get("cursor") or 0)
    if "endless" in FAULTS:
        return {key: [], "nextCursor": str(start + 1)}
    if "repeating" in FAULTS:
        return {key: [], "nextCursor": "7"}
    if "heavy" in FAULTS:
        return {key: [{**listed[0], "description": "x" * (3 << 20)}], "nextCursor": str(start + 1)}
    page = {key: listed[start : start + 5]}
    if start + 5 < len(listed):
        page["nextCursor"] = str(start + 5)
    return page


def itself():
    return {
        "capabilities": {"tools": {"listChanged": True}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "test", "version": "1"},
    }


def answer(method, params, output=None, headers=None):
    """The result of a request; None where there is none."""
    if method == "server/discover" and SPEAKS == NEWEST:
        return {**itself(), "supportedVersions": [NEWEST], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if method == "initialize" and SPEAKS != NEWEST:
        return {**itself(), "protocolVersion": SPEAKS}
    if method == "ping":
        return {}
    if method == "tools/list":
        if "hung-list" in FAULTS:
            threading.Event().wait()
        if "slow-list" in FAULTS and not params.get("cursor"):
            time.sleep(1.5)
        return paged(params, tools(), "tools")
    if method == "resources/list":
        return paged(params, RESOURCES, "resources")
    if method == "prompts/list":
        listed = [{"name": "greet", "description": "a greeting", "arguments": [{"name": "who", "required": True}]}]
        return {"prompts": listed}
    if method == "resources/read":
        uri = params["uri"]
        if uri == "test://hang":
            tell("hangs")
            threading.Event().wait()
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"content of {uri}"}]}
    if method == "prompts/get":
        if params["arguments"]["who"] == "hang":
            tell("hangs")
            threading.Event().wait()
        words = f"Greet {params['arguments']['who']}."
        return {"description": "a greeting", "messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    if method == "tools/call":
        tell("call", params["name"])
        if params["name"] == "walk":
            walk(params, output)
        return call(params["name"], params.get("arguments") or {}, output, headers)
    raise KeyError(f"unknown method {method}")


def respond(message, output=None, headers=None):
    """The answer to a message, or None."""
    method, number = message.get("method"), message.get("id")
    tell(method)
    if number is None:
        if method == "notifications/cancelled":
            tell("cancelled", message["params"]["requestId"])
        return None
    if "old-fashioned" in FAULTS and method == "server/discover":
        os._exit(9)
    try:
        params = message.get("params") or {}
        result = answer(method, params, output, headers)
        if SPEAKS == NEWEST:
            result = {"resultType": "complete", **result}
        if method == "tools/call" and params["name"] == "wrong" and "not seen" in str(result):
            return {"jsonrpc": "2.0", "id": number, "outcome": "?"}
        if method == "tools/call" and (params.get("arguments") or {}).get("trailing"):
            return {"result": result, "jsonrpc": "2.0", "id": number}
        return {"jsonrpc": "2.0", "id": number, "result": result}
    except KeyError as error:
        code = -32601 if "method" in error.args[0] else -32602
        return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": error.args[0]}}


def stdio():
    writing = threading.Lock()

    def output(message):
        with writing:
            sys.stdout.buffer.write(written(message) + b"\n")
            sys.stdout.buffer.flush()

    def work(message):
        if message.get("method") == "subscriptions/listen":
            number = message["id"]
            meta = {"io.modelcontextprotocol/subscriptionId": number}
            accepted = message["params"]["notifications"]
            output({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                    "params": {"notifications": accepted, "_meta": meta}})
            tell("subscriptions/listen")
            listening.append(meta)
            return
        answered = respond(message, changes)
        if answered:
            output(answered)
        if message.get("method") == "tools/call" and message["params"]["name"] == "last":
            os._exit(0)

    listening = []

    def changes(message):
        for meta in listening:
            message = {**message, "params": {"_meta": meta}}
        output(message)

    if "noisy" in FAULTS:
        print("Welcome to the test server!\n\n* ready *")
    if "tattles" in FAULTS:
        sys.exit("the secret is " + os.environ["SECRET"])
    if "dies" in FAULTS:
        sys.exit("no licence")
    if "mute" in FAULTS:
        threading.Event().wait()
    for line in sys.stdin:
        threading.Thread(target=work, args=(json.loads(line),), daemon=True).start()
    if "stubborn" in FAULTS:
        tell("stays")
        threading.Event().wait()
    tell("leaves")


class Web(http.server.BaseHTTPRequestHandler):
    """Streamable HTTP on `/mcp`, the older transport on `/sse`."""

    protocol_version = "HTTP/1.1"
    sessions = {}

    def log_message(self, *_):
        pass

    def finish_with(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        message = json.loads(self.rfile.read(length))
        needed = os.environ.get("TOKEN")
        if needed and self.headers.get("Authorization") != needed:
            return self.finish_with(401, headers=[("WWW-Authenticate", "Bearer")])
        if self.path == "/elsewhere":
            return self.finish_with(307, headers=[("Location", os.environ["ELSEWHERE"])])
        shown = {name.lower(): value for name, value in self.headers.items()}
        if self.path.startswith("/message/"):
            events = self.sessions.get(self.path)
            if "deaf" in FAULTS and message.get("method") == "tools/call":
                self.rfile.read(1)
                return tell("left")
            self.finish_with(202)
            # Another message may come over this connection before this one is answered.
            work = lambda: events.put(respond(message, events.put, shown))
            threading.Thread(target=work, daemon=True).start()
            return None
        if "plain-404" in FAULTS and message.get("method") == "server/discover":
            return self.finish_with(404, b"not here")
        session = self.headers.get("Mcp-Session-Id")
        if session and session not in self.sessions:
            return self.finish_with(404)
        answered = respond(message, None, shown)
        if answered is None:
            return self.finish_with(202)
        headers = [("Content-Type", "application/json")]
        if message["method"] == "initialize":
            session = f"session-{time.monotonic_ns()}"
            self.sessions[session] = None
            headers.append(("Mcp-Session-Id", session))
            tell("session")
        if message["method"] == "tools/call" and message["params"]["name"] == "last":
            self.sessions.clear()
        if "events" in FAULTS and message["method"] == "tools/call":
            event = b"event: message\ndata: " + written(answered) + b"\n\n"
            return self.finish_with(200, event, [("Content-Type", "text/event-stream")])
        return self.finish_with(200, written(answered), headers)

    def do_DELETE(self):
        self.finish_with(200)

    def do_GET(self):
        if self.path != "/sse":
            return self.finish_with(405)
        tell("opens")
        to = f"/message/{time.monotonic_ns()}"
        events = self.sessions.setdefault(to, queue.Queue())
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        endpoint = os.environ.get("ENDPOINT", to)
        self.wfile.write(f"event: endpoint\ndata: {endpoint}\n\n".encode())
        self.wfile.flush()
        while True:
            message = events.get()
            if message is None:
                continue
            self.wfile.write(b"event: message\ndata: " + written(message) + b"\n\n")
            self.wfile.flush()
        return None


def web():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 0))), Web)
    tell("port", server.server_address[1])
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    if "WITNESS" in os.environ:
        witness = socket.create_connection(("127.0.0.1", int(os.environ["WITNESS"])))
        tell("begins", os.getpid())
    stdio() if sys.argv[1] == "stdio" else web()
