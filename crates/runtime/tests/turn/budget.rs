//! What a turn costs its store, counted: a change that makes turns dearer fails here.

use crate::place::{agent, ask, borrowed, end, place_over, request};
use ambit_storage::Stores;
use ambit_storage::driver::{DriverOptions, WorkCounts};
use serde_json::json;

/// Stores, and turns of the one chat of each, at most. What a store does now and then belongs to no turn, a turn on a busy machine
/// shows what it says in more steps, and one in a store that has grown changes more pages; so the first one within the budget ends
/// the test.
const STORES: usize = 5;
const TURNS: usize = 40;

/// Both hooks, without tools.
const HOOKS: &str = r#"
    export function Create(ctx, messages) {
        ctx.trace.Add({ type: "hook", input: messages.length }, { label: "Prepare" });
        return { temperature: 0.2 };
    }
    export function Next(ctx, payload) {
        return { data: { said: payload.completion.content } };
    }
"#;

/// The same with two writes to memory that are durable when they return.
const REMEMBERING: &str = r#"
    export function Create(ctx, messages) {
        ctx.memory.user.Incr("visits");
        ctx.memory.chat.Set("last", messages[messages.length - 1].content);
    }
    export function Next(ctx, payload) {
        return { data: { said: payload.completion.content } };
    }
"#;

/// Turns of existing chats over SQLite, until one is within the budget.
async fn check(hooks: &str, budget: WorkCounts) {
    let mut costs = Vec::new();
    for _ in 0..STORES {
        costs.extend(costs_of_turns(hooks, |cost| is_within(cost, budget)).await);
        if costs.last().is_some_and(|cost| is_within(*cost, budget)) {
            return;
        }
    }
    let cheapest = costs.iter().min_by_key(|cost| cost.statements);
    panic!("the cheapest turn takes {cheapest:?}; the budget is {budget:?}");
}

/// What turns of an existing chat take, up to the first that ends the test.
async fn costs_of_turns(hooks: &str, is_last: impl Fn(WorkCounts) -> bool) -> Vec<WorkCounts> {
    let folder = tempfile::tempdir().unwrap();
    let options = DriverOptions::default();
    let work = options.work.clone();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let stores = Stores::builder(options).open(&url).await.unwrap();
    let files = agent(&json!({}), hooks);
    let place = place_over(&borrowed(&files), stores.build().unwrap()).await;
    let mut costs = Vec::new();
    // The first turn makes the chat.
    for turn in 0..=TURNS {
        let before = work.counts();
        let frames = ask(&place, request("hello", &format!("question {turn}"))).await;
        assert_eq!(end(&frames)["status"], "completed");
        let cost = work.counts() - before;
        if turn > 0 {
            costs.push(cost);
        }
        if turn > 0 && is_last(cost) {
            break;
        }
    }
    costs
}

fn is_within(cost: WorkCounts, budget: WorkCounts) -> bool {
    cost.commits <= budget.commits
        && cost.synced_commits <= budget.synced_commits
        && cost.statements <= budget.statements
        && cost.pages <= budget.pages
}

#[tokio::test]
async fn a_turn_with_both_hooks_stays_within_its_budget() {
    let budget = WorkCounts {
        commits: 3,
        synced_commits: 2,
        statements: 53,
        pages: 32,
    };
    check(HOOKS, budget).await;
}

#[tokio::test]
async fn each_durable_write_to_memory_is_one_more_commit() {
    let budget = WorkCounts {
        commits: 5,
        synced_commits: 4,
        statements: 63,
        pages: 35,
    };
    check(REMEMBERING, budget).await;
}
