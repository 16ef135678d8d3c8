"""Keeps the state of LangGraph and Google ADK in an Ambit server.

`StoreClient` speaks to the server. `AmbitSaver` and `AmbitStore` need the extra `langgraph`, `AmbitSessionService` the extra `adk`;
each is imported when it is first asked for.
"""

from importlib import import_module
from typing import Any

from .client import StoreClient
from .errors import CheckpointConflict, StoreConflict, StoreError

_LAZY = {"AmbitSaver": "saver", "AmbitStore": "store", "AmbitSessionService": "adk"}

__all__ = [
    "AmbitSaver",
    "AmbitSessionService",
    "AmbitStore",
    "CheckpointConflict",
    "StoreClient",
    "StoreConflict",
    "StoreError",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LAZY[name]}", __name__), name)
