"""A tool server over stdio with one tool: JSON-RPC, a message a line."""

import json
import sys

TOOL = {
    "name": "ping",
    "description": "Answers as often as it is asked to",
    "inputSchema": {"type": "object", "properties": {"count": {"type": "integer", "default": 1}}},
}


def answer(method, params):
    if method == "initialize":
        info = {"name": "echo", "version": "1.0.0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = " ".join(["pong"] * params.get("arguments", {}).get("count", 1))
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
