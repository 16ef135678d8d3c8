"""The official `mcp` package for Python against a running server: one function is one case, run in each era.

Run with an API key and the base URLs of the nodes; prints `ok NAME` for each case that holds.
"""

import asyncio
import sys
import traceback
from typing import Literal

import httpx2
import mcp_types as types
from in_turn import in_turn
from mcp import Client, MCPError
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    handle_protected_resource_response,
)
from mcp.client.extension import ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client

key, *bases = sys.argv[1:]
url = f"{bases[0]}/mcp"
send_on = in_turn(bases)
TASKS = "io.modelcontextprotocol/tasks"


async def to_the_next(request):
    send_on(request)


def http():
    return httpx2.AsyncClient(
        headers={"authorization": f"Bearer {key}"},
        timeout=60,
        event_hooks={"request": [to_the_next]},
    )


def connected(mode, **options):
    return Client(streamable_http_client(url, http_client=http()), mode=mode, **options)


async def a_version(client, mode):
    expected = {"auto": "2026-07-28", "legacy": "2025-11-25"}
    assert client.protocol_version == expected[mode], client.protocol_version
    assert client.server_info.name == "ambit"
    assert client.instructions == "Ask plain."


async def a_list_of_tools(client, mode):
    listed = await client.list_tools()
    names = [tool.name for tool in listed.tools]
    assert names == sorted(names) and "agent_plain" in names and "memory_get" in names
    plain = next(tool for tool in listed.tools if tool.name == "agent_plain")
    assert (plain.title, plain.description) == ("Plain", "Answers.")
    assert plain.input_schema["required"] == ["message"]


async def a_call(client, mode):
    result = await client.call_tool("agent_plain", {"message": "hi"})
    assert not result.is_error
    answer = result.structured_content
    assert (answer["text"], answer["status"]) == ("echo: hi", "completed")
    again = {"message": "you", "chat_id": answer["chat_id"]}
    result = await client.call_tool("agent_plain", again)
    assert result.structured_content["text"] == "echo: you"
    await client.call_tool("memory_set", {"space": "user", "key": "k", "value": [1]})
    result = await client.call_tool("memory_get", {"space": "user", "key": "k"})
    assert result.structured_content == {"value": [1]}


async def a_failed_call(client, mode):
    result = await client.call_tool("agent_plain", {"message": "fail"})
    assert result.is_error and result.structured_content["error"]["code"] == "llm_error"
    try:
        await client.call_tool("agent_nobody", {})
    except MCPError as error:
        assert error.code == -32602
    else:
        raise AssertionError("an unknown tool was called")


async def progress(client, mode):
    told = []

    async def progress(progress, total, message):
        told.append(progress)

    result = await client.call_tool(
        "agent_plain", {"message": "slow"}, progress_callback=progress
    )
    assert result.structured_content["text"] == "one two three four five six"
    assert told == [1, 2, 3], told


async def a_cancelled_call(client, mode):
    chat = f"forever-{mode}"
    arguments = {"message": "forever", "chat_id": chat}
    call = asyncio.create_task(client.call_tool("agent_plain", arguments))
    async with http() as other:
        while True:
            busy = await client.call_tool("chat_list", {"limit": 1})
            listed = busy.structured_content["data"]
            if listed and listed[0]["chat_id"] == chat:
                break
        call.cancel()
        try:
            await call
        except asyncio.CancelledError:
            pass
        base = url.removesuffix("/mcp")
        body = {"messages": [{"role": "user", "content": "hi"}], "chat_id": chat}
        path = f"{base}/agents/plain/chat/completions"
        # It waits for the call's turn, which would take minutes.
        answer = await other.post(path, json={**body, "on_busy": "queue"})
        assert answer.status_code == 200, answer.text


async def a_resource(client, mode):
    await client.call_tool("agent_plain", {"message": "hi", "chat_id": "read-me"})
    listed = await client.list_resources()
    assert listed.resources[0].uri == "ambit://chats/read%2Dme", listed.resources[0]
    read = await client.read_resource(listed.resources[0].uri)
    assert read.contents[0].text.startswith("## user\n\nhi\n\n## assistant\n\n")
    assert read.contents[0].mime_type == "text/markdown"
    templates = await client.list_resource_templates()
    template = templates.resource_templates[0]
    assert template.uri_template == "ambit://chats/{chat_id}"


class CreatedTask(types.Result):
    result_type: Literal["task"] = "task"
    task_id: str
    poll_interval_ms: int


class TaskState(types.Result):
    status: str
    result: types.CallToolResult | None = None


class TaskParams(types.RequestParams):
    task_id: str


class TaskRequest(types.Request[TaskParams, Literal["tasks/get"]]):
    name_param = "taskId"
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams


async def followed(task, context):
    while True:
        request = TaskRequest(params=TaskParams(task_id=task.task_id))
        state = await context.session.send_request(request, TaskState)
        if state.status == "completed":
            return state.result
        assert state.status == "working", state
        await asyncio.sleep(task.poll_interval_ms / 1000)


class Tasks(ClientExtension):
    identifier = TASKS
    followed = 0

    def claims(self):
        async def resolve(task, context):
            self.followed += 1
            return await followed(task, context)

        return [ResultClaim(result_type="task", model=CreatedTask, resolve=resolve)]


async def a_task():
    tasks = Tasks()
    async with connected("auto", extensions=[tasks]) as client:
        result = await client.call_tool("agent_plain", {"message": "slow"})
        assert result.structured_content["text"] == "one two three four five six"
        assert tasks.followed == 1


async def no_credentials():
    async with httpx2.AsyncClient(timeout=60) as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        refused = await client.post(url, json=body)
        assert refused.status_code == 401
        assert extract_scope_from_www_auth(refused) == "mcp:use:own"
        metadata = extract_resource_metadata_from_www_auth(refused)
        found = await handle_protected_resource_response(await client.get(metadata))
        assert str(found.resource) == url, found
        assert str(found.authorization_servers[0]).rstrip("/") == "https://id.example"
        assert "mcp:use:own" in found.scopes_supported


CASES = [
    a_version,
    a_list_of_tools,
    a_call,
    a_failed_call,
    progress,
    a_cancelled_call,
    a_resource,
]


async def main():
    failed = False

    async def run(name, case):
        nonlocal failed
        try:
            await case
            print("ok", name)
        except Exception:
            failed = True
            print("failed", name, file=sys.stderr)
            traceback.print_exc()

    for mode in ["auto", "legacy"]:
        for case in CASES:
            async with connected(mode) as client:
                await run(f"{case.__name__} ({mode})", case(client, mode))
    await run("a_task", a_task())
    await run("no_credentials", no_credentials())
    sys.exit(failed)


asyncio.run(main())
