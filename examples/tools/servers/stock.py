"""The stock of a shop as an MCP server over stdio: JSON-RPC, a message a line. It needs nothing but Python."""

import json
import sys

# Item: how many there are, and the price of one.
STOCK = {"lamp": (12, 34.5), "chair": (3, 80.0), "clock": (0, 19.9)}


def look_up(item):
    if item not in STOCK:
        raise LookupError(f"there is no {item} here, only: {', '.join(STOCK)}")
    return STOCK[item]


def find(item):
    count, price = look_up(item)
    return {"item": item, "count": count, "price": price}


def total(items):
    return {"total": sum(look_up(line["item"])[1] * line["quantity"] for line in items)}


def schema(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


ITEM = {"type": "string", "description": "The item's name, in the singular"}
LINE = schema(item=ITEM, quantity={"type": "integer", "minimum": 1})

TOOLS = {
    "find": (find, "How many of an item are in stock, and what one costs", schema(item=ITEM)),
    "total": (total, "What several items cost together", schema(items={"type": "array", "items": LINE})),
}


def call(name, arguments):
    try:
        found = TOOLS[name][0](**arguments)
    except LookupError as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    return {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}


def answer(method, params):
    if method == "initialize":
        info = {"name": "stock", "version": "1.0.0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        listed = TOOLS.items()
        return {"tools": [{"name": name, "description": it[1], "inputSchema": it[2]} for name, it in listed]}
    if method == "tools/call" and params["name"] in TOOLS:
        return call(params["name"], params.get("arguments", {}))
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    error = {"code": -32601, "message": f"unknown: {message['method']}"}
    known = {"error": error} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **known}), flush=True)
