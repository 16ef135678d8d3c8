//! Usage by a stretch of time and a field, and as a table.

use crate::bed::{ANN, BOB, Bed};
use ambit_runtime::chats;
use ambit_storage::storage::UsageRecord;
use serde_json::{Value, json};

/// 22:30 and 23:30 of 21 November 2026 in UTC: before and behind midnight in Berlin.
const EVENING: i64 = 1_795_300_200_000;
const NIGHT: i64 = 1_795_303_800_000;

/// Calls of models by Ann, at an instant: seven tokens each of the request, two of them cached, one of the answer.
async fn spend(bed: &Bed, at: i64, models: impl IntoIterator<Item = String>) {
    let who = ANN.authorized();
    let live = chats::open(&bed.ambit, &who, "hello", Some("a")).await;
    let live = live.unwrap();
    let context = live.context();
    for model in models {
        let record = UsageRecord {
            prompt_tokens: 7,
            completion_tokens: 1,
            cached_tokens: Some(2),
            model_name: Some(model),
            recorded_at: at,
            ..UsageRecord::default()
        };
        context.usage().record(record).unwrap();
    }
    context.save().await.unwrap();
}

fn names<const N: usize>(models: [&str; N]) -> [String; N] {
    models.map(str::to_owned)
}

/// The values and records of each sum.
async fn sums(bed: &Bed, query: &str) -> Value {
    let answer = bed.get(ANN, &format!("/usage?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    let items = answer.json()["items"].take();
    let items = items.as_array().unwrap().iter();
    items
        .map(|item| json!([item["values"], item["records"]]))
        .collect()
}

#[tokio::test]
async fn usage_is_split_by_days_or_hours_and_a_field() {
    let bed = Bed::new().await;
    spend(&bed, EVENING, names(["m", "n", "m"])).await;
    spend(&bed, NIGHT, names(["m"])).await;
    assert_eq!(
        sums(&bed, "group_by=day,model").await,
        json!([[["2026-11-21", "m"], 3], [["2026-11-21", "n"], 1]])
    );
    assert_eq!(
        sums(&bed, "group_by=day,model&time_zone=Europe/Berlin").await,
        json!([
            [["2026-11-21", "m"], 2],
            [["2026-11-21", "n"], 1],
            [["2026-11-22", "m"], 1],
        ])
    );
    assert_eq!(
        sums(&bed, "group_by=hour,agent&time_zone=Europe/Berlin").await,
        json!([
            [["2026-11-21T23", "hello"], 3],
            [["2026-11-22T00", "hello"], 1]
        ])
    );
    let narrowed = "group_by=hour,model&model=m&date_to=2026-11-20";
    assert_eq!(sums(&bed, narrowed).await, json!([]));
    let hours = bed.get(ANN, "/usage?group_by=hour").await.json();
    let hours = hours["items"].as_array().unwrap().iter();
    let hours: Vec<&Value> = hours.map(|item| &item["value"]).collect();
    assert_eq!(hours, ["2026-11-21T22", "2026-11-21T23"]);
    let of_bob = bed.get(BOB, "/usage?group_by=day,user").await.json();
    assert_eq!(of_bob, json!({"group_by": "day,user", "items": []}));
}

#[tokio::test]
async fn usage_is_split_by_a_stretch_of_time_and_one_other_field_alone() {
    let bed = Bed::new().await;
    for group_by in [
        "agent,day",
        "day,hour",
        "day,agent,model",
        "day,",
        "agent,model",
    ] {
        let answer = bed.get(ANN, &format!("/usage?group_by={group_by}")).await;
        let param = Some("group_by".to_owned());
        let expected = (400, "invalid_argument".to_owned(), param);
        assert_eq!(answer.failure(), expected, "{group_by}");
    }
    let answer = bed.get(ANN, "/usage?format=xml").await;
    let expected = (
        400,
        "invalid_argument".to_owned(),
        Some("format".to_owned()),
    );
    assert_eq!(answer.failure(), expected);
}

#[tokio::test]
async fn a_split_into_more_than_ten_thousand_sums_is_refused() {
    let bed = Bed::new().await;
    spend(&bed, EVENING, (0..10_000).map(|at| format!("m{at}"))).await;
    let path = "/usage?group_by=day,model";
    let items = bed.get(ANN, path).await.json()["items"].take();
    assert_eq!(items.as_array().unwrap().len(), 10_000);
    spend(&bed, NIGHT, names(["one more"])).await;
    let refused = bed.get(ANN, path).await;
    let param = Some("group_by".to_owned());
    let expected = (400, "invalid_argument".to_owned(), param);
    assert_eq!(refused.failure(), expected);
    assert!(refused.text.contains("10001"), "{}", refused.text);
    let narrowed = bed.get(ANN, &format!("{path}&model=m1")).await;
    assert_eq!(narrowed.status, 200);
}

#[tokio::test]
async fn usage_is_a_table_without_formulas() {
    let bed = Bed::new().await;
    spend(&bed, EVENING, names(["=1+1", "a, \"b\"", "plain"])).await;
    let answer = bed.get(ANN, "/usage?group_by=day,model&format=csv").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let kind = answer.header("content-type");
    assert_eq!(kind, Some("text/csv; charset=utf-8"));
    let expected = "\
day,model,records,prompt_tokens,completion_tokens,total_tokens,cached_tokens,reasoning_tokens\r
2026-11-21,'=1+1,1,7,1,8,2,0\r
2026-11-21,\"a, \"\"b\"\"\",1,7,1,8,2,0\r
2026-11-21,plain,1,7,1,8,2,0\r
";
    assert_eq!(answer.text, expected);
    let all = bed.get(ANN, "/usage?format=csv").await.text;
    let expected = "\
records,prompt_tokens,completion_tokens,total_tokens,cached_tokens,reasoning_tokens\r
3,21,3,24,6,0\r
";
    assert_eq!(all, expected);
    let one = bed.get(ANN, "/usage?format=csv&group_by=chat").await.text;
    assert!(one.ends_with("\r\na,3,21,3,24,6,0\r\n"), "{one}");
}
