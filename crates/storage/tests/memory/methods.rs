//! The 21 methods by name, as a script calls them.

use super::{fresh, store, user, value, values};
use ambit_storage::Json;
use ambit_storage::clock::Clock;
use ambit_storage::memory::{Memory, MemorySettings, Ttl};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Calls a method as a script would, and gives what it returns or throws.
async fn call(memory: &Memory, method: &str, arguments: &[Value]) -> Result<Value, String> {
    let key = arguments.first().and_then(Value::as_str).unwrap_or("");
    let any = |at: usize| arguments.get(at).cloned().unwrap_or(Value::Null);
    let whole = |at: usize, default: i64| any(at).as_i64().unwrap_or(default);
    let number = |at: usize| any(at).as_f64().unwrap_or(1.0);
    let list = |items: Vec<Json>| values(&items);
    let or_null = |json: Option<Json>| value(json).unwrap_or(Value::Null);
    let ttl = Ttl::of(&any(2)).map_err(|error| error.to_string());
    let result = match method {
        "Get" => memory.get(key).await.map(or_null),
        "Set" => memory.set(key, &any(1), ttl?).await.map(|()| Value::Null),
        "Del" => memory.del(key).await.map(|()| Value::Null),
        "Has" => memory.has(key).await.map(Value::from),
        "GetDel" => memory.get_del(key).await.map(or_null),
        "Keys" => memory.keys(any(0).as_str()).await.map(Value::from),
        "Len" => memory.len().await.map(Value::from),
        "Clear" => memory.clear().await.map(|()| Value::Null),
        "Incr" => memory.incr(key, number(1)).await.map(Value::from),
        "Decr" => memory.decr(key, number(1)).await.map(Value::from),
        "Push" => memory.push(key, &any(1)).await.map(Value::from),
        "Pop" => memory.pop(key).await.map(or_null),
        "Pull" => memory.pull(key, whole(1, 0)).await.map(list),
        "PullAll" => memory.pull_all(key).await.map(list),
        "AddToSet" => memory.add_to_set(key, &any(1)).await.map(Value::from),
        "ArrayLen" => memory.array_len(key).await.map(Value::from),
        "ArrayGet" => memory.array_get(key, whole(1, 0)).await.map(or_null),
        "ArraySet" => {
            let set = memory.array_set(key, whole(1, 0), &any(2));
            set.await.map(|()| Value::Null)
        }
        "ArraySlice" => {
            let slice = memory.array_slice(key, whole(1, 0), whole(2, -1));
            slice.await.map(list)
        }
        "ArrayPage" => {
            let page = memory.array_page(key, whole(1, 0), whole(2, 0));
            page.await.map(list)
        }
        "ArrayAll" => memory.array_all(key).await.map(list),
        other => panic!("no method {other}"),
    };
    result.map_err(|error| error.to_string())
}

/// Each method, and whether it needs an owner.
const METHODS: &[(&str, bool)] = &[
    ("Get", false),
    ("Set", true),
    ("Del", true),
    ("Has", false),
    ("GetDel", true),
    ("Keys", false),
    ("Len", false),
    ("Clear", true),
    ("Incr", true),
    ("Decr", true),
    ("Push", true),
    ("Pop", true),
    ("Pull", true),
    ("PullAll", true),
    ("AddToSet", true),
    ("ArrayLen", false),
    ("ArrayGet", false),
    ("ArraySet", true),
    ("ArraySlice", false),
    ("ArrayPage", false),
    ("ArrayAll", false),
];

/// Method, arguments, and what it returns, one call after the other on one namespace.
#[rustfmt::skip]
fn script() -> Vec<(&'static str, Value, Value)> {
    let null = Value::Null;
    vec![
        ("Get", json!(["k"]), null.clone()),
        ("Set", json!(["k", {"a": 1}]), null.clone()),
        ("Get", json!(["k"]), json!({"a": 1})),
        ("Has", json!(["k"]), json!(true)),
        ("GetDel", json!(["k"]), json!({"a": 1})),
        ("GetDel", json!(["k"]), null.clone()),
        ("Has", json!(["k"]), json!(false)),
        ("Del", json!(["k"]), null.clone()),
        ("Incr", json!(["n"]), json!(1)),
        ("Incr", json!(["n", 0.5]), json!(1.5)),
        ("Incr", json!(["n", 0.5]), json!(2)),
        ("Decr", json!(["n", 5]), json!(-3)),
        ("Push", json!(["l", [1, 2]]), json!(2)),
        ("Push", json!(["l", {"x": 3}]), json!(3)),
        ("Push", json!(["l", [[4]]]), json!(4)),
        ("ArrayAll", json!(["l"]), json!([1, 2, {"x": 3}, [4]])),
        ("ArrayLen", json!(["l"]), json!(4)),
        ("ArrayGet", json!(["l", 0]), json!(1)),
        ("ArrayGet", json!(["l", -1]), json!([4])),
        ("ArrayGet", json!(["l", 4]), null.clone()),
        ("ArrayGet", json!(["l", -5]), null.clone()),
        ("ArraySet", json!(["l", -1, 4]), null.clone()),
        ("ArraySlice", json!(["l", 1, 2]), json!([2, {"x": 3}])),
        ("ArraySlice", json!(["l", -2]), json!([{"x": 3}, 4])),
        ("ArraySlice", json!(["l", -10, -1]), json!([1, 2, {"x": 3}, 4])),
        ("ArraySlice", json!(["l", 3, 1]), json!([])),
        ("ArraySlice", json!(["l", i64::MIN, i64::MAX]), json!([1, 2, {"x": 3}, 4])),
        ("ArrayPage", json!(["l", 1, 3]), json!([1, 2, {"x": 3}])),
        ("ArrayPage", json!(["l", 2, 3]), json!([4])),
        ("ArrayPage", json!(["l", 0, 1]), json!([1])),
        ("ArrayPage", json!(["l", 9, 3]), json!([])),
        ("ArrayPage", json!(["l", i64::MAX, i64::MAX]), json!([])),
        ("ArrayPage", json!(["l", 1, 0]), json!([])),
        ("Pop", json!(["l"]), json!(4)),
        ("Pull", json!(["l", 2]), json!([2, {"x": 3}])),
        ("Pull", json!(["l", 0]), json!([])),
        ("Pull", json!(["l", -1]), json!([])),
        ("Pull", json!(["l", 9]), json!([1])),
        ("Pop", json!(["l"]), null.clone()),
        ("Get", json!(["l"]), json!([])),
        ("Push", json!(["l", [7]]), json!(1)),
        ("PullAll", json!(["l"]), json!([7])),
        ("PullAll", json!(["l"]), json!([])),
        ("AddToSet", json!(["s", [{"a": 1, "b": 2}, "x"]]), json!(2)),
        ("AddToSet", json!(["s", [{"b": 2, "a": 1}, "y", "y"]]), json!(3)),
        ("ArrayAll", json!(["s"]), json!([{"a": 1, "b": 2}, "x", "y"])),
        ("Keys", json!([]), json!(["l", "n", "s"])),
        ("Keys", json!(["*n*"]), json!(["n"])),
        ("Len", json!([]), json!(3)),
        ("Clear", json!([]), null),
        ("Len", json!([]), json!(0)),
    ]
}

#[tokio::test]
async fn every_method_does_what_the_reference_says() {
    let memory = fresh();
    for (step, (method, arguments, expected)) in script().iter().enumerate() {
        let result = call(&memory, method, arguments.as_array().unwrap()).await;
        assert_eq!(
            result.as_ref(),
            Ok(expected),
            "step {step}: {method} {arguments}"
        );
    }
}

#[tokio::test]
async fn g152_the_wrong_type_is_refused_and_the_value_kept() {
    let memory = fresh();
    memory.set("k", "text", None).await.unwrap();
    memory.set("l", &json!([1]), None).await.unwrap();
    #[rustfmt::skip]
    let lists = ["Push", "Pop", "Pull", "PullAll", "AddToSet", "ArrayLen", "ArrayGet", "ArraySet", "ArraySlice", "ArrayPage", "ArrayAll"];
    for method in lists {
        let thrown = call(&memory, method, &[json!("k"), json!(1), json!(1)]).await;
        let expected = format!("{method}: key \"k\" holds a string, not a list");
        assert_eq!(thrown, Err(expected));
    }
    for method in ["Incr", "Decr"] {
        for (key, holds) in [("k", "string"), ("l", "list")] {
            let thrown = call(&memory, method, &[json!(key)]).await;
            let expected = format!("{method}: key \"{key}\" holds a {holds}, not a number");
            assert_eq!(thrown, Err(expected));
        }
    }
    assert_eq!(value(memory.get("k").await.unwrap()), Some(json!("text")));
    assert_eq!(value(memory.get("l").await.unwrap()), Some(json!([1])));
}

#[tokio::test]
async fn bad_arguments_throw_the_texts_of_the_reference() {
    let memory = fresh();
    memory.set("l", &json!([1]), None).await.unwrap();
    let long = "é".repeat(257);
    let large = "x".repeat(1 << 20);
    #[rustfmt::skip]
    let table = [
        ("Get", json!([""]), "key must be a non-empty string"),
        ("Set", json!(["", 1]), "key must be a non-empty string"),
        ("Del", json!([""]), "key must be a non-empty string"),
        ("Has", json!([long]), "key exceeds 512 bytes"),
        ("Push", json!([long, 1]), "key exceeds 512 bytes"),
        ("Set", json!(["k", 1, "soon"]), "invalid ttl soon"),
        ("Set", json!(["k", 1, -1]), "invalid ttl -1"),
        ("Set", json!(["k", large]), "value exceeds 1048576 bytes"),
        ("Push", json!(["k", ["a", large]]), "value exceeds 1048576 bytes"),
        ("ArraySet", json!(["l", 0, large]), "value exceeds 1048576 bytes"),
        ("ArraySet", json!(["l", 1, 0]), "ArraySet: index 1 out of range for key \"l\" (length 1)"),
        ("ArraySet", json!(["l", -2, 0]), "ArraySet: index -2 out of range for key \"l\" (length 1)"),
        ("ArraySet", json!(["k", 0, 0]), "ArraySet: index 0 out of range for key \"k\" (length 0)"),
        ("Incr", json!(["k", 9_007_199_254_740_992_i64]), "Incr: result out of range for key \"k\""),
        ("Decr", json!(["k", 9_007_199_254_740_992_i64]), "Decr: result out of range for key \"k\""),
    ];
    for (method, arguments, text) in table {
        let thrown = call(&memory, method, arguments.as_array().unwrap()).await;
        assert_eq!(thrown, Err(text.to_owned()), "{method}");
    }
    for delta in [f64::NAN, f64::INFINITY] {
        let thrown = memory.incr("k", delta).await.unwrap_err().to_string();
        assert_eq!(thrown, "delta must be a finite number");
    }
    assert_eq!(memory.keys(None).await.unwrap(), ["l"]);
}

#[tokio::test]
async fn g094_an_expired_value_is_absent_for_every_method() {
    let clock = Clock::default();
    let memory = user(&store(&clock), "ann");
    let hour = Some(Ttl::parse("1h").unwrap());
    for (method, arguments, expected) in [
        ("Get", json!(["l"]), Value::Null),
        ("Has", json!(["l"]), json!(false)),
        ("Keys", json!([]), json!([])),
        ("Len", json!([]), json!(0)),
        ("GetDel", json!(["l"]), Value::Null),
        ("Pop", json!(["l"]), Value::Null),
        ("Pull", json!(["l", 1]), json!([])),
        ("PullAll", json!(["l"]), json!([])),
        ("ArrayLen", json!(["l"]), json!(0)),
        ("ArrayGet", json!(["l", 0]), Value::Null),
        ("ArraySlice", json!(["l", 0]), json!([])),
        ("ArrayPage", json!(["l", 1, 5]), json!([])),
        ("ArrayAll", json!(["l"]), json!([])),
        ("Incr", json!(["l"]), json!(1)),
    ] {
        memory.set("l", &json!([1, 2]), hour).await.unwrap();
        assert!(memory.has("l").await.unwrap());
        clock.advance(Duration::from_secs(3_600));
        let result = call(&memory, method, arguments.as_array().unwrap()).await;
        assert_eq!(result, Ok(expected), "{method}");
    }
}

#[tokio::test]
async fn g103_a_namespace_without_its_id_reads_as_empty_and_refuses_writes() {
    let driver = || store(&Clock::default());
    let settings = MemorySettings::default();
    let namespaces = [
        (
            Memory::user(driver(), "t", None, settings),
            "user",
            "authorized.user_id",
        ),
        (
            Memory::team(driver(), "t", None, settings),
            "team",
            "authorized.team_id",
        ),
        (
            Memory::chat(driver(), "t", None, settings),
            "chat",
            "chat_id",
        ),
    ];
    for (memory, name, needs) in namespaces {
        let memory = memory.unwrap();
        assert_eq!((memory.id(), memory.space()), ("", name));
        for (method, is_write) in METHODS {
            let arguments = if *method == "Keys" {
                json!([])
            } else {
                json!(["k", 1, 1])
            };
            let result = call(&memory, method, arguments.as_array().unwrap()).await;
            let empty = match *method {
                "Get" | "ArrayGet" => Value::Null,
                "Has" => json!(false),
                "Len" | "ArrayLen" => json!(0),
                _ => json!([]),
            };
            let refused = Err(format!("memory.{name} needs {needs}"));
            let expected = if *is_write { refused } else { Ok(empty) };
            assert_eq!(result, expected, "memory.{name} {method}");
        }
    }
}

#[tokio::test]
async fn get_or_set_keeps_what_is_there_and_of_many_callers_all_get_the_same() {
    let clock = Clock::default();
    let driver = store(&clock);
    let memory = Memory::store(Arc::clone(&driver), "cache", MemorySettings::default()).unwrap();
    let hour = Some(Ttl::seconds(3_600.0).unwrap());
    let at_once = (0..20).map(|number| {
        let memory = memory.clone();
        async move { memory.get_or_set("k", &number, hour).await.unwrap() }
    });
    let found = futures::future::join_all(at_once).await;
    let first: u64 = found[0].to().unwrap();
    assert!(found.iter().all(|one| one.to::<u64>().unwrap() == first));
    assert_eq!(value(memory.get("k").await.unwrap()), Some(json!(first)));
    clock.advance(Duration::from_secs(3_600));
    let again = memory.get_or_set("k", &"new", None).await.unwrap();
    assert_eq!(value(Some(again)), Some(json!("new")));
    memory.set("null", &json!(null), None).await.unwrap();
    let null = memory.get_or_set("null", &1, None).await.unwrap();
    assert_eq!(value(Some(null)), Some(json!(null)));
}

#[tokio::test]
async fn a_store_is_its_own_namespace() {
    let driver = store(&Clock::default());
    let of = |id: &str| Memory::store(Arc::clone(&driver), id, MemorySettings::default()).unwrap();
    of("a").set("k", &1, None).await.unwrap();
    assert_eq!(value(of("a.b").get("k").await.unwrap()), None);
    assert_eq!((of("a").id(), of("a").space()), ("a", "store"));
}
