"""What the cases of this folder share: each is a function, and `ok NAME` is printed for each that holds."""

import sys
import traceback
from uuid import uuid4

from ambit_store import StoreClient


def run(cases):
    for case in cases:
        try:
            case()
            print("ok", case.__name__, flush=True)
        except Exception:
            print("failed", case.__name__)
            traceback.print_exc(file=sys.stdout)


def space():
    """A space that nobody has used."""
    return f"t{uuid4().hex[:30]}"


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


class TwoNodes:
    """A client whose requests go to two nodes in turn."""

    def __init__(self, urls, key, **options):
        self.clients = [StoreClient(url, key, **options) for url in urls]
        self.number = 0

    def _next(self):
        self.number += 1
        return self.clients[self.number % len(self.clients)]

    def run(self, steps):
        return StoreClient.run(self, steps)

    async def arun(self, steps):
        return await StoreClient.arun(self, steps)

    def _send(self, request):
        return self._next()._send(request)

    async def _asend(self, request):
        return await self._next()._asend(request)

    def batch(self, ops):
        return self._next().batch(ops)
