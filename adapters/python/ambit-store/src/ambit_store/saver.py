"""A checkpointer for LangGraph."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    SerializerProtocol,
)

from .checkpoints import Rows
from .client import StoreClient
from .loading import Listing, get_tuple
from .saving import put_checkpoint, put_writes
from .threads import copy_thread, delete_for_runs, delete_thread, prune


class AmbitSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of LangGraph in an Ambit server.

    A checkpoint and the values of its channels are one commit. Of two runs that go on from the same checkpoint one is stored, and the
    other one's `invoke` raises `CheckpointConflict`; `update_state` and replays make branches as they like.

    Args:
        client: The server and the space.
        serde: How values are made bytes; the server never looks into them.
        busy_for: Refuses new input, before its graph calls a model, while the run it would interrupt has tasks to do and has
            stored something within so many seconds. Without it the run that is interrupted is the one that is refused.
    """

    def __init__(
        self,
        client: StoreClient,
        *,
        serde: SerializerProtocol | None = None,
        busy_for: float | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self.client = client
        self.busy_for = busy_for

    @property
    def _rows(self) -> Rows:
        return Rows(self.serde)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.client.run(get_tuple(self._rows, config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.client.arun(get_tuple(self._rows, config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        listing = Listing(self._rows, config, filter, before, limit)
        while found := self.client.run(listing.next()):
            yield from found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        listing = Listing(self._rows, config, filter, before, limit)
        while found := await self.client.arun(listing.next()):
            for checkpoint in found:
                yield checkpoint

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.client.run(self._put(config, checkpoint, metadata, new_versions))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self.client.arun(self._put(config, checkpoint, metadata, new_versions))

    def _put(self, *put: Any) -> Any:
        return put_checkpoint(self._rows, *put, self.busy_for)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self.client.run(put_writes(self._rows, config, writes, task_id, task_path))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        await self.client.arun(put_writes(self._rows, config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        self.client.run(delete_thread(str(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        await self.client.arun(delete_thread(str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.client.run(delete_for_runs(run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self.client.arun(delete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.client.run(copy_thread(str(source_thread_id), str(target_thread_id)))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self.client.arun(copy_thread(str(source_thread_id), str(target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.client.run(prune(self._rows, [str(thread) for thread in thread_ids], strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self.client.arun(prune(self._rows, [str(thread) for thread in thread_ids], strategy))

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """Versions that branches do not share: a number that grows, and one that is drawn."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"
