"""16 writers on one thread, on Ambit and on LangGraph's own saver. Run with an API key and the URLs of the nodes."""

import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

from cases import TwoNodes, run, space
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from ambit_store import AmbitSaver, CheckpointConflict

key, *urls = sys.argv[1:]
WRITERS, TURNS = 16, 12


class State(TypedDict):
    messages: Annotated[list, add_messages]
    count: int


class Race:
    def __init__(self, saver):
        self.calls = []
        graph = StateGraph(State)
        graph.add_node("agent", self.answer)
        graph.add_edge(START, "agent")
        graph.add_edge("agent", END)
        self.graph = graph.compile(checkpointer=saver)
        self.config = {"configurable": {"thread_id": "race"}}

    def answer(self, state):
        asked = state["messages"][-1].id
        self.calls.append(asked)
        return {"messages": [AIMessage("x" * 295, id=f"to {asked}")], "count": state.get("count", 0) + 1}

    def turn(self, name):
        """True if the turn is stored, false if it was refused."""
        asked = HumanMessage("x" * 295, id=name)
        try:
            self.graph.invoke({"messages": [asked]}, self.config, durability="sync")
        except CheckpointConflict:
            return False
        return True

    def write(self, writer):
        with ThreadPoolExecutor(WRITERS) as writers:
            return [name for names in writers.map(writer, range(WRITERS)) for name in names]

    def write_all(self):
        """Says each turn again until it is stored; the names of all turns, and how often one was refused."""
        refused = []

        def writer(number):
            names = [f"{number}-{turn}" for turn in range(TURNS)]
            for name in names:
                while not self.turn(name):
                    refused.append(name)
                    time.sleep(random.uniform(0.1, 1.5))
            return names

        return self.write(writer), len(refused)

    def report(self, saver, refused):
        said = f"{len(self.ids())} of {2 * WRITERS * TURNS} messages"
        print(f"# {saver}: {said}, {refused} attempts refused, {len(self.calls)} calls of the model")

    def ids(self):
        return [message.id for message in self.graph.get_state(self.config).values["messages"]]


def on_ambit(**options):
    return Race(AmbitSaver(TwoNodes(urls, key, space=space()), **options))


def every_turn_is_stored_or_refused():
    race = on_ambit()

    def writer(number):
        names = [f"{number}-{turn}" for turn in range(TURNS)]
        return [name for name in names if race.turn(name)]

    stored = race.write(writer)
    ids = race.ids()
    print(f"# {len(stored)} of {WRITERS * TURNS} turns stored, the others refused")
    assert stored and len(set(ids)) == len(ids)
    for name in stored:
        assert name in ids and f"to {name}" in ids, name


def all_messages_are_there_and_no_refused_turn_has_called_the_model():
    race = on_ambit(busy_for=60)
    stored, refused = race.write_all()
    race.report("AmbitSaver", refused)
    ids = race.ids()
    assert len(ids) == len(set(ids)) == 2 * WRITERS * TURNS
    assert set(ids) == {id for name in stored for id in (name, f"to {name}")}
    assert sorted(race.calls) == sorted(stored)
    assert race.graph.get_state(race.config).values["count"] == WRITERS * TURNS


def the_same_race_without_ambit_is_counted():
    with tempfile.TemporaryDirectory() as folder, SqliteSaver.from_conn_string(f"{folder}/own.db") as saver:
        race = Race(saver)
        _, refused = race.write_all()
        # How many there are is LangGraph's affair; that each turn was run makes the figure one to compare with.
        race.report("SqliteSaver", refused)
        assert len(race.calls) == WRITERS * TURNS


run(
    [
        every_turn_is_stored_or_refused,
        all_messages_are_there_and_no_refused_turn_has_called_the_model,
        the_same_race_without_ambit_is_counted,
    ]
)
