"""A whole story with the client that `openapi-python-client` makes of the server's document: from signing in to leaving nothing.

Run with the server's address and an API key; prints `ok story` at the end.
"""

import sys

from ambit_client import AuthenticatedClient
from ambit_client.api.agents import list_models
from ambit_client.api.chat import complete
from ambit_client.api.chats import list_chat_messages, list_chats, remove_chat, show_chat
from ambit_client.api.memory import delete_own_value, get_own_value, put_own_value
from ambit_client.api.session import show_session
from ambit_client.api.traces import list_nodes, list_traces
from ambit_client.api.usage import sum_usage
from ambit_client.models import ChatCompletionBody, Completion, ErrorBody, NewValue, StepFactsModel

address, key = sys.argv[1:]


def client_of(token):
    return AuthenticatedClient(address, token=token, raise_on_unexpected_status=True)


client = client_of(key)
assert show_session.sync(client=client).user_id == "ann"
refused = show_session.sync_detailed(client=client_of("nobody"))
assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
assert refused.parsed.error.code == "unauthenticated"
assert [model.id for model in list_models.sync(client=client).data] == ["plain"]

said = {"role": "user", "content": "hello"}
body = ChatCompletionBody.from_dict({"model": "plain", "chat_id": "story", "messages": [said]})
asked = complete.sync_detailed(client=client, body=body)
answer = asked.parsed
assert isinstance(answer, Completion), answer
assert answer.choices[0].message.content == "echo: hello"
assert answer.usage.total_tokens == 12
assert answer.ambit.chat_id == asked.headers["x-ambit-chat"] == "story"
request_id = answer.ambit.request_id

chats = list_chats.sync(client=client)
assert [chat.chat_id for chat in chats.data] == ["story"] and chats.total == 1
messages = list_chat_messages.sync("story", client=client).items
assert [message.role for message in messages] == ["user", "assistant"]
assert messages[1].props["content"] == "echo: hello"

traces = list_traces.sync(client=client, request_id=request_id).data
assert [trace.status for trace in traces] == ["completed"]
nodes = list_nodes.sync(traces[0].trace_id, client=client).data
facts = [node.facts for node in nodes if isinstance(node.facts, StepFactsModel)]
assert [fact.model for fact in facts] == ["scripted-1"], nodes

value = NewValue(value={"likes": "tea"}, ttl="5m")
kept = put_own_value.sync_detailed("user", "taste", client=client, body=value)
found = get_own_value.sync("user", "taste", client=client)
assert found.value == {"likes": "tea"} and kept.headers["etag"] == f'"{found.version}"'
late = NewValue(value={"likes": "coffee"}, expect=found.version + 1)
late = put_own_value.sync("user", "taste", client=client, body=late)
assert isinstance(late, ErrorBody) and late.error.code == "conflict"

assert sum_usage.sync(client=client, agent="plain").total.total_tokens == 12
grouped = sum_usage.sync(client=client, group_by="model").items
assert [(group.value, group.total_tokens) for group in grouped] == [("scripted-1", 12)]

assert delete_own_value.sync_detailed("user", "taste", client=client).status_code == 204
assert isinstance(get_own_value.sync("user", "taste", client=client), ErrorBody)
assert remove_chat.sync_detailed("story", client=client).status_code == 204
gone = show_chat.sync(client=client, chat_id="story")
assert isinstance(gone, ErrorBody) and gone.error.code == "not_found"
print("ok story")
