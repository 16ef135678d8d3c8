//! Usage and traces.

use crate::bed::{Bed, ann, bob, chief, twin};
use crate::chats::ALL;
use crate::contexts::id;
use ambit_runtime::ErrorCode;
use ambit_runtime::inspect::traces::{self, TraceFilter};
use ambit_runtime::inspect::usage::{self, UsageFilter, UsageSums};
use ambit_storage::UsageField;
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
    let by = async |who: &ambit_runtime::Authorized, filter: UsageFilter| {
        let sums = usage::sums(&bed.ambit, who, &filter, None).await.unwrap();
        match sums {
            UsageSums::All(totals) => (totals.records, totals.total_tokens),
            other => panic!("totals were expected, not {other:?}"),
        }
    };
    assert_eq!(by(&ann(), UsageFilter::default()).await, (2, 16));
    assert_eq!(by(&bob(), UsageFilter::default()).await, (1, 8));
    assert_eq!(by(&chief("t1"), UsageFilter::default()).await, (3, 24));
    assert_eq!(by(&chief("t2"), UsageFilter::default()).await, (0, 0));
    let of = |set: fn(&mut UsageFilter, String), value: &str| {
        let mut filter = UsageFilter::default();
        set(&mut filter, value.to_owned());
        filter
    };
    let ann = ann();
    assert_eq!(
        by(
            &ann,
            of(|filter, value| filter.agent = Some(value), "sales")
        )
        .await,
        (1, 8)
    );
    assert_eq!(
        by(&ann, of(|filter, value| filter.chat = Some(value), "c")).await,
        (1, 8)
    );
    assert_eq!(
        by(
            &ann,
            of(|filter, value| filter.model = Some(value), "model-two")
        )
        .await,
        (1, 8)
    );
    assert_eq!(
        by(&ann, of(|filter, value| filter.user = Some(value), "bob")).await,
        (0, 0)
    );
    let row = id(&bed, "c").await;
    assert_eq!(
        by(&ann, of(|filter, value| filter.context = Some(value), &row)).await,
        (1, 8)
    );
    let theirs = of(|filter, value| filter.context = Some(value), &row);
    let error = usage::sums(&bed.ambit, &bob(), &theirs, None)
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

async fn groups(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    bed.talk(&ann(), "sales", "d", "two").await;
    let (ann, filter) = (ann(), UsageFilter::default());
    let groups = usage::sums(&bed.ambit, &ann, &filter, Some(UsageField::Agent)).await;
    let UsageSums::Groups(groups) = groups.unwrap() else {
        panic!("groups were expected");
    };
    let groups: Vec<_> = groups
        .iter()
        .map(|(agent, totals)| (agent.as_str(), totals.records))
        .collect();
    assert_eq!(groups, [("sales", 1), ("support", 1)]);
}

async fn contradictions(bed: Bed) {
    let set = |change: fn(&mut UsageFilter)| {
        let mut filter = UsageFilter::default();
        change(&mut filter);
        filter
    };
    for (filter, param) in [
        (
            set(|filter| filter.date = Some("2026-02-30".to_owned())),
            "date",
        ),
        (
            set(|filter| filter.time_zone = Some("Mars".to_owned())),
            "time_zone",
        ),
        (
            set(|filter| {
                filter.date_from = Some("2026-03-02".to_owned());
                filter.date_to = Some("2026-03-01".to_owned());
            }),
            "date_to",
        ),
    ] {
        let error = usage::sums(&bed.ambit, &ann(), &filter, Some(UsageField::Day))
            .await
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{filter:?}");
        assert_eq!(
            error.param.as_deref(),
            Some(param),
            "{filter:?}: {}",
            error.message
        );
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
        assistant_id: None,
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
