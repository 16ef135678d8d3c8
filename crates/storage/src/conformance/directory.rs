//! The index: one row per storage, and what it says.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::SessionIdentity;
use crate::address::{DEFAULT_TENANT, Space};
use crate::batch::{Batch, BatchWrite, WriteOutcome};
use crate::clock::Millis;
use crate::directory::{AgentTouch, IndexRow, PageRequest, RowFilter, RowOrder, RowState};
use std::collections::BTreeMap;

pub(super) const CASES: &[ConformanceCase] = cases![
    a_row_says_what_it_was_made_with,
    tracking_again_changes_nothing_but_touches,
    agents_of_a_group_share_a_row,
    a_row_tells_the_state_of_its_items,
    a_row_moves_when_items_are_added,
    a_row_that_was_untracked_is_new_again,
    untracking_takes_the_row_of_its_tenant_alone,
    one_identity_of_two_tenants_has_two_rows,
    rows_come_in_each_order,
    g080_pages_of_any_size_give_each_row_once,
    g081_pages_give_each_row_once_under_inserts,
];

fn tenant() -> RowFilter {
    RowFilter::tenant(DEFAULT_TENANT)
}

fn untrack(tenant: &str, id: &str) -> BatchWrite {
    BatchWrite::untrack(tenant, id)
}

/// A row of these times, touched by its own agent.
fn expected(id: &str, identity: &SessionIdentity, row: &IndexRow) -> IndexRow {
    IndexRow {
        id: id.to_owned(),
        ordinal: row.ordinal,
        tenant: DEFAULT_TENANT.to_owned(),
        identity: identity.clone(),
        state: RowState::Live,
        generation: 0,
        items: 0,
        created_at: row.created_at,
        last_activity_at: row.created_at,
        placement: vec!["main".to_owned()],
        created_by: None,
        team: None,
        labels: BTreeMap::new(),
        touches: vec![AgentTouch {
            agent: identity.agent_name().to_owned(),
            base: identity.base(),
            first_at: row.created_at,
            last_at: row.created_at,
        }],
    }
}

async fn a_row_says_what_it_was_made_with(store: TestStore) {
    let plain = identity("plain");
    store.write(track("one", &plain)).await;
    let found = some(store.row(&plain).await);
    assert_eq!(found, expected("one", &plain, &found));
    let full = must(
        SessionIdentity::builder("Agent \"7\"")
            .user_id("user/7")
            .chat_name("chat 7 😀")
            .group("gr_up")
            .scope("usage")
            .build(),
    );
    let labels = [("kind", "test"), ("a\"b", "c'd\\")];
    let mut request = request("two", &full);
    request.placement = vec!["main".to_owned(), "second".to_owned()];
    request.created_by = Some("user/7".to_owned());
    request.team = Some("team".to_owned());
    request.labels = labels
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    store
        .write(BatchWrite::Track(Box::new(request.clone())))
        .await;
    let found = some(store.row(&full).await);
    let expected = IndexRow {
        placement: request.placement,
        created_by: request.created_by,
        team: request.team,
        labels: request.labels,
        ..expected("two", &full, &found)
    };
    assert_eq!(found, expected);
    let distance = (found.created_at - store.clock().now()).abs();
    assert!(distance < millis(HOUR), "{distance} ms from this clock");
}

async fn tracking_again_changes_nothing_but_touches(store: TestStore) {
    let identity = identity("s");
    store.write(track("one", &identity)).await;
    let first = some(store.row(&identity).await);
    let mut again = request("two", &identity);
    again.team = Some("other".to_owned());
    again.labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let again = || BatchWrite::Track(Box::new(again.clone()));
    assert_eq!(
        store.write(again()).await,
        WriteOutcome::tracked("one", false)
    );
    store.clock().advance(MINUTE);
    store.write(again()).await;
    let second = some(store.row(&identity).await);
    let last_at = second.touches[0].last_at;
    assert!(last_at - first.created_at >= millis(MINUTE));
    let mut expected = first;
    expected.touches[0].last_at = last_at;
    assert_eq!(second, expected);
}

async fn agents_of_a_group_share_a_row(store: TestStore) {
    let member = |agent: &str| {
        must(
            SessionIdentity::builder(agent)
                .group("team")
                .chat_name("s")
                .build(),
        )
    };
    for (id, agent) in [("one", "First"), ("two", "Second"), ("three", "First")] {
        store.write(track(id, &member(agent))).await;
    }
    let rows = store.rows(&tenant(), RowOrder::Oldest).await;
    let touched: Vec<(&str, Vec<&str>)> = rows
        .iter()
        .map(|row| {
            let agents = row.touches.iter().map(|touch| touch.agent.as_str());
            (row.id.as_str(), agents.collect())
        })
        .collect();
    assert_eq!(touched, [("one", vec!["First", "Second"])]);
    assert_eq!(rows[0].touches[1].base, member("Second").base());
    for agent in ["First", "Second"] {
        let filter = RowFilter {
            agent: Some(agent.to_owned()),
            ..tenant()
        };
        assert_eq!(must(store.count(&filter).await), 1, "{agent}");
    }
}

async fn a_row_tells_the_state_of_its_items(store: TestStore) {
    let (identity, here) = (identity("s"), space("s"));
    let told = async || {
        let row = some(store.row(&identity).await);
        (row.state, row.items, row.generation)
    };
    store.write(track("one", &identity)).await;
    store.append(&here.log("usage"), &[("a", "1")]).await;
    assert_eq!(told().await, (RowState::Live, 0, 0));
    store.append(&here.log("items"), &[]).await;
    let begun = some(store.head(&here.log("items")).await).generation;
    assert_eq!(told().await, (RowState::Cleared, 0, begun));
    store
        .append(&here.log("items"), &[("a", "1"), ("b", "2")])
        .await;
    assert_eq!(told().await, (RowState::Live, 2, begun));
    store.write(clear(&here)).await;
    let cleared = some(store.head(&here.log("items")).await).generation;
    assert_eq!(told().await, (RowState::Cleared, 0, cleared));
    store.append(&here.log("items"), &[("a", "1")]).await;
    assert_eq!(told().await, (RowState::Live, 1, cleared));
    store.write(remove(&here)).await;
    assert_eq!(told().await, (RowState::Live, 0, 0));
}

async fn a_row_moves_when_items_are_added(store: TestStore) {
    let (identity, here) = (identity("s"), space("s"));
    let active = async || some(store.row(&identity).await).last_activity_at;
    store.write(track("one", &identity)).await;
    let made = active().await;
    store.clock().advance(MINUTE);
    store.append(&here.log("usage"), &[("a", "1")]).await;
    store.write(apply(&here.key("k"), set("1"))).await;
    store.write(track("one", &identity)).await;
    store.append(&space("t").log("items"), &[("a", "1")]).await;
    assert_eq!(active().await, made, "nothing was added to its items");
    store.append(&here.log("items"), &[("a", "1")]).await;
    let moved: Millis = active().await;
    let by = moved - made;
    assert!(
        (millis(MINUTE)..millis(HOUR)).contains(&by),
        "a minute passed, not {by} ms"
    );
    store.clock().set_back(HOUR);
    store.append(&here.log("items"), &[("b", "1")]).await;
    assert_eq!(active().await, moved, "time set back moves nothing");
}

async fn a_row_that_was_untracked_is_new_again(store: TestStore) {
    let identity = identity("s");
    store.write(track("one", &identity)).await;
    let first = some(store.row(&identity).await);
    let erased = store.write(untrack(DEFAULT_TENANT, "one")).await;
    assert_eq!(erased, WriteOutcome::Erased(1));
    assert_eq!(store.row(&identity).await, None);
    assert_eq!(
        store.write(track("two", &identity)).await,
        WriteOutcome::tracked("two", true)
    );
    let second = some(store.row(&identity).await);
    assert!(second.ordinal > first.ordinal);
    assert_eq!(second, expected("two", &identity, &second));
}

async fn untracking_takes_the_row_of_its_tenant_alone(store: TestStore) {
    store.write(track("one", &identity("s"))).await;
    store.append(&space("s").log("items"), &[("a", "1")]).await;
    for (tenant, id) in [
        ("other", "one"),
        (DEFAULT_TENANT, "two"),
        (DEFAULT_TENANT, "on%"),
    ] {
        let erased = store.write(untrack(tenant, id)).await;
        assert_eq!(erased, WriteOutcome::Erased(0));
    }
    assert_eq!(must(store.count(&tenant()).await), 1);
    store.write(untrack(DEFAULT_TENANT, "one")).await;
    assert_eq!(must(store.count(&tenant()).await), 0);
    assert_eq!(
        store.entries(&space("s").log("items")).await,
        [entry(1, "a", "1")],
        "the data is not the row's"
    );
}

async fn one_identity_of_two_tenants_has_two_rows(store: TestStore) {
    let identity = identity("s");
    for (number, name) in ["acme", "acme-corp", "ACME"].iter().enumerate() {
        let mut request = request(&format!("row{number}"), &identity);
        request.tenant = (*name).to_owned();
        let items = Space::of(name, &identity).log("items");
        let ids = ["a", "b", "c"];
        let entries: Vec<(&str, &str)> = ids[..=number].iter().map(|id| (*id, "1")).collect();
        let writes = [
            BatchWrite::Track(Box::new(request)),
            append(&items, &entries),
        ];
        must(store.commit(Batch::of(writes)).await);
    }
    for (number, name) in ["acme", "acme-corp", "ACME"].iter().enumerate() {
        let found = store
            .rows(&RowFilter::tenant(*name), RowOrder::Oldest)
            .await;
        let found: Vec<(&str, u64)> = found
            .iter()
            .map(|row| (row.id.as_str(), row.items))
            .collect();
        assert_eq!(
            found,
            [(format!("row{number}").as_str(), number as u64 + 1)]
        );
    }
    assert_eq!(must(store.count(&RowFilter::default()).await), 3);
}

/// Rows of ten chats, made a minute apart; then three of them are worked on again.
async fn ten(store: &TestStore) {
    for number in 0..10 {
        let row = format!("row{number}");
        store.write(track(&row, &identity(&row))).await;
        store.clock().advance(MINUTE);
    }
    for number in [4, 1, 7] {
        let log = space(&format!("row{number}")).log("items");
        store.append(&log, &[("a", "1")]).await;
        store.clock().advance(MINUTE);
    }
}

const ORDERS: [(RowOrder, [u64; 10]); 3] = [
    (RowOrder::Oldest, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    (RowOrder::Newest, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
    (RowOrder::Recent, [7, 1, 4, 9, 8, 6, 5, 3, 2, 0]),
];

fn ids(rows: &[IndexRow]) -> Vec<String> {
    rows.iter().map(|row| row.id.clone()).collect()
}

async fn rows_come_in_each_order(store: TestStore) {
    ten(&store).await;
    for (order, expected) in ORDERS {
        let found = ids(&store.rows(&tenant(), order).await);
        assert_eq!(
            found,
            expected.map(|number| format!("row{number}")),
            "{order:?}"
        );
    }
}

/// All rows, page by page; after most pages the driver `inserts` makes one more.
async fn paged(
    store: &TestStore,
    order: RowOrder,
    limit: usize,
    inserts: Option<&TestStore>,
) -> Vec<IndexRow> {
    let mut found: Vec<IndexRow> = Vec::new();
    for number in 0.. {
        let page = PageRequest {
            order,
            after: found.last().map(IndexRow::position),
            limit,
        };
        let page = must(store.identities(&tenant(), &page).await);
        assert!(page.len() <= limit);
        if page.is_empty() {
            break;
        }
        found.extend(page);
        if let Some(other) = inserts.filter(|_| number < 3) {
            let row = format!("new{number}{order:?}");
            other.write(track(&row, &identity(&row))).await;
        }
    }
    found
}

async fn g080_pages_of_any_size_give_each_row_once(store: TestStore) {
    ten(&store).await;
    for (order, _) in ORDERS {
        let whole = store.rows(&tenant(), order).await;
        for limit in [1, 2, 3, 9, 10, 11] {
            let found = paged(&store, order, limit, None).await;
            assert_eq!(found, whole, "{order:?} by {limit}");
        }
        let none = PageRequest {
            order,
            after: None,
            limit: 0,
        };
        assert_eq!(must(store.identities(&tenant(), &none).await), []);
    }
}

async fn g081_pages_give_each_row_once_under_inserts(store: TestStore) {
    let other = store.open().await;
    ten(&store).await;
    for (order, expected) in ORDERS {
        let found = paged(&store, order, 3, Some(&other)).await;
        let mut old = ids(&found);
        old.retain(|id| id.starts_with("row"));
        assert_eq!(old, expected.map(|number| format!("row{number}")));
        let mut all = ids(&found);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), found.len(), "{order:?} gives no row twice");
    }
}
