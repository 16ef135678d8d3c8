"""The server `echo` of the context reference over stdio: JSON-RPC, a message a line. It needs nothing but Python."""

import json
import sys

INFO = {"uri": "echo://info", "name": "info", "description": "About this server", "mimeType": "application/json"}
TOOLS = [
    {
        "name": "ping",
        "description": "Answers as often as it is asked to",
        "inputSchema": {"type": "object", "properties": {"count": {"type": "integer", "default": 1}}},
    },
    {
        "name": "status",
        "description": "How the server is",
        "inputSchema": {"type": "object", "properties": {"verbose": {"type": "boolean", "default": False}}},
    },
]
PROMPT = {
    "name": "test_connection",
    "description": "Asks a model to test the connection",
    "arguments": [{"name": "detailed", "description": "Whether to report at length", "required": False}],
}


def call(name, arguments):
    if name == "ping":
        return {"content": [{"type": "text", "text": " ".join(["pong"] * arguments.get("count", 1))}]}
    status = {"status": "online"}
    if arguments.get("verbose"):
        status["tools"] = [tool["name"] for tool in TOOLS]
    return {"content": [{"type": "text", "text": json.dumps(status)}], "structuredContent": status}


def prompt(arguments):
    detail = "Report at length." if arguments.get("detailed") == "true" else "Report in one line."
    text = f"Test the connection to the echo server. {detail}"
    return {"description": PROMPT["description"], "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def answer(method, params):
    if method == "initialize":
        capabilities = {"tools": {}, "resources": {}, "prompts": {}}
        info = {"name": "echo", "version": "1.0.0"}
        return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    if method == "resources/list":
        return {"resources": [INFO]}
    if method == "resources/read":
        return {"contents": [{**INFO, "text": json.dumps({"server": "echo", "version": "1.0.0"})}]}
    if method == "prompts/list":
        return {"prompts": [PROMPT]}
    if method == "prompts/get":
        return prompt(params.get("arguments", {}))
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    error = {"code": -32601, "message": f"unknown: {message['method']}"}
    known = {"error": error} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **known}), flush=True)
