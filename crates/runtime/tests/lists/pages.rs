//! The messages of a chat in pages, and some of them.

use crate::bed::{Bed, ann};
use crate::chats::named;
use crate::messages::{all, answer, chat, first, page, store};
use ambit_runtime::chats::{self, MessageFilter};
use ambit_storage::storage::{Message, Role};
use futures::FutureExt;

pub const CASES: &[(&str, crate::Run)] = &[
    (
        "g081_pages_of_messages_have_each_once_in_both_directions",
        |bed| pages(bed).boxed(),
    ),
    ("messages_are_filtered_by_role_type_and_turn", |bed| {
        filters(bed).boxed()
    }),
    ("results_are_found_beyond_the_end_of_a_page", |bed| {
        far(bed).boxed()
    }),
];

async fn pages(bed: Bed) {
    let live = chat(&bed).await;
    for turn in 0..120 {
        let answer = if turn % 7 == 0 {
            answer()
        } else {
            Message::assistant("x")
        };
        store(&live, &format!("r{turn}"), [Message::user("q"), answer]).await;
    }
    let whole: Vec<u64> = all(&bed).await.iter().map(|shown| shown.sequence).collect();
    assert_eq!(whole.len(), 240 + 18 * 3);
    for limit in [1, 7, 100] {
        let (mut forward, mut filter) = (Vec::new(), first(limit));
        filter.after = Some(0);
        while let Some(after) = filter.after {
            let found = page(&bed, &filter).await;
            forward.extend(found.items.iter().map(|shown| shown.sequence));
            filter.after = found.next;
            assert!(found.next.is_none_or(|next| next > after));
            if limit == 1 && forward.len() == 30 {
                break;
            }
        }
        assert_eq!(forward, whole[..forward.len()], "{limit} forward");
        let (mut backward, mut filter) = (Vec::new(), first(limit));
        loop {
            let found = page(&bed, &filter).await;
            backward.splice(0..0, found.items.iter().map(|shown| shown.sequence));
            filter.before = found.next;
            if found.next.is_none() || (limit == 1 && backward.len() == 30) {
                break;
            }
        }
        assert_eq!(
            backward,
            whole[whole.len() - backward.len()..],
            "{limit} backward"
        );
        if limit > 1 {
            assert_eq!((forward.len(), backward.len()), (whole.len(), whole.len()));
        }
    }
    let both = MessageFilter {
        after: Some(whole[3]),
        before: Some(whole[9]),
        ..first(100)
    };
    let between: Vec<u64> = page(&bed, &both)
        .await
        .items
        .iter()
        .map(|shown| shown.sequence)
        .collect();
    assert_eq!(between, whole[4..9]);
}

async fn filters(bed: Bed) {
    let live = chat(&bed).await;
    store(&live, "r1", [Message::user("a"), answer()]).await;
    store(&live, "r2", [Message::user("b")]).await;
    let by = async |role: Option<&str>, kind: Option<&str>, request: Option<&str>| {
        let text = |value: Option<&str>| value.map(str::to_owned);
        let filter = MessageFilter {
            role: text(role),
            kind: text(kind),
            request_id: text(request),
            ..first(100)
        };
        page(&bed, &filter).await.items.len()
    };
    assert_eq!(by(None, None, None).await, 6);
    assert_eq!(by(Some("user"), None, None).await, 2);
    assert_eq!(by(Some("assistant"), None, None).await, 4);
    assert_eq!(by(None, Some("tool_call"), None).await, 2);
    assert_eq!(by(None, None, Some("r2")).await, 1);
    assert_eq!(by(Some("user"), Some("text"), None).await, 0);
    let wrong = MessageFilter {
        role: Some("asistant".to_owned()),
        ..first(1)
    };
    let error = chats::messages(&bed.ambit, &ann(), named("c"), &wrong).await;
    let error = error.unwrap_err();
    assert_eq!(error.param.as_deref(), Some("role"));
    assert!(
        error.message.ends_with("did you mean \"assistant\"?"),
        "{}",
        error.message
    );
}

async fn far(bed: Bed) {
    let live = chat(&bed).await;
    store(&live, "r1", [answer()]).await;
    // Others' notes stand between a call and its result.
    let notes = (0..450).map(|at| Message::new(Role::User, format!("note {at}")));
    store(&live, "", notes).await;
    store(&live, "r1", [Message::result("k1", "sunny")]).await;
    let filter = MessageFilter {
        kind: Some("tool_call".to_owned()),
        after: Some(0),
        ..first(100)
    };
    let shown = page(&bed, &filter).await.items;
    assert_eq!(shown[0].props["result"], "sunny");
    assert_eq!(shown.len(), 2);
}
