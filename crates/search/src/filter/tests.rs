//! What filters let through, and which are refused.

use super::MetadataFilter;
use serde_json::{Value, json};

fn matches(filter: &Value, metadata: &Value) -> bool {
    let filter = MetadataFilter::parse(filter);
    filter.unwrap().matches(metadata)
}

#[test]
fn each_operator_compares_numbers_as_numbers_and_text_by_code_point() {
    let metadata = json!({"n": 5, "x": 1.5, "t": "é", "b": true, "z": null, "in": {"deep": "d"}});
    let cases = [
        (json!({}), true),
        (json!({"n": 5}), true),
        (json!({"n": 5.0}), true),
        (json!({"n": [4, 5]}), true),
        (json!({"n": []}), false),
        (json!({"n": {"$gt": 4.5, "$lt": 6}}), true),
        (json!({"n": {"$gte": 5, "$lte": 5}}), true),
        (json!({"n": {"$gt": 5}}), false),
        (json!({"x": {"$lt": 2}}), true),
        (json!({"t": {"$gt": "z"}}), true),
        (json!({"t": {"$ne": "e"}}), true),
        (json!({"b": true, "z": null}), true),
        (json!({"b": {"$ne": true}}), false),
        (json!({"in.deep": {"$in": ["c", "d"]}}), true),
        (json!({"in.deep": {"$exists": true}}), true),
        (
            json!({"in.other": {"$exists": false}, "t.deep": {"$exists": false}}),
            true,
        ),
        (json!({"n": 5, "t": "e"}), false),
    ];
    for (filter, is_match) in cases {
        assert_eq!(matches(&filter, &metadata), is_match, "{filter}");
    }
}

#[test]
fn values_of_other_types_and_absent_ones_never_match() {
    let filters = [
        json!({"a": 5}),
        json!({"a": {"$ne": 5}}),
        json!({"a": {"$lt": 5}}),
        json!({"a": {"$gte": 5}}),
        json!({"a": [5]}),
    ];
    let others = [
        json!({}),
        json!({"a": "5"}),
        json!({"a": true}),
        json!({"a": null}),
        json!({"a": [5]}),
        json!({"a": {"b": 5}}),
        json!("a"),
    ];
    for filter in filters {
        for metadata in &others {
            assert!(!matches(&filter, metadata), "{filter} {metadata}");
        }
    }
}

#[test]
fn large_whole_numbers_are_not_rounded() {
    let metadata = json!({"n": u64::MAX});
    assert!(matches(&json!({"n": {"$gt": u64::MAX - 1}}), &metadata));
    assert!(!matches(&json!({"n": u64::MAX - 1}), &metadata));
    let metadata = json!({"n": 9_007_199_254_740_993_u64, "half": 2.5});
    assert!(matches(
        &json!({"n": {"$gt": 9_007_199_254_740_992.0}}),
        &metadata
    ));
    assert!(!matches(&json!({"n": 9_007_199_254_740_992.0}), &metadata));
    assert!(matches(
        &json!({"n": {"$gt": -1e300, "$lt": 1e300}}),
        &metadata
    ));
    assert!(matches(&json!({"half": {"$gt": 2, "$lt": 3}}), &metadata));
    let metadata = json!({"n": -2.5});
    assert!(matches(&json!({"n": {"$gt": -3, "$lt": -2}}), &metadata));
}

#[test]
fn a_key_with_dots_comes_before_the_keys_that_it_could_mean() {
    let metadata = json!({"a.b": 1, "a": {"b": 2, "c": 3}});
    assert!(matches(&json!({"a.b": 1, "a.c": 3}), &metadata));
    assert!(!matches(&json!({"a.b": 2}), &metadata));
}

#[test]
fn a_filter_that_cannot_be_read_names_the_path() {
    let many: serde_json::Map<String, Value> =
        (0..33).map(|at| (format!("k{at:02}"), json!(1))).collect();
    let cases = [
        (json!([]), ""),
        (json!({"a": {"$regex": "x"}}), "a.$regex"),
        (json!({"a": {"b": 1}}), "a.b"),
        (json!({"a": {}}), "a"),
        (json!({"a..b": 1}), "a..b"),
        (json!({"$or": [1]}), "$or"),
        (json!({"$gt": 1}), "$gt"),
        (json!({"a": vec![1; 1001]}), "a"),
        (json!({"a": {"$in": vec![1; 1001]}}), "a.$in"),
        (json!({"a.b.c.d.e.f.g.h.i": 1}), "a.b.c.d.e.f.g.h.i"),
        (json!({"a": [1, [2]]}), "a[1]"),
        (json!({"a": {"$in": 1}}), "a.$in"),
        (json!({"a": {"$in": [{}]}}), "a.$in[0]"),
        (json!({"a": {"$gt": true}}), "a.$gt"),
        (json!({"a": {"$exists": 1}}), "a.$exists"),
        (Value::Object(many), "k32"),
    ];
    for (filter, path) in cases {
        let refused = MetadataFilter::parse(&filter).unwrap_err();
        assert_eq!(refused.path, path, "{filter}");
        assert!(refused.to_string().contains(path), "{refused}");
    }
    assert!(MetadataFilter::parse(&json!({"a.b.c.d.e.f.g.h": 1})).is_ok());
    assert!(MetadataFilter::parse(&json!({"a": vec![1; 1000]})).is_ok());
}
