"""Writing checkpoints and the writes that belong to them."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, TASKS

from .checkpoints import CHECKPOINT, EMPTY, Place, Rows, write_index
from .errors import CheckpointConflict, StoreConflict
from .keys import join, split
from .steps import Request, batch, entries, get, put, read, read_all

# The field of `configurable` with which a run begins a further branch.
FORK = "ambit_fork"
# Channels that hold what is to be done next, beside those of edges.
_TASKS = ("__start__", TASKS)
# Sources of checkpoints that go on with a thread; the others are branches that somebody wants.
_GOES_ON = ("input", "loop")


def put_checkpoint(
    rows: Rows,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    new_versions: ChannelVersions,
    busy_for: float | None,
) -> Generator[Request, Any, RunnableConfig]:
    """Stores a checkpoint in one commit, unless another one went on from its parent."""
    place = Place.of(config)
    parent = config["configurable"].get("checkpoint_id")
    known = get_serializable_checkpoint_metadata(config, metadata)
    known.pop(FORK, None)
    is_fork = bool(config["configurable"].get(FORK)) and known.get("source") == "input"
    goes_on = known.get("source") in _GOES_ON and not is_fork
    is_first = parent is None and known.get("step") == -1
    if goes_on and is_first:
        yield from _refuse_used(place, checkpoint["id"])
    if goes_on and parent and known["source"] == "input" and busy_for:
        yield from _refuse_busy(place, parent, busy_for)
    run = known.get("run_id")
    values = checkpoint["channel_values"]
    ops = [
        put(
            place.blob(channel, version),
            rows.dump(values[channel]) if channel in values else [EMPTY, ""],
        )
        for channel, version in new_versions.items()
    ]
    row = {
        "parent": parent,
        "run": run,
        "channels": list(checkpoint["channel_versions"].items()),
        "has_tasks": any(_is_task(channel) for channel in values),
        "checkpoint": rows.dump({**checkpoint, "channel_values": {}}),
        "metadata": rows.dump(known),
    }
    ops.append(put(place.checkpoint(checkpoint["id"]), row))
    if run:
        ops.append(put(place.run(str(run), checkpoint["id"]), None))
    if parent or is_first:
        child = place.child(parent)
        yield from _put_child(place, ops, child, checkpoint["id"], goes_on)
    else:
        yield batch(ops)
    return place.config(checkpoint["id"])


def _put_child(
    place: Place, ops: list[dict[str, Any]], child: str, checkpoint: str, goes_on: bool
) -> Generator[Request, Any, None]:
    if not goes_on:
        yield batch([*ops, put(child, checkpoint)])
        return
    try:
        yield batch([*ops, put(child, checkpoint, expect=0)])
    except StoreConflict:
        (found,) = yield batch([get(child)])
        if found is None or found["value"] != checkpoint:
            reason = "another run went on from the same checkpoint"
            raise CheckpointConflict(place.thread, place.namespace, reason) from None
        # The same checkpoint again: its first answer did not arrive.
        yield batch([*ops, put(child, checkpoint, expect=found["version"])])


def _refuse_used(place: Place, checkpoint: str) -> Generator[Request, Any, None]:
    prefix = join(CHECKPOINT, place.thread, place.namespace, "")
    (found,) = yield batch([entries(prefix, limit=1)])
    used = [split(item["key"])[-1] for item in found["items"]]
    if used and used != [checkpoint]:
        reason = "another run has begun the thread"
        raise CheckpointConflict(place.thread, place.namespace, reason)


def _is_task(channel: str) -> bool:
    return channel.startswith("branch:to:") or channel in _TASKS


def _refuse_busy(place: Place, parent: str, busy_for: float) -> Generator[Request, Any, None]:
    """Refuses new input while the run that it would go on from has tasks to do and is not older than this."""
    row, writes = yield from read(
        [get(place.checkpoint(parent)), entries(place.writes(parent), values=True)]
    )
    if row is None or not row["value"]["has_tasks"]:
        return
    # A run that was interrupted, or failed, waits for whoever goes on with it.
    has_stopped = any(item["value"]["channel"] in (INTERRUPT, ERROR) for item in writes["items"])
    age = time.time() - row["updated_at"] / 1_000
    if not has_stopped and age < busy_for:
        reason = "another run is under way; wait for its end"
        raise CheckpointConflict(place.thread, place.namespace, reason)


def put_writes(
    rows: Rows,
    config: RunnableConfig,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
) -> Generator[Request, Any, None]:
    """Stores the writes of a task. Regular ones are stored once; special ones replace what was there."""
    place = Place.of(config)
    checkpoint = config["configurable"]["checkpoint_id"]
    ops = []
    for position, (channel, value) in enumerate(writes):
        index = write_index(channel, position)
        row = {"channel": channel, "path": task_path, "value": rows.dump(value)}
        is_new = index >= 0 and not config["configurable"].get(FORK)
        expect = 0 if is_new else None
        ops.append(put(place.write(checkpoint, task_id, index), row, expect=expect))
    # Of two writes to one special channel the last one counts.
    ops = list({op["key"]: op for op in ops}.values())
    if not ops:
        return
    try:
        yield batch(ops)
    except StoreConflict:
        yield from _put_missing_writes(place, ops, place.writes(checkpoint, task_id))


def _put_missing_writes(
    place: Place, ops: list[dict[str, Any]], prefix: str
) -> Generator[Request, Any, None]:
    items = yield from read_all(prefix, values=True)
    stored = {item["key"]: item["value"] for item in items}
    missing = []
    for op in ops:
        if "expect" not in op or op["key"] not in stored:
            missing.append(op)
        elif stored[op["key"]] != op["value"]:
            reason = "another run has done the same task with another result"
            raise CheckpointConflict(place.thread, place.namespace, reason)
    if missing:
        yield batch(missing)
