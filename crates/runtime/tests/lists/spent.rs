//! Usage and traces.

use crate::bed::{Bed, ann, bob, chief, twin};
use crate::chats::ALL;
use crate::contexts::id;
use ambit_runtime::inspect::traces::{self, TraceFilter};
use ambit_runtime::inspect::usage;
use ambit_runtime::{Authorized, Error, ErrorCode};
use ambit_storage::{Usage, UsageField};
use futures::FutureExt;
use serde_json::json;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    ("usage_is_summed_by_what_is_asked", |bed| sums(bed).boxed()),
    ("usage_is_grouped_by_what_is_asked", |bed| {
        groups(bed).boxed()
    }),
    ("g153_contradictions_about_usage_are_refused", |bed| {
        contradictions(bed).boxed()
    }),
    ("traces_are_listed_newest_first_and_filtered", |bed| {
        listed(bed).boxed()
    }),
    ("the_log_of_a_trace_is_read_and_followed", |bed| {
        log(bed).boxed()
    }),
];

async fn sums(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    bed.talk(&ann(), "sales", "d", "two").await;
    bed.talk(&bob(), "support", "e", "three").await;
    let of = async |who: &Authorized| usage::visible(&bed.ambit, who, None).await.unwrap();
    let sum = async |usage: Usage| {
        let totals = usage.aggregate().await.unwrap();
        let totals = totals.expect("usage is counted");
        (totals.records, totals.total_tokens)
    };
    assert_eq!(sum(of(&ann()).await).await, (2, 16));
    assert_eq!(sum(of(&bob()).await).await, (1, 8));
    assert_eq!(sum(of(&chief("t1")).await).await, (3, 24));
    assert_eq!(sum(of(&chief("t2")).await).await, (0, 0));
    let usage = of(&ann()).await;
    assert_eq!(sum(usage.clone().for_agent("sales")).await, (1, 8));
    assert_eq!(sum(usage.clone().for_chat("c")).await, (1, 8));
    assert_eq!(sum(usage.clone().for_model("model-two")).await, (1, 8));
    assert_eq!(sum(usage.for_user("bob")).await, (0, 0));
    let row = id(&bed, "c").await;
    let of_row = usage::visible(&bed.ambit, &ann(), Some(&row)).await;
    assert_eq!(sum(of_row.unwrap()).await, (1, 8));
    let error = usage::visible(&bed.ambit, &bob(), Some(&row)).await;
    assert_eq!(error.unwrap_err().code, ErrorCode::NotFound);
}

async fn groups(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    bed.talk(&ann(), "sales", "d", "two").await;
    let usage = usage::visible(&bed.ambit, &ann(), None).await.unwrap();
    let groups = usage.group_by(UsageField::Agent).await.unwrap();
    let groups = groups.expect("usage is counted");
    let groups: Vec<_> = groups
        .iter()
        .map(|(agent, totals)| (agent.as_str(), totals.records))
        .collect();
    assert_eq!(groups, [("sales", 1), ("support", 1)]);
}

async fn contradictions(bed: Bed) {
    let visible = usage::visible(&bed.ambit, &ann(), None).await.unwrap();
    let cases = [
        (visible.clone().date("2026-02-30"), "date"),
        (visible.clone().time_zone("Mars"), "time_zone"),
        (
            visible.date_from("2026-03-02").date_to("2026-03-01"),
            "date_to",
        ),
    ];
    for (usage, param) in cases {
        let error = usage.group_by(UsageField::Day).await.unwrap_err();
        let error = Error::from(error);
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{param}");
        assert_eq!(error.param.as_deref(), Some(param), "{}", error.message);
    }
}

async fn listed(bed: Bed) {
    let live = bed.talk(&ann(), "support", "c", "one").await;
    bed.clock.advance(Duration::from_secs(10));
    bed.turn(&live, "r-two", "two").await;
    bed.clock.advance(Duration::from_secs(10));
    bed.talk(&ann(), "sales", "d", "three").await;
    let ids = async |filter: TraceFilter| {
        let part = traces::list(&bed.ambit, &ann(), &filter, ALL)
            .await
            .unwrap();
        assert_eq!(part.total, part.items.len() as u64);
        let ids = part.items.into_iter().map(|row| row.trace_id);
        ids.collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        ids(TraceFilter::default()).await,
        ["r-three", "r-two", "r-one"]
    );
    let of = |chat_id, request_id, status| TraceFilter {
        chat_id,
        request_id,
        status,
        ..TraceFilter::default()
    };
    assert_eq!(ids(of(text("c"), None, None)).await, ["r-two", "r-one"]);
    assert_eq!(ids(of(None, text("r-one"), None)).await, ["r-one"]);
    assert_eq!(ids(of(text("d"), text("r-one"), None)).await, [""; 0]);
    assert_eq!(ids(of(None, None, Some("failed"))).await, [""; 0]);
    assert_eq!(ids(of(text("never"), None, None)).await, [""; 0]);
    let row = traces::open(&bed.ambit, &ann(), "r-two").await.unwrap().row;
    let expected = json!({
        "trace_id": "r-two", "request_id": "r-two", "chat_id": "c", "assistant_id": "support",
        "status": "completed", "duration_ms": 60, "created_at": row.created_at,
    });
    assert_eq!(json!(row), expected);
    let error = TraceFilter::status("complete").unwrap_err();
    assert!(
        error.message.ends_with("did you mean \"completed\"?"),
        "{}",
        error.message
    );
}

async fn log(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    let log = traces::open(&bed.ambit, &ann(), "r-one").await.unwrap();
    let all = log.all().await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(
        all[0].body.as_str(),
        "{\"type\":\"init\",\"about\":\"one\"}"
    );
    assert!(log.after(1, 10).await.unwrap().is_empty());
    for who in [bob(), twin()] {
        for id in ["r-one", "never"] {
            let error = traces::open(&bed.ambit, &who, id).await.err().unwrap();
            assert_eq!(error.message, format!("trace \"{id}\" not found"));
        }
    }
}
