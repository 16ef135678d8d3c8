"""Reading checkpoints."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id

from .checkpoints import CHECKPOINT, EMPTY, Place, Rows, thread_prefix
from .keys import join
from .steps import PAGE, Request, batch, entries, get, read, read_all

# Checkpoints that are read at once.
_STEP = 50


def get_tuple(
    rows: Rows, config: RunnableConfig
) -> Generator[Request, Any, CheckpointTuple | None]:
    """The checkpoint that a config names, else the newest one of its namespace."""
    place = Place.of(config)
    checkpoint = get_checkpoint_id(config)
    if checkpoint:
        (found,) = yield batch([get(place.checkpoint(checkpoint))])
    else:
        newest = entries(place.checkpoint(""), limit=1, reverse=True, values=True)
        (listed,) = yield batch([newest])
        found = next(iter(listed["items"]), None)
        if found is not None:
            checkpoint = Place.of_key(found["key"])[1]
    if found is None:
        return None
    tuples = yield from _tuples(rows, [(place, str(checkpoint), found["value"])])
    return tuples[0]


def _tuples(
    rows: Rows, found: list[tuple[Place, str, dict[str, Any]]]
) -> Generator[Request, Any, list[CheckpointTuple]]:
    """Puts checkpoints together; a channel's value that several have is read once."""
    blobs = {
        place.blob(channel, version): None
        for place, _, row in found
        for channel, version in row["channels"]
    }
    asked = [get(key) for key in blobs]
    asked += [entries(place.writes(checkpoint), values=True) for place, checkpoint, _ in found]
    answers = yield from read(asked)
    stored = dict(zip(blobs, answers))
    tuples = []
    for (place, checkpoint, row), writes in zip(found, answers[len(blobs) :]):
        values = {}
        for channel, version in row["channels"]:
            blob = stored[place.blob(channel, version)]
            if blob is not None and blob["value"][0] != EMPTY:
                values[channel] = rows.load(blob["value"])
        tuples.append(rows.tuple(place, checkpoint, row, values, writes["items"]))
    return tuples


@dataclass
class Listing:
    """Checkpoints, the newest first, read step by step."""

    rows: Rows
    config: RunnableConfig | None
    filter: dict[str, Any] | None
    before: RunnableConfig | None
    limit: int | None
    keys: list[str] = field(default_factory=list)
    after: str | None = None
    is_over: bool = False

    def next(self) -> Generator[Request, Any, list[CheckpointTuple]]:
        """The next ones; none at the end."""
        tuples: list[CheckpointTuple] = []
        while not tuples and not self._is_done():
            keys = yield from self._next_keys()
            items = yield from read([get(key) for key in keys])
            found = [
                (*Place.of_key(key), item["value"])
                for key, item in zip(keys, items)
                if item is not None and self._matches(item["value"])
            ]
            if self.limit is not None:
                found = found[: self.limit]
                self.limit -= len(found)
            if found:
                tuples = yield from _tuples(self.rows, found)
        return tuples

    def _is_done(self) -> bool:
        is_full = self.limit is not None and self.limit <= 0
        return is_full or (self.is_over and not self.keys)

    def _matches(self, row: dict[str, Any]) -> bool:
        if not self.filter:
            return True
        metadata = self.rows.metadata(row)
        return all(metadata.get(name) == value for name, value in self.filter.items())

    def _next_keys(self) -> Generator[Request, Any, list[str]]:
        if not self.keys and not self.is_over:
            yield from self._find_keys()
        keys, self.keys = self.keys[:_STEP], self.keys[_STEP:]
        return keys

    def _find_keys(self) -> Generator[Request, Any, None]:
        """One namespace is listed page by page; of several all keys are put in one order."""
        configurable = self.config["configurable"] if self.config else {}
        namespace = configurable.get("checkpoint_ns")
        if self.config is None or namespace is None:
            thread = configurable.get("thread_id")
            prefix = join(CHECKPOINT, "") if thread is None else thread_prefix(CHECKPOINT, str(thread))
            items = yield from read_all(prefix)
            self.keys = [item["key"] for item in items]
            self.keys.sort(key=lambda key: Place.of_key(key)[1], reverse=True)
            self.is_over = True
        else:
            place = Place.of(self.config)
            bound = get_checkpoint_id(self.before) if self.before and self.after is None else None
            after = place.checkpoint(bound) if bound else self.after
            page = entries(place.checkpoint(""), limit=PAGE - 1, reverse=True, after=after)
            (found,) = yield batch([page])
            self.keys = [item["key"] for item in found["items"]]
            self.after = found["next"]
            self.is_over = self.after is None
        self.keys = [key for key in self.keys if self._is_wanted(Place.of_key(key)[1])]

    def _is_wanted(self, checkpoint: str) -> bool:
        named = get_checkpoint_id(self.config) if self.config else None
        bound = get_checkpoint_id(self.before) if self.before else None
        return (not named or checkpoint == named) and (not bound or checkpoint < bound)
