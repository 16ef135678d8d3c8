"""When a client of the store sends a request again: only where nothing of it can have been done. Run without arguments."""

import asyncio
import json
import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace

import ambit_store.client as module
import httpx
from ambit_store import StoreClient, StoreError
from cases import raises, run

WRITE = [{"op": "put", "key": "k", "value": 1}]
HANGS_UP = None


class Stub:
    """A server that gives these answers one after the other, and knows the idempotency keys of what it was asked."""

    def __init__(self, *answers, port=0):
        self.keys = []
        self.answers = list(answers)
        self.server = HTTPServer(("127.0.0.1", port), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(stub):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                stub.keys.append(self.headers["idempotency-key"])
                status = stub.answers.pop(0)
                if status is HANGS_UP:
                    return
                refused = {"error": {"code": "unavailable", "message": "not now"}}
                body = {"results": [{"version": 1}]} if status == 200 else refused
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_):
                pass

        return Handler


def in_each_pause(happens):
    """Lets this happen where a client would wait before its next try."""

    async def sleep(_):
        happens()

    module.time = SimpleNamespace(sleep=lambda _: happens())
    module.asyncio = SimpleNamespace(sleep=sleep, get_running_loop=asyncio.get_running_loop)


def write(client):
    return client.batch(WRITE)


def write_in_a_loop(client):
    return asyncio.run(client.abatch(WRITE))


WAYS = [write, write_in_a_loop]


def what_is_refused_for_now_is_sent_again_under_one_key():
    in_each_pause(lambda: None)
    for way in WAYS:
        stub = Stub(503, 503, 200, 200)
        client = StoreClient(stub.url)
        assert way(client) == [{"version": 1}]
        way(client)
        first, *again, other = stub.keys
        assert first and again == [first, first] and other not in (None, first), stub.keys
        always = Stub(*[503] * 9)
        error = raises(StoreError, lambda: way(StoreClient(always.url)))
        assert (error.status, len(always.keys), len(set(always.keys))) == (503, 5, 1), always.keys


def what_may_have_been_done_is_not_sent_again():
    in_each_pause(lambda: None)
    for way in WAYS:
        for answer in (409, 429, 500, 502, HANGS_UP):
            stub = Stub(answer, 200)
            kind = httpx.RemoteProtocolError if answer is HANGS_UP else StoreError
            raises(kind, lambda: way(StoreClient(stub.url)))
            assert len(stub.keys) == 1, (answer, stub.keys)


def what_has_reached_nobody_is_sent_again():
    for way in WAYS:
        # Held without listening, so that nobody else is given the port before the server comes.
        with socket.socket() as held:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("127.0.0.1", 0))
            port = held.getsockname()[1]
            servers = []
            in_each_pause(lambda: servers or servers.append(Stub(200, port=port)))
            assert way(StoreClient(f"http://127.0.0.1:{port}")) == [{"version": 1}]
            assert len(servers[0].keys) == 1


run(
    [
        what_is_refused_for_now_is_sent_again_under_one_key,
        what_may_have_been_done_is_not_sent_again,
        what_has_reached_nobody_is_sent_again,
    ]
)
