//! Every accepted form reads as its plain form, and what has none of the forms is refused.

mod random;

use super::*;
use crate::search::SearchItem;
use serde_json::json;
use std::fmt::Debug;

/// The forms in which an answer may come that is a list or an object.
fn dressed(plain: &Value) -> Vec<Value> {
    let text = plain.to_string();
    let mut forms = vec![
        plain.clone(),
        json!(text),
        json!(format!("\n {text} \n")),
        json!(format!("```json\n{text}\n```")),
        json!(format!(
            "Sure. Here it is:\n```\n{text}\n```\nAnything else?"
        )),
        json!({ "data": plain }),
        json!({ "data": text }),
        json!({"data": plain, "took": 3}),
        json!(format!("```\n{}\n```", json!({ "data": plain }))),
    ];
    if plain.is_object() {
        forms.push(json!(format!("I {{think}} that {text} is {{\"it\": 1}}")));
        let mut more = plain.clone();
        more["unknown"] = json!([{"x": 1}]);
        forms.push(more);
    }
    forms
}

/// Checks that all forms of these answers read alike.
fn same<T: PartialEq + Debug>(read: impl Fn(&Value) -> Result<T, AnswerError>, plain: &[Value]) {
    let expected = read(&plain[0]).unwrap();
    for form in plain.iter().flat_map(dressed) {
        let found = read(&form);
        assert_eq!(found.as_ref().ok(), Some(&expected), "{form}: {found:?}");
    }
}

/// Checks that none of these can be read, and that failures are told apart.
fn refused<T: Debug>(read: impl Fn(&Value) -> Result<T, AnswerError>, others: &[Value]) {
    let general = [
        json!({}),
        json!({"data": {}}),
        json!({"data": null}),
        json!({"error": null}),
        json!({"x": [1]}),
        json!("{\"cut\": [\"off"),
        json!(true),
        json!(null),
    ];
    for answer in general.iter().chain(others) {
        let found = read(answer);
        // A text that is no JSON is one for those that take text.
        let is_text = answer.is_string() && found.is_ok();
        let is_unreadable = matches!(found, Err(AnswerError::Unreadable(_)));
        assert!(is_unreadable || is_text, "{answer}: {found:?}");
    }
    for failed in [
        json!({"error": "out of order"}),
        json!({"error": {"message": "out of order", "code": 5}}),
        json!("```\n{\"error\": \"out of order\"}\n```"),
        json!({"data": {"error": "out of order"}}),
    ] {
        let found = read(&failed).map(|_| ()).unwrap_err();
        assert_eq!(
            found,
            AnswerError::Failed("out of order".to_owned()),
            "{failed}"
        );
    }
    let large = json!("x".repeat(LIMIT));
    assert!(matches!(read(&large), Err(AnswerError::TooLarge)));
}

#[test]
fn g216_intents_are_read_in_every_form() {
    same(
        intent,
        &[
            json!({"need_search": true, "search_types": ["web", "db"], "query": "q", "confidence": 0.5}),
            json!({"types": ["WEB", " Db", "web", "moon", 5], "query": " q ", "confidence": "0.5"}),
        ],
    );
    same(
        intent,
        &[
            json!({"need_search": false}),
            json!({"types": []}),
            json!({"types": ["moon"]}),
        ]
        .map(|mut form| {
            form["search_types"] = json!([]);
            form
        }),
    );
    same(
        intent,
        &[
            json!({"items": [{"title": "a", "url": "u", "content": "c", "score": 1, "type": "kb"}]}),
            json!({"items": [{"name": "a", "link": "u", "snippet": "c", "type": "kb"}, {}], "need_search": 3}),
        ],
    );
    refused(
        intent,
        &[
            json!({"need_search": "perhaps"}),
            json!({"types": "web"}),
            json!({"items": "none"}),
            json!({"items": [5]}),
            json!("web"),
        ],
    );
}

#[test]
fn what_create_returns_wants_a_search_unless_it_says_otherwise() {
    let of = |given: Value| {
        let intent = create_intent(given.as_object().unwrap());
        (
            intent.need_search,
            intent.search_types.map(|types| types.len()),
        )
    };
    assert_eq!(of(json!({"web": {"max_results": 3}})), (true, None));
    assert_eq!(
        of(json!({"need_search": true, "types": ["web", "kb"]})),
        (true, Some(2))
    );
    assert_eq!(of(json!({"types": ["kb"]})), (true, Some(1)));
    assert_eq!(of(json!({"types": ["moon"]})), (false, Some(0)));
    assert_eq!(
        of(json!({"need_search": false, "types": ["kb"]})),
        (false, Some(1))
    );
}

#[test]
fn g216_keywords_are_read_in_every_form() {
    same(
        keywords,
        &[
            json!({"keywords": [{"k": "a b", "w": 0.9}, {"k": "c"}, {"k": "d:e", "w": 0.5}]}),
            json!({"keywords": ["a b:0.9", "c", "d:e"]}),
            json!(["a b : 0.9", {"k": " c ", "w": "0.5"}, "", "d:e:0.5"]),
        ],
    );
    same(
        keywords,
        &[json!({"keywords": "rust 1:9"}), json!(["rust 1:9"])],
    );
    let bare = keywords(&json!(" rust 1:9\n")).unwrap();
    assert_eq!(bare, keywords(&json!(["rust 1:9"])).unwrap());
    assert_eq!(keywords(&json!("2024")), keywords(&json!(["2024"])));
    refused(
        keywords,
        &[
            json!({"keywords": [{"w": 1}]}),
            json!([["a"]]),
            json!({"keywords": [true]}),
        ],
    );
}

#[test]
fn the_heaviest_keywords_come_first() {
    let words = keywords(&json!(["a", "b:0.9", "a:0.8", "c:0.2", "d:0.5"])).unwrap();
    assert_eq!(joined(words.clone(), 10), "b a d c");
    assert_eq!(joined(words.clone(), 2), "b a");
    assert_eq!(joined(words, 0), "");
}

#[test]
fn the_words_of_a_query_are_those_that_say_something() {
    let words = |query: &str| joined(query_words(query, "auto"), 10);
    assert_eq!(words("What is the capital of France?"), "capital France");
    assert_eq!(words("where is it"), "where is it");
    assert_eq!(words("\"Rust\" und (Python)"), "Rust und Python");
    assert_eq!(words("北京 天气"), "北京 天气");
    assert_eq!(words("?!"), "");
}

#[test]
fn g216_results_are_read_in_every_form() {
    same(
        items,
        &[
            json!({"items": [
                {"title": "a", "url": "https://a.test", "content": "c", "score": 1.0, "metadata": {"x": 1}},
                {"title": "b", "url": "", "content": "", "score": 0.25}]}),
            json!({"items": [
                {"name": "a", "link": "https://a.test", "snippet": "c", "score": "8", "metadata": {"x": 1}},
                {"title": "b", "score": 2}, {"score": 3, "content": " "}], "total": 2}),
        ],
    );
    let many: Vec<Value> = (0..25).map(|at| json!({"text": at})).collect();
    let scores: Vec<f64> = items(&json!({ "items": many }))
        .unwrap()
        .iter()
        .map(|item| item.score)
        .collect();
    assert_eq!(
        (scores[0], scores[1], scores[18], scores[24]),
        (1.0, 0.95, 0.1, 0.1)
    );
    assert_eq!(items(&json!({"items": []})), Ok(Vec::new()));
    refused(
        items,
        &[
            json!([{"title": "a"}]),
            json!({"items": {}}),
            json!({"items": ["a"]}),
            json!("a"),
        ],
    );
}

#[test]
fn g216_queries_are_read_in_every_form() {
    let same_query =
        |forms: &[Value]| same(|answer| query_dsl(answer).map(|found| found.dsl), forms);
    same_query(&[
        json!({"select": ["id", "name"], "from": "user", "wheres": [{"field": "status", "op": "=", "value": 1}],
            "orders": [{"field": "id", "sort": "desc"}]}),
        json!({"dsl": {"select": [{"field": "id"}, "*", {"field": {"field": "name"}}], "from": "user",
            "wheres": [{"field": {"field": "status"}, "op": "=", "value": 1}],
            "orders": [{"field": {"field": "id"}, "sort": "desc"}]}, "explain": "all", "warnings": ["w", 5]}),
    ].map(|mut form| {
        // What is ignored of an answer is part of a query.
        let query = if form.get("dsl").is_some() { &mut form["dsl"] } else { &mut form };
        query["unknown"] = json!([{"x": 1}]);
        form
    }));
    let found = query_dsl(
        &json!({"dsl": {"from": "a", "select": ["*"]}, "explain": "all", "warnings": ["w"]}),
    )
    .unwrap();
    assert_eq!(json!(found.dsl), json!({"from": "a"}));
    assert_eq!(
        (found.explain.as_str(), found.warnings.as_slice()),
        ("all", &["w".to_owned()][..])
    );
    refused(
        query_dsl,
        &[
            json!({"dsl": "select"}),
            json!(["from"]),
            json!("all of them"),
        ],
    );
}

#[test]
fn g216_orders_are_read_in_every_form() {
    same(
        order,
        &[
            json!({"order": ["3", "1"]}),
            json!({"order": [3, " 1 "], "total": 2}),
            json!({"items": [{"citation_id": "3", "title": "a"}, {"citation_id": 1}]}),
            json!(["3", "1"]),
        ],
    );
    refused(
        order,
        &[
            json!({"order": "3"}),
            json!([{"id": "3"}]),
            json!({"items": [{"id": "3"}]}),
            json!([["3"]]),
        ],
    );
}

#[test]
fn what_an_order_does_not_name_comes_behind_it() {
    let item = |id: &str| SearchItem {
        citation_id: id.to_owned(),
        weight: 0.5,
        score: if id == "2" { 0.9 } else { 0.8 },
        ..SearchItem::default()
    };
    let items: Vec<SearchItem> = ["1", "2", "3", "4"].map(item).into();
    let ranked = |order: &[&str], most: usize| {
        let order: Vec<String> = order.iter().map(|id| (*id).to_owned()).collect();
        let ranked = reorder(items.clone(), &order, most);
        let ids: Vec<String> = ranked.into_iter().map(|item| item.citation_id).collect();
        ids.join(" ")
    };
    assert_eq!(ranked(&["3", "9", "1", "3"], 10), "3 1 2 4");
    assert_eq!(ranked(&["4"], 2), "4 1");
    assert_eq!(ranked(&[], 10), "1 2 3 4");
    assert_eq!(by_weight(&items).join(" "), "2 1 3 4");
}

#[test]
fn g216_texts_are_read_in_every_form() {
    let page = "# A page\n```\ncode\n```";
    for form in [
        json!(page),
        json!({ "text": page }),
        json!({"data": {"text": page}}),
        json!({ "data": page }),
        json!(json!({ "text": page }).to_string()),
        json!(format!("```json\n{}\n```", json!({ "text": page }))),
    ] {
        assert_eq!(fetched(&form), Ok(page.to_owned()), "{form}");
    }
    for page in [
        "{\"a\": [1]}",
        "[1, 2]",
        "as in {\"text\": \"x\"} here",
        "{\"error\": 1, \"b\": 2}",
    ] {
        assert_eq!(fetched(&json!(page)), Ok(page.to_owned()));
    }
}

#[test]
fn g216_pages_are_read_in_every_form() {
    let pages =
        json!({"pages": [{"page": 1, "text": "a"}, {"page": "2", "text": "b"}], "title": "T"});
    let found = extracted(&pages).unwrap();
    assert_eq!(
        (found.text.as_str(), found.title.as_deref()),
        ("a\n\nb", Some("T"))
    );
    assert_eq!(
        found.pages[1],
        ExtractedPage {
            page: 2,
            text: "b".to_owned()
        }
    );
    let mut more = pages.clone();
    more["text"] = json!("a\n\nb");
    more["unknown"] = json!(1);
    for form in [&pages, &more] {
        let text = form.to_string();
        let fence = format!("```json\n{text}\n```");
        for form in [
            form.clone(),
            json!({ "data": form }),
            json!(text),
            json!(fence),
            json!({ "data": fence }),
        ] {
            assert_eq!(extracted(&form), Ok(found.clone()), "{form}");
        }
    }
    for wrong in [
        json!({"text": 5}),
        json!({"pages": []}),
        json!({"pages": [{"page": 0, "text": "a"}]}),
        json!(5),
        json!([]),
    ] {
        assert!(
            matches!(extracted(&wrong), Err(AnswerError::Unreadable(_))),
            "{wrong}"
        );
    }
}

#[test]
fn types_that_there_are_not_are_named() {
    let of = |given: Value| unknown_types(given.as_object().unwrap());
    assert_eq!(of(json!({"types": ["moon", " KB ", 3]})), ["moon"]);
    assert_eq!(of(json!({"need_search": true})), Vec::<String>::new());
}
