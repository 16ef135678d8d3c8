"""Where checkpoints, the values of their channels and their writes are kept, and in which form."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    CheckpointTuple,
    SerializerProtocol,
    writes_sort_key,
)

from .keys import join, split

# Kinds of rows: checkpoints, children of checkpoints, values of channels, writes, checkpoints of runs.
CHECKPOINT, CHILD, BLOB, WRITE, RUN = "c", "n", "b", "w", "r"
# The type of a channel that has a version and no value.
EMPTY = "empty"
# Where writes stand that have no place of their own.
_FIRST = 10


@dataclass(frozen=True)
class Place:
    """A namespace of a thread."""

    thread: str
    namespace: str

    @classmethod
    def of(cls, config: RunnableConfig) -> Place:
        """The one that a config means."""
        configurable = config["configurable"]
        return cls(str(configurable["thread_id"]), configurable.get("checkpoint_ns") or "")

    @classmethod
    def of_key(cls, key: str) -> tuple[Place, str]:
        """The one that a checkpoint's key is in, and the checkpoint's id."""
        _, thread, namespace, checkpoint = split(key)
        return cls(thread, namespace), checkpoint

    def checkpoint(self, checkpoint: str) -> str:
        """The row of a checkpoint."""
        return join(CHECKPOINT, self.thread, self.namespace, checkpoint)

    def child(self, parent: str | None) -> str:
        """The row that names the child of a checkpoint; without one that of the first checkpoint."""
        return join(CHILD, self.thread, self.namespace, parent or "")

    def blob(self, channel: str, version: Any) -> str:
        """The row of a channel's value."""
        return join(BLOB, self.thread, self.namespace, channel, str(version))

    def writes(self, checkpoint: str, task: str = "") -> str:
        """What the rows of a checkpoint's writes begin with, or those of one of its tasks."""
        parts = [WRITE, self.thread, self.namespace, checkpoint]
        return join(*parts, task, "") if task else join(*parts, "")

    def write(self, checkpoint: str, task: str, index: int) -> str:
        """The row of a write. Indexes may be negative."""
        return f"{self.writes(checkpoint, task)}{index + _FIRST:06}"

    def run(self, run: str, checkpoint: str) -> str:
        """The row that says that a checkpoint belongs to a run."""
        return join(RUN, run, self.thread, self.namespace, checkpoint)

    def config(self, checkpoint: str) -> RunnableConfig:
        """The config of a checkpoint."""
        return {
            "configurable": {
                "thread_id": self.thread,
                "checkpoint_ns": self.namespace,
                "checkpoint_id": checkpoint,
            }
        }


def thread_prefix(kind: str, thread: str) -> str:
    """What the rows of a thread begin with."""
    return join(kind, thread, "")


@dataclass(frozen=True)
class Rows:
    """Rows as they are stored: the serializer's own bytes, and its type."""

    serde: SerializerProtocol

    def dump(self, value: Any) -> list[str]:
        """A value as it is stored."""
        kind, data = self.serde.dumps_typed(value)
        return [kind, b64encode(data).decode()]

    def load(self, stored: list[str]) -> Any:
        """A stored value."""
        kind, data = stored
        return self.serde.loads_typed((kind, b64decode(data)))

    def writes(self, items: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
        """Stored writes, in the order in which a run applies them."""
        ordered = []
        for item in items:
            task, index = split(item["key"])[-2:]
            row = item["value"]
            key = writes_sort_key(row["path"], task, int(index) - _FIRST)
            ordered.append((key, task, row))
        ordered.sort(key=lambda entry: entry[0])
        return [(task, row["channel"], self.load(row["value"])) for _, task, row in ordered]

    def metadata(self, row: dict[str, Any]) -> Any:
        """The metadata of a checkpoint's row."""
        return self.load(row["metadata"])

    def tuple(
        self,
        place: Place,
        checkpoint_id: str,
        row: dict[str, Any],
        values: dict[str, Any],
        writes: list[dict[str, Any]],
    ) -> CheckpointTuple:
        """A checkpoint, put together from its rows."""
        parent = row["parent"]
        return CheckpointTuple(
            config=place.config(checkpoint_id),
            checkpoint={**self.load(row["checkpoint"]), "channel_values": values},
            metadata=self.metadata(row),
            parent_config=place.config(parent) if parent else None,
            pending_writes=self.writes(writes),
        )


def write_index(channel: str, position: int) -> int:
    """The index of a write: special channels have their own, so that each of them is there once."""
    return WRITES_IDX_MAP.get(channel, position)
