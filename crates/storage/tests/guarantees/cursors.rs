//! Pages and cursors: G150, G81, G80.

use crate::bed::{Bed, Case, chat, invalid};
use crate::count::{Calls, Counting};
use ambit_storage::directory::{RowOrder, RowState};
use ambit_storage::{Caller, Context, MAX_PAGE};
use std::collections::BTreeSet;
use std::time::Duration;

pub const CASES: &[Case] = cases![
    g150_page_sizes_out_of_range_are_refused,
    g150_a_cursor_of_another_query_tenant_or_caller_is_refused,
    g150_a_forged_cursor_is_refused,
    g150_an_old_cursor_is_refused,
    pages_come_in_the_order_that_is_asked_for,
    g081_pages_give_each_session_once_while_others_are_made,
    g080_listing_sessions_reads_no_message_and_one_page_at_a_time,
];

async fn g150_page_sizes_out_of_range_are_refused(bed: Bed) {
    bed.track(3).await;
    let query = Context::named(bed.ambit(), "Support");
    for size in [0, MAX_PAGE + 1, 1_000_000_000, usize::MAX] {
        assert_eq!(invalid(query.page(None, size).await), "limit");
        assert_eq!(invalid(query.storage_keys(None, size).await), "limit");
        assert_eq!(invalid(query.chat_identities(None, size).await), "limit");
    }
    let agent = chat(&bed.ambit(), "c", &["hi"]).await;
    for size in [0, MAX_PAGE + 1, 1_000_000_000, usize::MAX] {
        assert_eq!(invalid(agent.history().archive(1, size).await), "limit");
    }
    assert_eq!(query.page(None, MAX_PAGE).await.unwrap().items.len(), 4);
}

async fn g150_a_cursor_of_another_query_tenant_or_caller_is_refused(bed: Bed) {
    bed.track(3).await;
    let ambit = bed.ambit();
    let query = Context::named(&ambit, "Support");
    let cursor = query.page(None, 1).await.unwrap().next.unwrap();
    let other = ambit.acting_as(&Caller::system("other"));
    let person = ambit.acting_as(&Caller::user("default", "ann"));
    let strangers = [
        Context::named(&other, "Support"),
        Context::named(&person, "Support"),
        Context::named(&ambit, "Sales"),
        query.for_user("ann"),
        query.labelled("a", "b"),
        query.in_order(RowOrder::Newest),
        query.in_state(RowState::Live),
    ];
    let mut answers = BTreeSet::new();
    for stranger in strangers {
        for cursor in [cursor.as_str(), "1.2.3.4"] {
            let refused = stranger.page(Some(cursor), 1).await.unwrap_err();
            answers.insert(refused.to_string());
        }
    }
    // What is refused answers as what was made up, and says nothing of either.
    let text = "cursor was not given out for this query, or is too old; start without one";
    assert_eq!(answers, BTreeSet::from([text.to_owned()]));
    let next = query.page(Some(&cursor), 1).await.unwrap();
    assert_eq!(next.items[0].id, "row1");
    let live = query.in_state(RowState::Live);
    let cursor = live.page(None, 1).await.unwrap().next.unwrap();
    let next = live.page(Some(&cursor), 1).await.unwrap();
    assert_eq!(next.items[0].id, "row1");
    let cleared = query.in_state(RowState::Cleared);
    assert_eq!(invalid(cleared.page(Some(&cursor), 1).await), "cursor");
}

async fn g150_a_forged_cursor_is_refused(bed: Bed) {
    bed.track(3).await;
    let query = Context::named(bed.ambit(), "Support");
    let cursor = query.page(None, 1).await.unwrap().next.unwrap();
    for at in 0..cursor.len() {
        let mut bytes = cursor.clone().into_bytes();
        bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
        let forged = String::from_utf8(bytes).unwrap();
        assert_eq!(invalid(query.page(Some(&forged), 1).await), "cursor");
        assert_eq!(invalid(query.page(Some(&cursor[..at]), 1).await), "cursor");
    }
    for forged in [
        "",
        ".",
        "....",
        "-1.-1.-1.x",
        "9223372036854775808.1.1.x",
        "\0",
        "Ω",
    ] {
        assert_eq!(invalid(query.page(Some(forged), 1).await), "cursor");
    }
}

async fn g150_an_old_cursor_is_refused(bed: Bed) {
    bed.track(3).await;
    let query = Context::named(bed.ambit(), "Support");
    let cursor = query.page(None, 1).await.unwrap().next.unwrap();
    bed.clock().advance(Duration::from_secs(24 * 3600 - 60));
    assert!(query.page(Some(&cursor), 1).await.is_ok());
    bed.clock().advance(Duration::from_secs(120));
    assert_eq!(invalid(query.page(Some(&cursor), 1).await), "cursor");
}

async fn pages_come_in_the_order_that_is_asked_for(bed: Bed) {
    bed.track(5).await;
    let ambit = bed.ambit();
    bed.clock().advance(Duration::from_secs(60));
    chat(&ambit, "c1", &["touched"]).await;
    let all = Context::named(&ambit, "Support");
    let some = all.filter(|row| row.id != "row3");
    for (query, expected) in [
        (all.clone(), vec!["row0", "row1", "row2", "row3", "row4"]),
        (
            all.in_order(RowOrder::Newest),
            vec!["row4", "row3", "row2", "row1", "row0"],
        ),
        (
            all.in_order(RowOrder::Recent),
            vec!["row1", "row4", "row3", "row2", "row0"],
        ),
        (
            some.in_order(RowOrder::Recent),
            vec!["row1", "row4", "row2", "row0"],
        ),
    ] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = query.page(cursor.as_deref(), 2).await.unwrap();
            seen.extend(page.items.into_iter().map(|row| row.id));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected);
    }
}

async fn g081_pages_give_each_session_once_while_others_are_made(bed: Bed) {
    bed.track(20).await;
    let ambit = bed.ambit();
    let query = Context::named(&ambit, "Support").filter(|row| row.id.starts_with("row"));
    let (mut seen, mut cursor) = (Vec::new(), None);
    for round in 0.. {
        let page = query.page(cursor.as_deref(), 3).await.unwrap();
        seen.extend(page.items.into_iter().map(|row| row.id));
        chat(&ambit, &format!("new{round}"), &["hi"]).await;
        chat(&ambit, "c3", &["touched"]).await;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let expected: Vec<String> = (0..20).map(|number| format!("row{number}")).collect();
    assert_eq!(seen, expected);
}

async fn g080_listing_sessions_reads_no_message_and_one_page_at_a_time(bed: Bed) {
    let count = bed.many(10_000);
    bed.track(count).await;
    let counting = Counting::new(bed.driver.clone());
    let query = Context::named(bed.over(counting.clone()), "Support");
    query.page(None, 1).await.unwrap();
    let (mut cursor, mut listed) = (None, 0);
    counting.take();
    loop {
        let page = query.page(cursor.as_deref(), 500).await.unwrap();
        listed += page.items.len();
        let calls = counting.take();
        let read = (calls.reads, calls.entries_read, calls.commits);
        assert_eq!(read, (0, 0, 0));
        assert!(calls.index == 1 && calls.rows_read <= 501, "{calls:?}");
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((listed, counting.take()), (count, Calls::default()));
}
