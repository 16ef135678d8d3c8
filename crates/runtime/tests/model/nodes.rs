//! Several nodes over one database.

use crate::bed::{both, person};
use futures::future::join_all;
use serde_json::json;

const IT: (&str, &str) = (
    "models/it.mod.yao",
    r#"{"columns": [
        {"name": "id", "type": "ID"}, {"name": "name", "type": "string", "unique": true},
        {"name": "count", "type": "integer", "default": 0},
    ], "values": [{"name": "first"}]}"#,
);

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_start_at_once_make_one_table() {
    both(async |place| {
        let beds: Vec<_> = (0..4).map(|_| place.open(&[IT])).collect();
        let counts = beds.iter().map(|bed| bed.call("it.Count", json!([])));
        assert_eq!(
            join_all(counts).await,
            [json!(1), json!(1), json!(1), json!(1)]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_many_make_at_once_are_all_there() {
    both(async |place| {
        let beds: Vec<_> = (0..2).map(|_| place.open(&[IT])).collect();
        let names = (0..60).map(|number| format!("n{}", number / 2));
        let calls = names.enumerate().map(|(at, name)| {
            let bed = &beds[at % 2];
            async move { bed.call("it.Create", json!([{"name": name}])).await }
        });
        let answers = join_all(calls).await;
        let made = answers.iter().filter(|answer| answer.is_number()).count();
        let refused = json!([
            "conflict",
            "models.it: there is already a row with the same name"
        ]);
        assert_eq!(made, 30);
        assert_eq!(
            answers.iter().filter(|answer| **answer == refused).count(),
            30
        );
        assert_eq!(beds[0].call("it.Count", json!([])).await, json!(31));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_given_up_leaves_nothing() {
    both(async |place| {
        let bed = place.open(&[IT]);
        bed.call("it.Count", json!([])).await;
        let rows: Vec<_> = (0..5_000)
            .map(|number| json!([format!("n{number}")]))
            .collect();
        for polls in 0..8 {
            let ann = person("ann");
            let call = bed.call_as(&ann, "it.Insert", json!([["name"], rows]));
            let mut call = std::pin::pin!(call);
            // So many steps of the call are begun, and then nobody waits for it any more.
            for _ in 0..polls {
                if futures::poll!(call.as_mut()).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        // A call whose end was under way may have come to it.
        let count = bed.call("it.Count", json!([])).await;
        assert!([json!(1), json!(5_001)].contains(&count), "{count}");
        let next = bed.call("it.Create", json!([{"name": "next"}])).await;
        assert!(next.is_number(), "{next}");
    })
    .await;
}
