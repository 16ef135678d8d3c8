"""A tool server over stdio whose tool leaves a line in the file `marks`."""

import json
import sys

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def mark(text):
    with open("marks", "a") as marks:
        marks.write(f"marked {text}\n")
    return {"content": [{"type": "text", "text": f"marked {text}"}]}


def answer(method, params):
    if method == "initialize":
        info = {"name": "slips", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": "mark", "inputSchema": SCHEMA}]}
    return mark(**params["arguments"]) if method == "tools/call" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params"))
        known = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **known}), flush=True)
