//! The index: one row per storage, and what it says.

use super::steps::*;
use super::{ConformanceCase, DriverFixture};
use crate::SessionIdentity;
use crate::address::{DEFAULT_TENANT, Space};
use crate::batch::{Batch, BatchWrite, WriteOutcome};
use crate::clock::Millis;
use crate::directory::{AgentTouch, IndexRow, PageRequest, RowFilter, RowOrder, RowState};
use crate::driver::Driver;
use std::collections::BTreeMap;
use std::sync::Arc;

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
    BatchWrite::Untrack {
        tenant: tenant.to_owned(),
        id: id.to_owned(),
    }
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

async fn a_row_says_what_it_was_made_with(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let plain = identity("plain");
    write(&*driver, track("one", &plain)).await;
    let found = some(row(&*driver, &plain).await);
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
    write(&*driver, BatchWrite::Track(Box::new(request.clone()))).await;
    let found = some(row(&*driver, &full).await);
    let expected = IndexRow {
        placement: request.placement,
        created_by: request.created_by,
        team: request.team,
        labels: request.labels,
        ..expected("two", &full, &found)
    };
    assert_eq!(found, expected);
    let distance = (found.created_at - fixture.clock().now()).abs();
    assert!(distance < millis(HOUR), "{distance} ms from this clock");
}

async fn tracking_again_changes_nothing_but_touches(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let identity = identity("s");
    write(&*driver, track("one", &identity)).await;
    let first = some(row(&*driver, &identity).await);
    let mut again = request("two", &identity);
    again.team = Some("other".to_owned());
    again.labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let again = || BatchWrite::Track(Box::new(again.clone()));
    assert_eq!(
        write(&*driver, again()).await,
        WriteOutcome::Tracked {
            id: "one".to_owned(),
            is_new: false
        }
    );
    fixture.clock().advance(MINUTE);
    write(&*driver, again()).await;
    let second = some(row(&*driver, &identity).await);
    let last_at = second.touches[0].last_at;
    assert!(last_at - first.created_at >= millis(MINUTE));
    let mut expected = first;
    expected.touches[0].last_at = last_at;
    assert_eq!(second, expected);
}

async fn agents_of_a_group_share_a_row(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let member = |agent: &str| {
        must(
            SessionIdentity::builder(agent)
                .group("team")
                .chat_name("s")
                .build(),
        )
    };
    for (id, agent) in [("one", "First"), ("two", "Second"), ("three", "First")] {
        write(&*driver, track(id, &member(agent))).await;
    }
    let rows = rows(&*driver, &tenant(), RowOrder::Oldest).await;
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
        assert_eq!(must(driver.count(&filter).await), 1, "{agent}");
    }
}

async fn a_row_tells_the_state_of_its_items(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let (identity, here) = (identity("s"), space("s"));
    let told = async || {
        let row = some(row(&*driver, &identity).await);
        (row.state, row.items, row.generation)
    };
    write(&*driver, track("one", &identity)).await;
    write(&*driver, append(&here.log("usage"), &[("a", "1")])).await;
    assert_eq!(told().await, (RowState::Live, 0, 0));
    write(&*driver, append(&here.log("items"), &[])).await;
    let begun = some(head(&*driver, &here.log("items")).await).generation;
    assert_eq!(told().await, (RowState::Cleared, 0, begun));
    write(
        &*driver,
        append(&here.log("items"), &[("a", "1"), ("b", "2")]),
    )
    .await;
    assert_eq!(told().await, (RowState::Live, 2, begun));
    write(&*driver, clear(&here)).await;
    let cleared = some(head(&*driver, &here.log("items")).await).generation;
    assert_eq!(told().await, (RowState::Cleared, 0, cleared));
    write(&*driver, append(&here.log("items"), &[("a", "1")])).await;
    assert_eq!(told().await, (RowState::Live, 1, cleared));
    write(&*driver, remove(&here)).await;
    assert_eq!(told().await, (RowState::Live, 0, 0));
}

async fn a_row_moves_when_items_are_added(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let (identity, here) = (identity("s"), space("s"));
    let active = async || some(row(&*driver, &identity).await).last_activity_at;
    write(&*driver, track("one", &identity)).await;
    let made = active().await;
    fixture.clock().advance(MINUTE);
    write(&*driver, append(&here.log("usage"), &[("a", "1")])).await;
    write(&*driver, apply(&here.key("k"), set("1"))).await;
    write(&*driver, track("one", &identity)).await;
    write(&*driver, append(&space("t").log("items"), &[("a", "1")])).await;
    assert_eq!(active().await, made, "nothing was added to its items");
    write(&*driver, append(&here.log("items"), &[("a", "1")])).await;
    let moved: Millis = active().await;
    let by = moved - made;
    assert!(
        (millis(MINUTE)..millis(HOUR)).contains(&by),
        "a minute passed, not {by} ms"
    );
    fixture.clock().set_back(HOUR);
    write(&*driver, append(&here.log("items"), &[("b", "1")])).await;
    assert_eq!(active().await, moved, "time set back moves nothing");
}

async fn a_row_that_was_untracked_is_new_again(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let identity = identity("s");
    write(&*driver, track("one", &identity)).await;
    let first = some(row(&*driver, &identity).await);
    let erased = write(&*driver, untrack(DEFAULT_TENANT, "one")).await;
    assert_eq!(erased, WriteOutcome::Erased(1));
    assert_eq!(row(&*driver, &identity).await, None);
    assert_eq!(
        write(&*driver, track("two", &identity)).await,
        WriteOutcome::Tracked {
            id: "two".to_owned(),
            is_new: true
        }
    );
    let second = some(row(&*driver, &identity).await);
    assert!(second.ordinal > first.ordinal);
    assert_eq!(second, expected("two", &identity, &second));
}

async fn untracking_takes_the_row_of_its_tenant_alone(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    write(&*driver, track("one", &identity("s"))).await;
    write(&*driver, append(&space("s").log("items"), &[("a", "1")])).await;
    for (tenant, id) in [
        ("other", "one"),
        (DEFAULT_TENANT, "two"),
        (DEFAULT_TENANT, "on%"),
    ] {
        let erased = write(&*driver, untrack(tenant, id)).await;
        assert_eq!(erased, WriteOutcome::Erased(0));
    }
    assert_eq!(must(driver.count(&tenant()).await), 1);
    write(&*driver, untrack(DEFAULT_TENANT, "one")).await;
    assert_eq!(must(driver.count(&tenant()).await), 0);
    assert_eq!(
        entries(&*driver, &space("s").log("items")).await,
        [entry(1, "a", "1")],
        "the data is not the row's"
    );
}

async fn one_identity_of_two_tenants_has_two_rows(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
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
        must(driver.commit(Batch::of(writes)).await);
    }
    for (number, name) in ["acme", "acme-corp", "ACME"].iter().enumerate() {
        let found = rows(&*driver, &RowFilter::tenant(*name), RowOrder::Oldest).await;
        let found: Vec<(&str, u64)> = found
            .iter()
            .map(|row| (row.id.as_str(), row.items))
            .collect();
        assert_eq!(
            found,
            [(format!("row{number}").as_str(), number as u64 + 1)]
        );
    }
    assert_eq!(must(driver.count(&RowFilter::default()).await), 3);
}

/// Rows of ten chats, made a minute apart; then three of them are worked on again.
async fn ten(fixture: &dyn DriverFixture, driver: &dyn Driver) {
    for number in 0..10 {
        let row = format!("row{number}");
        write(driver, track(&row, &identity(&row))).await;
        fixture.clock().advance(MINUTE);
    }
    for number in [4, 1, 7] {
        let log = space(&format!("row{number}")).log("items");
        write(driver, append(&log, &[("a", "1")])).await;
        fixture.clock().advance(MINUTE);
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

async fn rows_come_in_each_order(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    ten(&*fixture, &*driver).await;
    for (order, expected) in ORDERS {
        let found = ids(&rows(&*driver, &tenant(), order).await);
        assert_eq!(
            found,
            expected.map(|number| format!("row{number}")),
            "{order:?}"
        );
    }
}

/// All rows, page by page; after most pages the driver `inserts` makes one more.
async fn paged(
    driver: &dyn Driver,
    order: RowOrder,
    limit: usize,
    inserts: Option<&dyn Driver>,
) -> Vec<IndexRow> {
    let mut found: Vec<IndexRow> = Vec::new();
    for number in 0.. {
        let page = PageRequest {
            order,
            after: found.last().map(IndexRow::position),
            limit,
        };
        let page = must(driver.identities(&tenant(), &page).await);
        assert!(page.len() <= limit);
        if page.is_empty() {
            break;
        }
        found.extend(page);
        if let Some(other) = inserts.filter(|_| number < 3) {
            let row = format!("new{number}{order:?}");
            write(other, track(&row, &identity(&row))).await;
        }
    }
    found
}

async fn g080_pages_of_any_size_give_each_row_once(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    ten(&*fixture, &*driver).await;
    for (order, _) in ORDERS {
        let whole = rows(&*driver, &tenant(), order).await;
        for limit in [1, 2, 3, 9, 10, 11] {
            let found = paged(&*driver, order, limit, None).await;
            assert_eq!(found, whole, "{order:?} by {limit}");
        }
        let none = PageRequest {
            order,
            after: None,
            limit: 0,
        };
        assert_eq!(must(driver.identities(&tenant(), &none).await), []);
    }
}

async fn g081_pages_give_each_row_once_under_inserts(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let other = fixture.open().await;
    ten(&*fixture, &*driver).await;
    for (order, expected) in ORDERS {
        let found = paged(&*driver, order, 3, Some(&*other)).await;
        let mut old = ids(&found);
        old.retain(|id| id.starts_with("row"));
        assert_eq!(old, expected.map(|number| format!("row{number}")));
        let mut all = ids(&found);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), found.len(), "{order:?} gives no row twice");
    }
}
