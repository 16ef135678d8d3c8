//! W17: what a turn, a list and a start cost in a store that has grown, and how long upkeep keeps others from writing.

mod fill;
mod upkeep;

use super::Bench;
use crate::Result;
use crate::measure::{Row, median, processor_seconds};
use crate::node::{Node, TurnCost, person};
use crate::served::Served;
use ambit_runtime::chats::{self, ChatFilter, ChatSource, PageWindow};
use ambit_runtime::{Authorized, DataConstraints};

/// Turns in each of two chats, of users or stores that are compared. They take their turns one after the other.
const TURNS: usize = 100;
/// Turns before, which are not counted.
const BEFORE: usize = 10;
/// Lists that are read of each user.
const LISTS: usize = 40;
/// Chats of a page.
const PAGE: usize = 20;
/// Messages of the chat, chats of the person, and entries of the store that are small.
const SMALL: [usize; 3] = [100, 100, 10_000];
/// Starts of the server over each store.
const STARTS: usize = 9;

pub async fn run(bench: &Bench) -> Result<()> {
    let Some(store) = bench.served("w17").filter(|_| bench.scheme() == "sqlite") else {
        return Ok(());
    };
    chats_that_grow(bench, &format!("{store}-chat")).await?;
    people_with_chats(bench, &format!("{store}-user")).await?;
    stores_that_grow(bench, &store).await?;
    upkeep::run(bench, &format!("{store}-upkeep")).await
}

/// Turns of a chat with few messages and of one with many.
async fn chats_that_grow(bench: &Bench, url: &str) -> Result<()> {
    let sizes = [SMALL[0], bench.sizes.long];
    let node = Node::open(url).await?;
    for size in sizes {
        let chat = format!("chat{size}");
        node.turn("ann", &chat, 0).await?;
        fill::lengthen(&node, &chat, size).await?;
    }
    let costs = in_turn(
        &node,
        |size, _| ("ann".to_owned(), format!("chat{size}")),
        sizes,
    )
    .await?;
    for (size, cost) in sizes.into_iter().zip(costs) {
        cost.print(
            bench,
            of("W17 turn", size, "the size is the chat's messages"),
        );
    }
    node.close().await
}

/// Lists and new chats of a person with few chats and of one with many.
async fn people_with_chats(bench: &Bench, url: &str) -> Result<()> {
    let sizes = [SMALL[1], bench.sizes.chats];
    let node = Node::open(url).await?;
    for size in sizes {
        let user = format!("user{size}");
        node.turn(&user, "first", 0).await?;
        fill::chats(&node, &user, size).await?;
    }
    let owner = DataConstraints {
        owner_only: true,
        ..DataConstraints::default()
    };
    for (work, limits) in [
        ("W17 list 20 chats", owner),
        ("W17 list 20 chats of all", DataConstraints::default()),
    ] {
        for size in sizes {
            let who = Authorized {
                constraints: limits.clone(),
                ..person(&format!("user{size}"))
            };
            let row = Row {
                work,
                p: size,
                unit: "ms",
                note: "the size is the chats of the person; with their number",
            };
            bench.output.row(row, list(&node, &who).await?);
        }
    }
    let new = |size: usize, number: usize| (format!("user{size}"), format!("new{number}"));
    let costs = in_turn(&node, new, sizes).await?;
    for (size, cost) in sizes.into_iter().zip(costs) {
        let note = "the size is the chats of the person";
        cost.print(bench, of("W17 first turn of a chat", size, note));
    }
    node.close().await
}

/// Milliseconds of processor time for a page of chats.
async fn list(node: &Node, who: &Authorized) -> Result<f64> {
    let ambit = node.runtime.contexts(who);
    // As the route asks: chats of clients of OpenAI's Responses are left out.
    let filter = ChatFilter {
        source: Some(ChatSource::Chat),
        ..ChatFilter::default()
    };
    let window = PageWindow {
        skip: 0,
        limit: PAGE,
    };
    let mut spent = Vec::new();
    for _ in 0..LISTS {
        let before = processor_seconds();
        let page = chats::list(&ambit, who, &filter, window).await?;
        spent.push((processor_seconds() - before) * 1e3);
        if page.items.len() != PAGE {
            return Err(format!("{} chats were listed", page.items.len()).into());
        }
    }
    Ok(median(spent))
}

/// Turns, and starts of the server, over a store with few entries and one with many.
async fn stores_that_grow(bench: &Bench, store: &str) -> Result<()> {
    let sizes = [SMALL[2], bench.sizes.entries];
    let url = |size: usize| format!("{store}-{size}");
    let mut nodes = Vec::new();
    for size in sizes {
        let node = Node::open(&url(size)).await?;
        node.turn("ann", "chat", 0).await?;
        fill::entries(&node, size).await?;
        nodes.push(node);
    }
    let mut spent: [Vec<TurnCost>; 2] = Default::default();
    for number in 0..BEFORE + TURNS {
        for (node, spent) in nodes.iter().zip(&mut spent) {
            spent.push(node.counted("ann", "chat", number).await?);
        }
    }
    for (size, spent) in sizes.into_iter().zip(spent) {
        let note = "the size is the entries of the store";
        TurnCosts::of(&spent[BEFORE..]).print(bench, of("W17 turn in a store", size, note));
    }
    for node in nodes {
        node.driver.close().await?;
        node.close().await?;
    }
    let mut starts: [Vec<f64>; 2] = Default::default();
    for _ in 0..STARTS {
        for (size, starts) in sizes.into_iter().zip(&mut starts) {
            let served = Served::start(&url(size)).await?;
            starts.push(served.since.elapsed().as_secs_f64() * 1e3);
            served.stop().await?;
        }
    }
    for (size, starts) in sizes.into_iter().zip(starts) {
        let row = Row {
            work: "W17 start",
            p: size,
            unit: "ms",
            note: "from the start of the process until it listens; the size is the entries of the store",
        };
        bench.output.row(row, median(starts));
    }
    Ok(())
}

/// Something of this size.
fn of<'a>(work: &'a str, p: usize, note: &'a str) -> Row<'a> {
    Row {
        work,
        p,
        unit: "",
        note,
    }
}

/// Medians of some turns.
struct TurnCosts {
    cpu: f64,
    statements: f64,
    pages: f64,
}

impl TurnCosts {
    fn of(costs: &[TurnCost]) -> Self {
        let of = |which: fn(&TurnCost) -> f64| median(costs.iter().map(which).collect());
        Self {
            cpu: of(|cost| cost.cpu),
            statements: of(|cost| cost.statements),
            pages: of(|cost| cost.pages),
        }
    }

    /// Prints them; the row says of what, and how large that is.
    fn print(&self, bench: &Bench, of: Row<'_>) {
        let rows = [
            ("CPU", "ms/turn", self.cpu),
            ("statements", "statements/turn", self.statements),
            ("WAL pages", "pages/turn", self.pages),
        ];
        for (what, unit, value) in rows {
            let work = format!("{}, {what}", of.work);
            let row = Row {
                work: &work,
                unit,
                ..of
            };
            bench.output.row(row, value);
        }
    }
}

/// Turns of two sizes, one after the other. `which` says whose chat it is and how it is named.
async fn in_turn(
    node: &Node,
    which: impl Fn(usize, usize) -> (String, String),
    sizes: [usize; 2],
) -> Result<[TurnCosts; 2]> {
    let mut spent: [Vec<TurnCost>; 2] = Default::default();
    for number in 0..BEFORE + TURNS {
        for (size, spent) in sizes.into_iter().zip(&mut spent) {
            let (user, chat) = which(size, number);
            spent.push(node.counted(&user, &chat, number).await?);
        }
    }
    Ok(spent.map(|spent| TurnCosts::of(&spent[BEFORE..])))
}
