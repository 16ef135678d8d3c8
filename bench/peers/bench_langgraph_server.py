"""W8 on LangGraph's server as it runs without an account: `langgraph dev`, whose store is in memory. A graph of one node that
answers at once, with one before and one behind, its stream read to the end. The server that keeps its threads in PostgreSQL wants a licence key.
usage: bench_langgraph_server.py memory"""
import asyncio, os, socket, subprocess, sys, uuid
from importlib.metadata import version
from common import *
kind = sys.argv[1]
P = "LangGraph server " + version("langgraph-api")
if want("W15"): emit(P, kind, "W15 token, p50 and p99", 0, None, "n/a", "not written: its graph here calls no model that sends tokens one by one")
if not want("W8"): sys.exit(0)
JOBS = 16  # graphs at once; the default is one
SECONDS = 5  # for each number of clients: its queue is looked at twice a second, so that a turn waits that long
GRAPH = '''
from typing import Annotated
from typing_extensions import TypedDict
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
class St(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    n: int
def node(s):
    return {"messages": [AIMessage("%s")], "n": s.get("n", 0) + 1}
def before(s): return {"n": s.get("n", 0) + 1}
def after(s): return {"n": s["n"] + len(s["messages"][-1].content)}
g = StateGraph(St)
for name, run in (("before", before), ("agent", node), ("after", after)): g.add_node(name, run)
for pair in ((START, "before"), ("before", "agent"), ("agent", "after"), ("after", END)): g.add_edge(*pair)
graph = g.compile()
''' % text(295)

def start(port):
    d = fresh("lg-server")
    with open(os.path.join(d, "graph.py"), "w") as f: f.write(GRAPH)
    with open(os.path.join(d, "langgraph.json"), "w") as f: f.write('{"dependencies": ["."], "graphs": {"clerk": "./graph.py:graph"}}')
    env = dict(os.environ, LANGGRAPH_CLI_NO_ANALYTICS="1", LANGSMITH_TRACING="false")
    program = os.path.join(os.path.dirname(sys.executable), "langgraph")
    return subprocess.Popen([program, "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port), "--n-jobs-per-worker", str(JOBS),
                             "--server-log-level", "ERROR"], cwd=d, env=env, stdout=sys.stderr, stderr=sys.stderr)

async def ready(port, server):
    for _ in range(600):
        if server.poll() is not None: raise RuntimeError(f"the server ended with {server.returncode}")
        try: return (await asyncio.open_connection("127.0.0.1", port))[1].close()
        except OSError: await asyncio.sleep(0.1)
    raise RuntimeError("the server did not answer in time")

async def turn(line, port, thread, i):
    """One run on a thread, its chunked answer read to the end."""
    reader, writer = line
    body = json.dumps({"assistant_id": "clerk", "if_not_exists": "create", "stream_mode": ["messages"],
                       "input": {"messages": [{"role": "user", "content": f"{i} " + text(290)}]}}).encode()
    writer.write((f"POST /threads/{thread}/runs/stream HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
                  f"content-length: {len(body)}\r\n\r\n").encode() + body)
    head = await reader.readuntil(b"\r\n\r\n"); said = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        said += await reader.readexactly(size); await reader.readexactly(2)
    await reader.readexactly(2)
    if b" 200 " not in head.split(b"\r\n")[0] or b"messages/complete" not in said: raise RuntimeError(f"{head[:80]} {said[-300:]}")

async def main(port, server):
    await ready(port, server)
    for n in (1, 16, 64):
        lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(n)]
        spent = []
        # Another thread after 20 turns, as in Ambit's work, which one turn has made; the server wants threads to be UUIDs.
        async def client(i, each, of_a_thread, until):
            for j in range(each):
                if time.perf_counter() > until: break
                t = uuid.uuid5(uuid.NAMESPACE_URL, f"w8-{n}-{i}-{j // of_a_thread}")
                spent.append((await atimed(turn(lines[i], port, t, j)))[0])
        async def run(each, of_a_thread): await asyncio.gather(*[client(i, each, of_a_thread, time.perf_counter() + SECONDS) for i in range(n)])
        each = max(5, KV // n)
        await run(-(-each // 20), 1); spent.clear()
        w, _ = await atimed(run(each, 20))
        served(P, kind, n, len(spent) / w, spent, f"graph turn over HTTP, a node before and one behind; langgraph dev, {JOBS} jobs at once, nothing durable")

with socket.create_server(("127.0.0.1", 0)) as s: port = s.getsockname()[1]
server = start(port)
try: asyncio.run(main(port, server))
finally: server.kill(); server.wait()
