//! Spaces: what belongs to one owner is never met by another.

use super::steps::*;
use super::{ConformanceCase, SpaceSnapshot, TestStore};
use crate::SessionIdentity;
use crate::address::{DEFAULT_TENANT, LogKey, Space};
use crate::batch::{Batch, WriteOutcome};
use crate::directory::RowState;

pub(super) const CASES: &[ConformanceCase] = cases![
    g051_distinct_identities_never_share_a_byte,
    g052_tenants_never_share_a_byte,
    g052_spaces_that_look_alike_never_share_a_byte,
    g054_wildcards_in_ids_are_letters,
    g055_a_prefix_is_a_whole_segment,
    g065_a_removed_space_leaves_its_siblings_as_they_were,
    g065_a_cleared_space_leaves_its_siblings_as_they_were,
    clear_leaves_an_empty_log_of_items,
    clear_of_a_space_without_items_leaves_nothing,
    g022_absent_empty_and_removed_differ,
    g069_nothing_of_a_removed_space_can_be_read,
];

const TEXTS: &[&str] = &[
    "5", "x", "default", "a_b", "a%b", "a*b", "axb", "a/b", "a:b", "a~b", "a~2fb", "a\\b", "a b",
    "a", "A", "a.", "a/", "é", "e\u{301}", "שלום", "日本", "u:5", "_", "..", "NUL",
];

/// Identities that differ in one place.
fn identities() -> Vec<SessionIdentity> {
    let build = |builder: crate::IdentityBuilder| must(builder.build());
    let mut all = Vec::new();
    for text in TEXTS {
        all.push(build(SessionIdentity::builder(*text)));
        let agent = || SessionIdentity::builder("Agent");
        all.push(build(agent().chat_name(*text)));
        all.push(build(agent().user_id(*text)));
        all.push(build(agent().group(*text)));
        all.push(build(agent().scope(*text)));
        all.push(build(agent().user_id(*text).chat_name(*text)));
    }
    all
}

/// Writes something different into each space, then expects to find it there alone.
async fn kept_apart(store: &TestStore, spaces: &[Space]) {
    for (number, space) in spaces.iter().enumerate() {
        let mark = number.to_string();
        let batch = Batch::of([
            append(&space.log("items"), &[("id", &mark)]),
            apply(&space.key("k"), set(&mark)),
            apply(&space.key("list"), push(&[&mark])),
        ]);
        must(store.commit(batch).await);
    }
    for (number, space) in spaces.iter().enumerate() {
        let mark = number.to_string();
        let found = (
            store.entries(&space.log("items")).await,
            store.values(space, "*").await,
        );
        let expected = (
            vec![entry(1, "id", &mark)],
            vec![
                ("k".to_owned(), mark.clone()),
                ("list".to_owned(), format!("[{mark}]")),
            ],
        );
        assert_eq!(found, expected, "{space}");
    }
}

async fn g051_distinct_identities_never_share_a_byte(store: TestStore) {
    let spaces: Vec<Space> = identities()
        .iter()
        .map(|identity| Space::of(DEFAULT_TENANT, identity))
        .collect();
    kept_apart(&store, &spaces).await;
}

async fn g052_tenants_never_share_a_byte(store: TestStore) {
    let spaces: Vec<Space> = TEXTS
        .iter()
        .map(|tenant| Space::of(tenant, &identity("s")))
        .collect();
    kept_apart(&store, &spaces).await;
}

async fn g052_spaces_that_look_alike_never_share_a_byte(store: TestStore) {
    let here = space("s");
    let lease = here.lease().space;
    let spaces = [
        here,
        lease,
        Space::user_memory(DEFAULT_TENANT, "5"),
        Space::team_memory(DEFAULT_TENANT, "5"),
        Space::user_store(DEFAULT_TENANT, "5"),
        Space::team_store(DEFAULT_TENANT, "5"),
        Space::request_memory(DEFAULT_TENANT, "5"),
        Space::user_memory("5", DEFAULT_TENANT),
        Space::memory_index(&Space::user_memory(DEFAULT_TENANT, "5"), &[]),
        Space::memory_indexes(),
        Space::recall_indexes(),
        Space::index_upkeep("values"),
        Space::usage_sums(DEFAULT_TENANT),
        Space::settings(DEFAULT_TENANT),
        Space::tombstones(DEFAULT_TENANT),
        Space::of(
            "default/a:Agent",
            &must(SessionIdentity::builder("x").build()),
        ),
        Space::of(
            "default",
            &must(SessionIdentity::builder("a:Agent/x").build()),
        ),
    ];
    kept_apart(&store, &spaces).await;
    let names: Vec<LogKey> = [
        "items", "items2", "item", "k", "list", "a_b", "axb", "a%", "*",
    ]
    .iter()
    .map(|name| space("names").log(*name))
    .collect();
    for log in &names {
        store.append(log, &[(&log.name, "1")]).await;
    }
    for log in &names {
        assert_eq!(store.entries(log).await, [entry(1, &log.name, "1")]);
    }
}

/// Removes or clears one space after the other; the others stay byte-equal each time.
async fn ends_alone(store: &TestStore, identities: &[SessionIdentity], removed: bool) {
    let spaces: Vec<Space> = identities
        .iter()
        .map(|identity| Space::of(DEFAULT_TENANT, identity))
        .collect();
    for (number, identity) in identities.iter().enumerate() {
        store.write(track(&format!("row{number}"), identity)).await;
    }
    kept_apart(store, &spaces).await;
    let mut before = Vec::new();
    for space in &spaces {
        before.push(store.snapshot(space).await);
    }
    for (number, space) in spaces.iter().enumerate() {
        let end = if removed { remove(space) } else { clear(space) };
        assert_eq!(store.write(end).await, WriteOutcome::Erased(3), "{space}");
        before[number] = store.snapshot(space).await;
        let left = store.log_names(space).await.len();
        assert_eq!(left, usize::from(!removed), "logs of {space}");
        assert_eq!(store.values(space, "*").await, [], "values of {space}");
        for (other, expected) in spaces.iter().zip(&before) {
            assert_eq!(
                &store.snapshot(other).await,
                expected,
                "{other} after the end of {space}"
            );
        }
    }
}

fn alike() -> Vec<SessionIdentity> {
    let chats = ["a_b", "axb", "a%", "ab", "a*", "a", "a\\b", "A"];
    chats.into_iter().map(identity).collect()
}

async fn g054_wildcards_in_ids_are_letters(store: TestStore) {
    ends_alone(&store, &alike(), true).await;
}

async fn g055_a_prefix_is_a_whole_segment(store: TestStore) {
    let build = |builder: crate::IdentityBuilder| must(builder.build());
    let agent = |name: &str| SessionIdentity::builder(name);
    let nested = [
        build(agent("acme")),
        build(agent("acme-corp")),
        build(agent("acme").user_id("5")),
        build(agent("acme").user_id("55")),
        build(agent("acme").user_id("5").chat_name("c")),
        build(agent("acme").user_id("5").chat_name("c").scope("usage")),
    ];
    ends_alone(&store, &nested, true).await;
}

fn siblings() -> Vec<SessionIdentity> {
    let base = identity("s").base();
    let scopes = ["chatHistory", "usage", "chatHistory2", "chat"];
    let scoped = scopes.iter().map(|scope| must(base.with_scope(*scope)));
    scoped.chain([base.clone()]).collect()
}

async fn g065_a_removed_space_leaves_its_siblings_as_they_were(store: TestStore) {
    ends_alone(&store, &siblings(), true).await;
}

async fn g065_a_cleared_space_leaves_its_siblings_as_they_were(store: TestStore) {
    ends_alone(&store, &siblings(), false).await;
}

async fn clear_leaves_an_empty_log_of_items(store: TestStore) {
    let here = space("s");
    let batch = Batch::of([
        track("row", &identity("s")),
        append(&here.log("items"), &[("a", "1"), ("b", "2")]),
        append(&here.log("overlays"), &[("a", "1")]),
        apply(&here.key("k"), set("[1,2,3]")),
    ]);
    must(store.commit(batch).await);
    let first = some(store.head(&here.log("items")).await);
    assert_eq!(store.write(clear(&here)).await, WriteOutcome::Erased(4));
    let second = some(store.head(&here.log("items")).await);
    assert_eq!(second.last, 0);
    assert!(second.generation > first.generation);
    assert_eq!(store.log_names(&here).await, ["items"]);
    assert_eq!(store.values(&here, "*").await, []);
    let row = some(store.row(&identity("s")).await);
    assert_eq!(
        (row.state, row.items, row.generation),
        (RowState::Cleared, 0, second.generation)
    );
    assert_eq!(store.write(clear(&here)).await, WriteOutcome::Erased(0));
    let third = some(store.head(&here.log("items")).await);
    assert!(third.generation > second.generation);
    store.append(&here.log("items"), &[("a", "3")]).await;
    assert_eq!(
        store.entries(&here.log("items")).await,
        [entry(1, "a", "3")],
        "an id of before the clear is new"
    );
}

async fn clear_of_a_space_without_items_leaves_nothing(store: TestStore) {
    let here = space("s");
    assert_eq!(store.write(clear(&here)).await, WriteOutcome::Erased(0));
    assert_eq!(store.snapshot(&here).await, SpaceSnapshot::default());
    let batch = Batch::of([
        append(&here.log("usage"), &[("a", "1")]),
        apply(&here.key("k"), set("1")),
    ]);
    must(store.commit(batch).await);
    assert_eq!(store.write(clear(&here)).await, WriteOutcome::Erased(2));
    assert_eq!(store.snapshot(&here).await, SpaceSnapshot::default());
}

async fn g022_absent_empty_and_removed_differ(store: TestStore) {
    let here = space("s");
    let log = here.log("items");
    let items = |head: Option<crate::batch::Head>| head.map(|head| head.last);
    assert_eq!(items(store.head(&log).await), None);
    store.append(&log, &[("a", "1")]).await;
    assert_eq!(items(store.head(&log).await), Some(1));
    store.write(clear(&here)).await;
    assert_eq!(items(store.head(&log).await), Some(0));
    store.write(remove(&here)).await;
    assert_eq!(items(store.head(&log).await), None);
}

async fn g069_nothing_of_a_removed_space_can_be_read(store: TestStore) {
    let other = store.open().await;
    let here = space("s");
    let untouched = store.snapshot(&here).await;
    assert_eq!(untouched, SpaceSnapshot::default());
    let batch = Batch::of([
        append(&here.log("items"), &[("a", "1")]),
        append(&here.log("blobs"), &[("a", "1")]),
        append(&here.log("empty"), &[]),
        apply(&here.key("k"), set("[1]")),
        apply_for(&here.key("short"), set("1"), MINUTE),
    ]);
    must(store.commit(batch).await);
    assert_eq!(store.write(remove(&here)).await, WriteOutcome::Erased(4));
    for handle in [&store, &other] {
        assert_eq!(handle.snapshot(&here).await, SpaceSnapshot::default());
    }
    assert_eq!(store.write(remove(&here)).await, WriteOutcome::Erased(0));
    store.clock().advance(2 * MINUTE);
    assert_eq!(must(store.sweep(MANY).await), 0);
}
