"""`AmbitSaver` under graphs of LangGraph. Run with an API key and the URLs of the nodes."""

import asyncio
import operator
import sys
from typing import Annotated

from cases import TwoNodes, raises, run, space
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from ambit_store import AmbitSaver, CheckpointConflict

key, *urls = sys.argv[1:]


class Words(TypedDict):
    words: Annotated[list[str], operator.add]


def opened(**options):
    return AmbitSaver(TwoNodes(urls, key, space=space()), **options)


def echo(state):
    return {"words": [f"echo {state['words'][-1]}"]}


def graph_of(saver, node=echo, state=Words):
    graph = StateGraph(state)
    graph.add_node("agent", node)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    return graph.compile(checkpointer=saver)


def config(thread="t", **more):
    return {"configurable": {"thread_id": thread, **more}}


def say(graph, word, to=None, **options):
    return graph.invoke({"words": [word]}, to or config(), **options)["words"]


def a_conversation_goes_on_with_another_saver():
    saver = opened()
    assert say(graph_of(saver), "a") == ["a", "echo a"]
    again = graph_of(AmbitSaver(saver.client))
    assert say(again, "b") == ["a", "echo a", "b", "echo b"]
    assert asyncio.run(again.ainvoke({"words": ["c"]}, config()))["words"][-1] == "echo c"


def threads_and_namespaces_with_strange_names_are_apart():
    saver = opened()
    graph = graph_of(saver)
    for thread in ["a", "a/", "a%2F", "a/b", "ä 日", "*"]:
        assert say(graph, thread, config(thread)) == [thread, f"echo {thread}"]
    saver.delete_thread("a/")
    assert [saver.get_tuple(config(name)) is None for name in ("a", "a/", "a/b")] == [False, True, False]


def new_input_at_an_old_checkpoint_is_refused_unless_it_is_a_fork():
    saver = opened()
    graph = graph_of(saver)
    say(graph, "a")
    old = graph.get_state(config()).config
    say(graph, "b")
    before = [state.config for state in graph.get_state_history(config())]
    error = raises(CheckpointConflict, lambda: say(graph, "c", old))
    assert error.thread_id == "t"
    assert [state.config for state in graph.get_state_history(config())] == before
    fork = {"configurable": {**old["configurable"], "ambit_fork": True}}
    assert say(graph, "c", fork) == ["a", "echo a", "c", "echo c"]
    # The branch is the newest one, and is gone on with like any other.
    assert say(graph, "d") == ["a", "echo a", "c", "echo c", "d", "echo d"]


def replays_and_updates_fork_freely():
    graph = graph_of(opened())
    say(graph, "a")
    say(graph, "b")
    history = list(graph.get_state_history(config()))
    pending = next(state for state in history if state.next == ("agent",))
    for _ in range(2):
        assert graph.invoke(None, pending.config)["words"][-1] == "echo b"
        graph.update_state(history[-2].config, {"words": ["x"]}, as_node="agent")
    graph.update_state(config(), {"words": ["y"]}, as_node="agent")
    assert say(graph, "z")[-3:] == ["y", "z", "echo z"]


def an_update_that_came_between_is_not_superseded():
    graph = graph_of(opened())
    say(graph, "a")
    old = graph.get_state(config()).config
    graph.update_state(config(), {"words": ["note"]}, as_node="agent")
    raises(CheckpointConflict, lambda: say(graph, "b", old))
    assert say(graph, "b") == ["a", "echo a", "note", "b", "echo b"]


def a_thread_is_begun_once():
    saver = opened()
    first, second = empty_checkpoint(), empty_checkpoint()
    metadata = {"source": "input", "step": -1, "parents": {}}
    to = config(checkpoint_ns="")
    saver.put(to, first, metadata, {})
    # The same again is the same checkpoint.
    saver.put(to, first, metadata, {})
    raises(CheckpointConflict, lambda: saver.put(to, second, metadata, {}))
    assert [found.checkpoint["id"] for found in saver.list(config())] == [first["id"]]


def an_interrupt_is_resumed_by_another_node():
    def ask(state):
        return {"words": [f"answer {interrupt('what?')}"]}

    saver = opened(busy_for=60)
    graph = graph_of(saver, ask)
    assert "__interrupt__" in graph.invoke({"words": ["q"]}, config())
    again = graph_of(AmbitSaver(saver.client), ask)
    assert again.invoke(Command(resume="yes"), config())["words"] == ["q", "answer yes"]
    # Whoever does not want to answer may say something else.
    graph.invoke({"words": ["r"]}, config())
    assert "__interrupt__" in graph.invoke({"words": ["s"]}, config())


def a_run_that_is_under_way_refuses_new_input():
    saver = opened(busy_for=60)
    calls = []

    def slow(state):
        calls.append(state["words"][-1])
        if len(calls) == 1:
            raises(CheckpointConflict, lambda: say(graph, "late", durability="sync"))
        return echo(state)

    graph = graph_of(saver, slow)
    assert say(graph, "a", durability="sync") == ["a", "echo a"]
    assert calls == ["a"]
    assert say(graph, "b", durability="sync")[-1] == "echo b"


def a_failed_run_can_be_repeated_or_followed():
    saver = opened(busy_for=60)
    fails = [True, False]

    def sometimes(state):
        if fails and fails.pop(0):
            raise RuntimeError("the model is down")
        return echo(state)

    graph = graph_of(saver, sometimes)
    raises(RuntimeError, lambda: say(graph, "a"))
    assert graph.invoke(None, config())["words"] == ["a", "echo a"]
    fails[:] = [True]
    raises(RuntimeError, lambda: say(graph, "b"))
    assert say(graph, "c") == ["a", "echo a", "b", "c", "echo c"]


class Deltas(TypedDict):
    words: Annotated[list[str], DeltaChannel(lambda state, writes: state + sum(writes, []))]


def delta_channels_survive_pruning_and_copying():
    saver = opened()
    graph = graph_of(saver, state=Deltas)
    for word in "abc":
        say(graph, word)
    expected = graph.get_state(config()).values
    assert expected["words"] == ["a", "echo a", "b", "echo b", "c", "echo c"]
    saver.copy_thread("t", "copy")
    assert graph.get_state(config("copy")).values == expected
    saver.prune(["t"])
    assert graph.get_state(config()).values == expected
    saver.delete_thread("t")
    assert graph.get_state(config("copy")).values == expected
    assert say(graph, "d", config("copy"))[-1] == "echo d"


def pruning_leaves_nothing_that_is_not_needed():
    saver = opened()
    graph = graph_of(saver)
    for word in "abc":
        say(graph, word)
    saver.prune(["t"])
    assert len(list(saver.list(config()))) == 1
    rows = saver.client.batch([{"op": "list", "prefix": "", "limit": 1_000}])[0]["items"]
    kinds = [row["key"][0] for row in rows]
    assert kinds.count("c") == 1 and kinds.count("w") <= 1, kinds
    assert say(graph, "d")[-3:] == ["echo c", "d", "echo d"]
    saver.delete_thread("t")
    assert saver.client.batch([{"op": "list", "prefix": "", "limit": 9}])[0]["items"] == []


def a_run_is_deleted_and_its_parent_gone_on_from():
    saver = opened()
    graph = graph_of(saver)
    say(graph, "a")
    run_config = {**config(), "metadata": {"run_id": "run-2"}}
    say(graph, "b", run_config)
    saver.delete_for_runs(["run-2"])
    assert graph.get_state(config()).values["words"] == ["a", "echo a"]
    assert say(graph, "c") == ["a", "echo a", "c", "echo c"]


def messages_keep_their_types():
    class Messages(TypedDict):
        messages: Annotated[list, operator.add]

    graph = graph_of(opened(), lambda state: {"messages": [AIMessage("hello")]}, Messages)
    graph.invoke({"messages": [HumanMessage("hi")]}, config())
    kinds = [type(message) for message in graph.get_state(config()).values["messages"]]
    assert kinds == [HumanMessage, AIMessage]


def large_states_are_read_in_parts():
    graph = graph_of(opened())
    for word in "ab":
        say(graph, word * 2_500_000)
    history = list(graph.get_state_history(config()))
    assert len(history) == 6 and [len(word) for word in history[0].values["words"]] == [
        2_500_000,
        2_500_005,
        2_500_000,
        2_500_005,
    ]


run(
    [
        a_conversation_goes_on_with_another_saver,
        threads_and_namespaces_with_strange_names_are_apart,
        new_input_at_an_old_checkpoint_is_refused_unless_it_is_a_fork,
        replays_and_updates_fork_freely,
        an_update_that_came_between_is_not_superseded,
        a_thread_is_begun_once,
        an_interrupt_is_resumed_by_another_node,
        a_run_that_is_under_way_refuses_new_input,
        a_failed_run_can_be_repeated_or_followed,
        delta_channels_survive_pruning_and_copying,
        pruning_leaves_nothing_that_is_not_needed,
        a_run_is_deleted_and_its_parent_gone_on_from,
        messages_keep_their_types,
        large_states_are_read_in_parts,
    ]
)
