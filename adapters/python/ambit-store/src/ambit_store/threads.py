"""Whole threads: deleting, copying and pruning them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from .checkpoints import (
    BLOB,
    CHECKPOINT,
    CHILD,
    EMPTY,
    RUN,
    WRITE,
    Place,
    Rows,
    thread_prefix,
)
from .keys import join, split
from .steps import Request, batch, delete, delete_all, get, put, read, read_all, write

# Rows of a checkpoint go first, so that nobody finds one without the rest.
_KINDS = (CHECKPOINT, CHILD, WRITE, BLOB)


def delete_thread(thread: str) -> Generator[Request, Any, None]:
    """Deletes all of a thread."""
    rows = yield from read_all(thread_prefix(CHECKPOINT, thread), values=True)
    yield from delete_all([thread_prefix(kind, thread) for kind in _KINDS])
    yield from write([delete(key) for key in _run_keys(rows)])


def _run_keys(rows: list[dict[str, Any]]) -> list[str]:
    keys = []
    for item in rows:
        place, checkpoint = Place.of_key(item["key"])
        if run := item["value"]["run"]:
            keys.append(place.run(str(run), checkpoint))
    return keys


def delete_for_runs(runs: Sequence[str]) -> Generator[Request, Any, None]:
    """Deletes the checkpoints of runs, and what only they need."""
    for run in runs:
        listed = yield from read_all(join(RUN, str(run), ""))
        threads = set()
        for item in listed:
            _, _, thread, namespace, checkpoint = split(item["key"])
            place = Place(thread, namespace)
            threads.add(place)
            yield from _delete_checkpoint(place, checkpoint)
            yield batch([delete(item["key"])])
        for place in threads:
            yield from _delete_unused_values(place)


def _delete_checkpoint(place: Place, checkpoint: str) -> Generator[Request, Any, None]:
    (row,) = yield batch([get(place.checkpoint(checkpoint))])
    if row is not None:
        child = place.child(row["value"]["parent"])
        (found,) = yield batch([get(child)])
        ops = [delete(place.checkpoint(checkpoint))]
        # The parent can be gone on from again.
        if found is not None and found["value"] == checkpoint:
            ops.append(delete(child))
        yield batch(ops)
    yield from delete_all([place.writes(checkpoint)])


def _delete_unused_values(place: Place) -> Generator[Request, Any, None]:
    """Deletes the values of channels that no checkpoint of a namespace has any more."""
    blobs = yield from read_all(join(BLOB, place.thread, place.namespace, ""))
    rows = yield from read_all(place.checkpoint(""), values=True)
    used = {
        place.blob(channel, version)
        for item in rows
        for channel, version in item["value"]["channels"]
    }
    yield from write([delete(item["key"]) for item in blobs if item["key"] not in used])


def copy_thread(source: str, target: str) -> Generator[Request, Any, None]:
    """Copies all of a thread; its checkpoints last, so that each is found with all it needs."""
    for kind in reversed(_KINDS):
        items = yield from read_all(thread_prefix(kind, source), values=True)
        ops = []
        for item in items:
            parts = split(item["key"])
            ops.append(put(join(kind, target, *parts[2:]), item["value"]))
            if kind == CHECKPOINT and (run := item["value"]["run"]):
                place = Place(target, parts[2])
                ops.append(put(place.run(str(run), parts[3]), None))
        yield from write(ops)


def prune(
    rows: Rows, threads: Sequence[str], strategy: str
) -> Generator[Request, Any, None]:
    """Deletes all of the threads, or all but the newest checkpoint of each namespace and what it needs."""
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"strategy is {strategy!r}; known are 'keep_latest' and 'delete'")
    for thread in threads:
        if strategy == "delete":
            yield from delete_thread(thread)
            continue
        items = yield from read_all(thread_prefix(CHECKPOINT, thread), values=True)
        namespaces: dict[Place, dict[str, dict[str, Any]]] = {}
        for item in items:
            place, checkpoint = Place.of_key(item["key"])
            namespaces.setdefault(place, {})[checkpoint] = item["value"]
        for place, checkpoints in namespaces.items():
            kept = yield from _needed(rows, place, checkpoints)
            for checkpoint in checkpoints:
                if checkpoint not in kept:
                    yield from _delete_checkpoint(place, checkpoint)
                    if run := checkpoints[checkpoint]["run"]:
                        yield batch([delete(place.run(str(run), checkpoint))])
            yield from _delete_unused_values(place)


def _needed(
    rows: Rows, place: Place, checkpoints: dict[str, dict[str, Any]]
) -> Generator[Request, Any, set[str]]:
    """The newest checkpoint, and those before it up to the values that its delta channels are rebuilt from."""
    newest = max(checkpoints)
    kept = {newest}
    counters = rows.metadata(checkpoints[newest]).get("counters_since_delta_snapshot") or {}
    open_channels = set(counters)
    cursor = checkpoints[newest]["parent"]
    while open_channels and cursor in checkpoints:
        kept.add(cursor)
        row = checkpoints[cursor]
        wanted = [(name, version) for name, version in row["channels"] if name in open_channels]
        blobs = yield from read([get(place.blob(name, version)) for name, version in wanted])
        for (name, _), blob in zip(wanted, blobs):
            if blob is not None and blob["value"][0] != EMPTY:
                open_channels.discard(name)
        cursor = row["parent"]
    return kept
