//! Text: what went in comes out byte for byte.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::StoredValue;
use crate::batch::{Batch, BatchWrite, NewEntry};
use crate::operation::Operation;
use crate::operation::OperationOutput::{Items, Taken};

pub(super) const CASES: &[ConformanceCase] = cases![
    g043_json_round_trips_byte_for_byte,
    g145_text_round_trips_in_every_place,
    g145_items_round_trip_through_every_list_operation,
    g145_names_and_ids_of_any_text_are_kept_apart,
];

/// JSON as it may stand in a stored item, spelled in ways that a parser would change.
const JSONS: &[&str] = &[
    "{\"role\":\"user\",\"content\":\"hello\",\"extra\":{\"z\":1,\"a\":2}}",
    "{\"b\":1,\"a\":2,\"c\":{\"y\":null,\"x\":[]}}",
    "{ \"spaced\" :\t[ 1 , 2 ] }",
    "\"\\u0000 and \\u001f and \\u007f\"",
    "\"\\ud83d\\ude00 as escapes\"",
    "\"\\/ \\\" \\\\ \\b\\f\\n\\r\\t\"",
    "123456789012345678901234567890",
    "-0",
    "-0.0",
    "1.0",
    "1e2",
    "1E+2",
    "0.1000",
    "3.141592653589793238462643383279",
    "1e400",
    "9007199254740993",
    "{\"a\":1,\"a\":2}",
    "{\"\":\"empty name\"}",
    "true",
    "null",
    "\"\"",
    "{}",
    "\"'; drop entries; --\"",
    "\"$1 %s {} ? :name @x\"",
];

/// Text that databases, file systems and terminals stumble over.
const TEXTS: &[&str] = &[
    "😀 👩‍👩‍👧‍👦 🏳️‍🌈",
    "e\u{301} \u{e9} a\u{30a}\u{323}",
    "שלום עולם مرحبا \u{202e}reversed\u{202c}",
    "\u{1}\u{2}\u{1b}[31m\u{7f}\u{80}\u{9f}",
    "tab\tline\nreturn\rquote\"back\\slash'",
    "\u{feff}mark \u{200b}zero\u{200d}width\u{2028}line\u{2029}",
    "\u{fffd}\u{fffe}\u{ffff}\u{10ffff}\u{e000}",
    "日本語 한국어 ไทย हिन्दी",
    "ß ſ İ ı Ǆ ﬁ",
    "% _ * ? [ ] \\ / : ~ . .. ; -- /* */ ` $ # & | < >",
    " leading and trailing ",
    "NULL",
    "true",
];

async fn g043_json_round_trips_byte_for_byte(store: TestStore) {
    let other = store.open().await;
    let here = space("s");
    let bodies = JSONS
        .iter()
        .enumerate()
        .map(|(number, text)| NewEntry::new(format!("{number}"), json(text)));
    let append = BatchWrite::append(here.log("items"), bodies.collect());
    let sets = JSONS.iter().enumerate().map(|(number, text)| {
        let value = Operation::Set(StoredValue::Plain(json(text)));
        apply(&here.key(format!("k{number}")), value)
    });
    must(store.commit(Batch::of(sets.chain([append]))).await);
    for handle in [&store, &other] {
        let stored = handle.entries(&here.log("items")).await;
        let stored: Vec<&str> = stored.iter().map(|(_, _, body)| body.as_str()).collect();
        assert_eq!(stored, JSONS);
        for (number, expected) in JSONS.iter().enumerate() {
            let found = handle.text(&here.key(format!("k{number}"))).await;
            assert_eq!(found.as_deref(), Some(*expected));
        }
    }
    let taken = store.act(&here.key("k2"), Operation::GetDel).await;
    assert_eq!(
        taken,
        Taken(Some(StoredValue::Plain(json(JSONS[2])))),
        "white space inside is kept"
    );
}

async fn g145_text_round_trips_in_every_place(store: TestStore) {
    let other = store.open().await;
    for (number, given) in TEXTS.iter().enumerate() {
        let here = space(&format!("s{number}"));
        let quoted = must(crate::Json::of(given));
        let batch = Batch::of([
            append(&here.log(*given), &[(given, quoted.as_str())]),
            apply(&here.key(*given), set(quoted.as_str())),
        ]);
        must(store.commit(batch).await);
        for handle in [&store, &other] {
            assert_eq!(handle.log_names(&here).await, [*given]);
            assert_eq!(
                handle.entries(&here.log(*given)).await,
                [entry(1, given, quoted.as_str())]
            );
            assert_eq!(
                handle.values(&here, "*").await,
                [((*given).to_owned(), quoted.as_str().to_owned())]
            );
        }
    }
}

async fn g145_items_round_trip_through_every_list_operation(store: TestStore) {
    let key = space("s").key("k");
    store.act(&key, push(JSONS)).await;
    assert_eq!(
        store.text(&key).await,
        Some(format!("[{}]", JSONS.join(",")))
    );
    for (index, text) in JSONS.iter().enumerate().rev() {
        let index = i64::try_from(index).unwrap_or(0);
        store.act(&key, Operation::ArraySet(index, json("0"))).await;
        store
            .act(&key, Operation::ArraySet(index, json(text)))
            .await;
    }
    assert_eq!(
        store.act(&key, Operation::Pull(3)).await,
        Items(jsons(&JSONS[JSONS.len() - 3..]))
    );
    assert_eq!(
        store.act(&key, Operation::PullAll).await,
        Items(jsons(&JSONS[..JSONS.len() - 3]))
    );
    for text in JSONS {
        store.act(&key, add_to_set(&[text])).await;
        let last = store.act(&key, Operation::Pop).await;
        assert_eq!(last, Taken(Some(StoredValue::from(json(text)))));
    }
}

async fn g145_names_and_ids_of_any_text_are_kept_apart(store: TestStore) {
    let here = space("s");
    let names: Vec<&str> = TEXTS
        .iter()
        .copied()
        .chain([
            "e\u{301}", "\u{e9}", "E\u{301}", "K", "\u{212a}", "ﬁ", "fi", "a", "a ", " a",
        ])
        .collect();
    let ids: Vec<(&str, &str)> = names.iter().map(|name| (*name, "1")).collect();
    let sets = names.iter().map(|name| apply(&here.key(*name), set("1")));
    let batch = Batch::of(sets.chain([append(&here.log("items"), &ids)]));
    must(store.commit(batch).await);
    let found = store.values(&here, "*").await;
    let found: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    let stored = store.entries(&here.log("items")).await;
    let stored: Vec<&str> = stored.iter().map(|(_, id, _)| id.as_str()).collect();
    assert_eq!(stored, names);
}
