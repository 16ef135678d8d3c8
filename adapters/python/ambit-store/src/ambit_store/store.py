"""A store for LangGraph's long-term memory."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from datetime import datetime, timezone
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from .client import StoreClient
from .errors import StoreConflict
from .keys import escape, unescape
from .steps import Request, batch, delete, get, put, read, read_all, search

# What the keys of items begin with.
_ITEMS = "i/"


class AmbitStore(BaseStore):
    """Keeps LangGraph's items in an Ambit server.

    Values are JSON. The reads of a `batch` see what was there before it, and its writes are one commit. `query` ranks by words (BM25):
    there are no embeddings, and `index` has no effect. TTLs are minutes.
    """

    supports_ttl = True

    def __init__(self, client: StoreClient, *, ttl: TTLConfig | None = None) -> None:
        self.client = client
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.client.run(_batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self.client.arun(_batch(list(ops)))


def _prefix(namespace: tuple[str, ...]) -> str:
    return _ITEMS + "".join(f"{escape(label)}/" for label in namespace)


def _key(namespace: tuple[str, ...], key: str) -> str:
    # Labels are never empty, so that no item is taken for a namespace.
    return f"{_prefix(namespace)}/{escape(key)}"


def _parts(key: str) -> tuple[tuple[str, ...], str]:
    labels, _, name = key.removeprefix(_ITEMS).rpartition("//")
    return tuple(unescape(label) for label in labels.split("/")), unescape(name)


def _batch(ops: list[Op]) -> Generator[Request, Any, list[Result]]:
    results: list[Result] = [None] * len(ops)
    gets = [(at, op) for at, op in enumerate(ops) if isinstance(op, GetOp)]
    found = yield from read([get(_key(op.namespace, op.key)) for _, op in gets])
    touched: list[dict[str, Any]] = []
    for (at, op), item in zip(gets, found):
        if item is not None:
            results[at] = Item(**_fields(op.namespace, op.key, item))
            touched += _renewed(op, _key(op.namespace, op.key), item)
    for at, op in enumerate(ops):
        if isinstance(op, SearchOp):
            items = yield _search(op)
            results[at] = [
                SearchItem(**_fields(*_parts(item["key"]), item), score=item.get("score"))
                for item in items
            ]
            for item in items:
                touched += _renewed(op, item["key"], item)
        elif isinstance(op, ListNamespacesOp):
            results[at] = yield from _namespaces(op)
    yield from _renew(touched)
    # Of two writes to one item the last one counts.
    writes = {_key(op.namespace, op.key): _write(op) for op in ops if isinstance(op, PutOp)}
    if writes:
        yield batch(list(writes.values()))
    return results


def _fields(namespace: tuple[str, ...], key: str, item: dict[str, Any]) -> dict[str, Any]:
    def time(name: str) -> datetime:
        return datetime.fromtimestamp(item[name] / 1_000, timezone.utc)

    return {
        "namespace": namespace,
        "key": key,
        "value": item["value"],
        "created_at": time("created_at"),
        "updated_at": time("updated_at"),
    }


def _search(op: SearchOp) -> Request:
    return search(
        _prefix(op.namespace_prefix),
        filter=op.filter or None,
        query=op.query,
        limit=op.limit,
        offset=op.offset,
    )


def _write(op: PutOp) -> dict[str, Any]:
    key = _key(op.namespace, op.key)
    if op.value is None:
        return delete(key)
    ttl = None if op.ttl is None else op.ttl * 60
    return put(key, op.value, ttl=ttl)


def _renewed(op: GetOp | SearchOp, key: str, item: dict[str, Any]) -> list[dict[str, Any]]:
    """The write that lets an item live as long again as when it was written."""
    if not op.refresh_ttl or item["expires_at"] is None:
        return []
    life = (item["expires_at"] - item["updated_at"]) / 1_000
    return [put(key, item["value"], ttl=life, expect=item["version"])]


def _renew(writes: list[dict[str, Any]]) -> Generator[Request, Any, None]:
    """One by one: what somebody has written meanwhile has a new life anyway."""
    for write in {write["key"]: write for write in writes}.values():
        try:
            yield batch([write])
        except StoreConflict:
            continue


def _namespaces(op: ListNamespacesOp) -> Generator[Request, Any, list[tuple[str, ...]]]:
    items = yield from read_all(_ITEMS)
    conditions = op.match_conditions or ()
    found = set()
    for item in items:
        namespace, _ = _parts(item["key"])
        if all(_matches(condition, namespace) for condition in conditions):
            found.add(namespace[: op.max_depth] if op.max_depth is not None else namespace)
    return sorted(found)[op.offset : op.offset + op.limit]


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    labels = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, labels)) if path else True
