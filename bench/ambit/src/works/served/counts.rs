//! What a turn of an existing chat takes of its SQLite store, counted in process.

use crate::Result;
use crate::app::{BRIEF, CLERK, OBSERVER, PROMPT};
use crate::measure::{Row, median};
use crate::node::{Node, TurnCost};
use crate::works::Bench;

/// Turns that are counted, and those before them, of which the first makes the chat.
const TURNS: usize = 100;
const BEFORE: usize = 5;

pub async fn run(bench: &Bench, url: &str) -> Result<()> {
    let node = Node::open(url).await?;
    for (agent, how) in [(CLERK, ""), (OBSERVER, " (no writes to memory)")] {
        let costs = costs(&node, agent).await?;
        let work = |what: &str| format!("W8 {what}{how}");
        let output = &bench.output;
        let statements = usual(&costs, |cost| cost.statements);
        output.row(row(&work("statements"), "statements/turn"), statements);
        let pages = usual(&costs, |cost| cost.pages);
        output.row(row(&work("WAL pages"), "pages/turn"), pages);
        let synced = usual(&costs, |cost| cost.synced_commits);
        output.row(row(&work("synced commits"), "commits/turn"), synced);
    }
    let synced = |cost: &TurnCost| cost.synced_commits;
    let without = usual(&costs(&node, BRIEF).await?, synced);
    let with = usual(&costs(&node, PROMPT).await?, synced);
    let tool = Row {
        note: "a turn with one round of tools, less one without",
        ..row("W8 tool round, synced commits", "commits/round")
    };
    bench.output.row(tool, with - without);
    node.close().await
}

fn row<'a>(work: &'a str, unit: &'a str) -> Row<'a> {
    Row {
        work,
        p: 1,
        unit,
        note: "the usual turn of a hundred of an existing chat, without HTTP",
    }
}

async fn costs(node: &Node, agent: &str) -> Result<Vec<TurnCost>> {
    let mut costs = Vec::with_capacity(TURNS);
    for number in 0..BEFORE + TURNS {
        let cost = node.counted_of(agent, "ann", agent, number).await?;
        costs.extend((number >= BEFORE).then_some(cost));
    }
    Ok(costs)
}

fn usual(costs: &[TurnCost], which: fn(&TurnCost) -> f64) -> f64 {
    median(costs.iter().map(which).collect())
}
