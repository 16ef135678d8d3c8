"""What can go wrong."""

from typing import Any


class StoreError(Exception):
    """The server refused a request."""

    def __init__(self, status: int, code: str, message: str, details: Any = None) -> None:
        super().__init__(f"{message} ({status} {code})")
        self.status = status
        self.code = code
        self.details = details if isinstance(details, dict) else {}


class StoreConflict(StoreError):
    """A key does not have the version that was expected; nothing was written."""

    @property
    def key(self) -> str | None:
        """The key."""
        return self.details.get("key")

    @property
    def version(self) -> int | None:
        """The version that it has; 0 where it is absent."""
        return self.details.get("version")


class CheckpointConflict(Exception):
    """Another run went on from the same checkpoint; nothing was written.

    Read the thread again and repeat the input, or run with `configurable["ambit_fork"] = True` to keep both branches.
    """

    def __init__(self, thread_id: str, checkpoint_ns: str, reason: str) -> None:
        super().__init__(
            f"thread {thread_id!r}{f', namespace {checkpoint_ns!r}' if checkpoint_ns else ''}: {reason}"
        )
        self.thread_id = thread_id
        self.checkpoint_ns = checkpoint_ns
