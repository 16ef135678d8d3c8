"""`AmbitStore` as LangGraph uses it. Run with an API key and the URLs of the nodes."""

import asyncio
import sys

from cases import TwoNodes, raises, run, space
from langgraph.store.base import GetOp, PutOp, SearchOp

from ambit_store import AmbitStore, StoreError

key, *urls = sys.argv[1:]


def opened(**options):
    return AmbitStore(TwoNodes(urls, key, space=space()), **options)


def an_item_comes_back_and_keeps_its_age():
    store = opened()
    store.put(("users", "ann"), "prefs", {"theme": "dark"})
    first = store.get(("users", "ann"), "prefs")
    assert (first.value, first.key, first.namespace) == ({"theme": "dark"}, "prefs", ("users", "ann"))
    store.put(("users", "ann"), "prefs", {"theme": "light"})
    second = asyncio.run(store.aget(("users", "ann"), "prefs"))
    assert second.value == {"theme": "light"}
    assert second.created_at == first.created_at and second.updated_at >= first.updated_at
    store.delete(("users", "ann"), "prefs")
    assert store.get(("users", "ann"), "prefs") is None


def namespaces_are_prefixes_of_whole_labels():
    store = opened()
    for namespace in [("a",), ("a", "b"), ("ab",), ("a/b",), ("a%2Fb",)]:
        store.put(namespace, "k/1", {"in": "/".join(namespace)})
    found = {item.namespace for item in store.search(("a",))}
    assert found == {("a",), ("a", "b")}
    assert {item.namespace for item in store.search(("a/b",))} == {("a/b",)}
    assert len(store.search(())) == 5
    assert store.get(("a/b",), "k/1").value == {"in": "a/b"}


def items_are_found_by_fields_and_words():
    store = opened()
    store.put(("docs",), "1", {"kind": "report", "stars": 3, "text": "long walks by the sea"})
    store.put(("docs",), "2", {"kind": "report", "stars": 5, "text": "walks, walks and walks"})
    store.put(("docs",), "3", {"kind": "note", "stars": 4, "text": "reading"})

    def keys(**conditions):
        return [item.key for item in store.search(("docs",), **conditions)]

    assert keys(filter={"kind": "report"}) == ["1", "2"]
    assert keys(filter={"stars": {"$gte": 4, "$ne": 5}}) == ["3"]
    assert keys(query="walks") == ["2", "1"]
    assert keys(limit=1, offset=2) == ["3"]
    assert store.search(("docs",), query="sea")[0].score > 0
    raises(StoreError, lambda: keys(filter={"stars": {"$in": [1]}}))


def namespaces_are_listed():
    store = opened()
    for namespace in [("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("z", "c")]:
        store.put(namespace, "k", {})
    assert store.list_namespaces(prefix=("a",), max_depth=2) == [("a", "b"), ("a", "x")]
    assert store.list_namespaces(suffix=("c",)) == [("a", "b", "c"), ("z", "c")]
    assert store.list_namespaces(prefix=("a", "*", "d")) == [("a", "b", "d")]
    assert len(store.list_namespaces(limit=2, offset=1)) == 2


def the_writes_of_a_batch_are_one_commit():
    store = opened()
    store.put(("n",), "a", {"v": 1})
    ops = [PutOp(("n",), "a", {"v": 2}), GetOp(("n",), "a"), PutOp(("n",), "b", {"v": 1}), SearchOp(("n",))]
    _, before, _, found = store.batch(ops)
    assert before.value == {"v": 1} and len(found) == 1
    too_large = {"v": "x" * (17 << 20)}
    raises(StoreError, lambda: store.batch([PutOp(("n",), "c", {"v": 1}), PutOp(("n",), "d", too_large)]))
    assert store.get(("n",), "c") is None
    assert store.get(("n",), "a").value == {"v": 2}


def end_of(store):
    """When the one item of a store ends, in milliseconds since 1970."""
    (listed,) = store.client.batch([{"op": "list", "prefix": "", "limit": 2, "values": True}])
    (item,) = listed["items"]
    return item["expires_at"]


def a_life_ends_and_is_renewed_by_reads():
    store = opened(ttl={"default_ttl": 60, "refresh_on_read": True})
    store.put(("n",), "item", {"v": 1})
    first = end_of(store)
    for _ in range(20):
        assert store.get(("n",), "item", refresh_ttl=False) is not None
    assert end_of(store) == first
    # So many reads take longer than the clock's smallest step.
    for _ in range(20):
        assert store.get(("n",), "item") is not None
    assert first < end_of(store) < first + 30 * 60_000
    store.put(("n",), "item", {"v": 1}, ttl=None)
    assert end_of(store) is None
    store.put(("n",), "item", {"v": 1}, ttl=0.001)
    while store.get(("n",), "item", refresh_ttl=False) is not None:
        pass


run(
    [
        an_item_comes_back_and_keeps_its_age,
        namespaces_are_prefixes_of_whole_labels,
        items_are_found_by_fields_and_words,
        namespaces_are_listed,
        the_writes_of_a_batch_are_one_commit,
        a_life_ends_and_is_renewed_by_reads,
    ]
)
