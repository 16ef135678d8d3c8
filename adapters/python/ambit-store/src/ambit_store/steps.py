"""Requests, and the steps that several adapters take with them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import StoreError

# Keys of one request.
PAGE = 1_000
# Bytes of JSON that one request of a copy holds.
BYTES = 16 << 20


@dataclass(frozen=True)
class Request:
    """A request, and which part of its answer counts."""

    path: str
    body: dict[str, Any]
    writes: bool
    part: str

    def answer(self, content: dict[str, Any]) -> list[Any]:
        """That part."""
        return content[self.part]


def batch(ops: Sequence[dict[str, Any]]) -> Request:
    """Operations that are done together."""
    writes = any(op["op"] in ("put", "delete") for op in ops)
    return Request("store/batch", {"ops": list(ops)}, writes, "results")


def search(prefix: str, **conditions: Any) -> Request:
    """A search."""
    given = {name: value for name, value in conditions.items() if value is not None}
    return Request("store/search", {"prefix": prefix, **given}, False, "items")


def get(key: str) -> dict[str, Any]:
    """Reads a key."""
    return {"op": "get", "key": key}


def put(key: str, value: Any, **conditions: Any) -> dict[str, Any]:
    """Writes a key: `expect`, `ttl`."""
    given = {name: given for name, given in conditions.items() if given is not None}
    return {"op": "put", "key": key, "value": value, **given}


def delete(key: str, **conditions: Any) -> dict[str, Any]:
    """Deletes a key: `expect`."""
    return {"op": "delete", "key": key, **conditions}


def entries(prefix: str, limit: int = PAGE, **conditions: Any) -> dict[str, Any]:
    """Lists keys: `after`, `reverse`, `values`."""
    given = {name: value for name, value in conditions.items() if value is not None}
    return {"op": "list", "prefix": prefix, "limit": limit, **given}


def read(ops: Sequence[dict[str, Any]]) -> Generator[Request, Any, list[Any]]:
    """Reads any number of keys and whole lists. Where the values are too large for one answer they are asked for in parts."""
    results: list[Any] = []
    for start in range(0, len(ops), PAGE):
        part = ops[start : start + PAGE]
        try:
            found = yield batch(part)
        except StoreError as error:
            if error.status != 413 or len(part) == 1:
                raise
            half = len(part) // 2
            found = yield from read(part[:half])
            found += yield from read(part[half:])
        results += found
    for op, result in zip(ops, results):
        while op["op"] == "list" and op["limit"] == PAGE and result["next"] is not None:
            (more,) = yield batch([{**op, "after": result["next"]}])
            result["items"] += more["items"]
            result["next"] = more["next"]
    return results


def read_all(prefix: str, **conditions: Any) -> Generator[Request, Any, list[dict[str, Any]]]:
    """All items whose keys begin with this."""
    (found,) = yield from read([entries(prefix, **conditions)])
    return found["items"]


def write(ops: Sequence[dict[str, Any]]) -> Generator[Request, Any, None]:
    """Writes any number of keys in as many batches as it takes; whoever reads meanwhile may see some of them."""
    part: list[dict[str, Any]] = []
    size = 0
    for op in ops:
        bytes_of_op = len(str(op.get("value", ""))) + len(op["key"])
        if part and (len(part) == PAGE or size + bytes_of_op > BYTES):
            yield batch(part)
            part, size = [], 0
        part.append(op)
        size += bytes_of_op
    if part:
        yield batch(part)


def delete_all(prefixes: Sequence[str]) -> Generator[Request, Any, None]:
    """Deletes all keys with one of these prefixes, in this order."""
    for prefix in prefixes:
        yield batch([{"op": "delete_prefix", "prefix": prefix}])
