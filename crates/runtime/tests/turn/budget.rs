//! What a turn costs its store, counted: a change that makes turns dearer fails here.
//!
//! Which pages these are, `docs/scale.md` says ("The pages of a turn"): each leaf of a table or of an index that a commit
//! changes is one.

use crate::place::{agent, ask, borrowed, end, place_over, request};
use ambit_storage::Stores;
use ambit_storage::driver::{DriverOptions, WorkCounts};
use serde_json::json;

/// Turns of the one chat of a store, whose usual turn is the middle one. So neither the first turn counts, which makes the chat, nor
/// what a store does now and then beside turns (checkpoints, upkeep), nor what makes fewer than half of them expensive.
const TURNS: usize = 21;
/// Stores at most. On a busy machine turns show what they say in more steps, each a commit: the first store whose usual turn is within
/// the budget ends the test.
const STORES: usize = 10;

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

/// The usual turn of an existing chat over SQLite is within the budget.
async fn check(hooks: &str, budget: WorkCounts) {
    let mut usual = Vec::new();
    for _ in 0..STORES {
        let cost = usual_turn(&costs_of_turns(hooks).await);
        if is_within(cost, budget) {
            return;
        }
        usual.push(cost);
    }
    panic!("the usual turn of each store takes {usual:?}; the budget is {budget:?}");
}

/// The middle one of what turns take, for each thing that is counted.
fn usual_turn(costs: &[WorkCounts]) -> WorkCounts {
    let middle = |which: fn(&WorkCounts) -> u64| {
        let mut counts: Vec<u64> = costs.iter().map(which).collect();
        counts.sort_unstable();
        counts[counts.len() / 2]
    };
    WorkCounts {
        commits: middle(|cost| cost.commits),
        synced_commits: middle(|cost| cost.synced_commits),
        statements: middle(|cost| cost.statements),
        pages: middle(|cost| cost.pages),
    }
}

/// What turns of an existing chat take.
async fn costs_of_turns(hooks: &str) -> Vec<WorkCounts> {
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
        statements: 42,
        pages: 20,
    };
    check(HOOKS, budget).await;
}

#[tokio::test]
async fn each_durable_write_to_memory_is_one_more_commit() {
    let budget = WorkCounts {
        commits: 5,
        synced_commits: 4,
        statements: 48,
        pages: 22,
    };
    check(REMEMBERING, budget).await;
}
