//! What people see of a search before the model's call: how far it is, and what its trace is made of.

use crate::automatic_search::{app, web};
use crate::place::{ask, borrowed, place_of_tools, request, tree};
use crate::search_holdups::with_document;
use crate::search_steps::{STEPS, by_tools, good};
use crate::toolbox::{Tools, outcome};
use serde_json::{Value, json};

const ENGLISH: [&str; 7] = [
    "Analyzing query…",
    "Extracting keywords…",
    "Searching…",
    "Found 2 references",
    "No results found",
    "No search needed",
    "Search failed",
];
const GERMAN: [&str; 7] = [
    "Was wird gefragt?",
    "Wonach?",
    "Suche …",
    "2 gefunden",
    "Nichts gefunden",
    "Keine Suche",
    "Gescheitert",
];

/// A file of translations of what people see.
fn german() -> (String, String) {
    let [intent, keyword, search, _, none, skipped, failed] = GERMAN;
    let texts = json!({"intent": intent, "keyword": keyword, "search": search, "found": "{n} gefunden", "none": none,
        "skipped": skipped, "failed": failed});
    let file = json!({"ambit": {"search": texts}});
    ("agent/locales/de.yml".to_owned(), file.to_string())
}

/// The texts that somebody sees, one after the other. All steps are done by tools, of which this one answers so.
async fn seen(locale: &str, tool: &'static str, answer: Value) -> Vec<String> {
    let mut files = by_tools("15s");
    files.push(german());
    let tools = Tools::new(&STEPS, move |step, _| {
        let answer = if step == tool {
            answer.clone()
        } else {
            good(&step)
        };
        Box::pin(async move { Ok(outcome(answer)) })
    });
    let place = place_of_tools(&borrowed(&files), tools).await;
    let mut asked = request("hello", "What is Rust?");
    asked.origin.locale = locale.to_owned();
    let frames = ask(&place, asked).await;
    let loading = frames.iter().filter(|frame| frame.kind == "loading");
    let texts = loading.filter_map(|frame| frame.props.get("message")?.as_str());
    texts.map(str::to_owned).collect()
}

#[tokio::test]
async fn how_far_a_search_is_is_told_in_the_language_of_whoever_asks() {
    for (locale, texts) in [("en-us", ENGLISH), ("de-DE", GERMAN)] {
        let [intent, keyword, search, found, none, skipped, failed] = texts;
        let ending = |last| vec![intent, keyword, search, last];
        let needless = json!({"need_search": false});
        for (tool, answer, expected) in [
            ("", Value::Null, ending(found)),
            ("web_search", json!({"items": []}), ending(none)),
            ("web_search", json!({"error": "no"}), ending(failed)),
            ("search", needless, vec![intent, skipped]),
        ] {
            assert_eq!(seen(locale, tool, answer).await, expected);
        }
    }
}

/// Puts a row into the table that is searched.
const FILLED: &str = "export function Create(ctx) {
    Process('models.note.Create', { title: 'boats' });
}";

#[tokio::test]
async fn each_step_of_a_search_is_a_node_below_it() {
    let uses = json!({"search": "mcp:s.search", "keyword": "mcp:s.extract_keywords", "rerank": "mcp:s.rerank"});
    let search = json!({"web": web(), "kb": {"collections": ["c"]}, "db": {"models": ["note"]}});
    let columns = json!([{"name": "id", "type": "ID"}, {"name": "title", "type": "string"}]);
    let capable = json!({"name": "Test", "version": "1.0.0", "ambit": {"capabilities": {"process": ["models.*"]}}});
    let more = [
        ("app.yao", capable),
        (
            "connectors/e5.conn.yao",
            json!({"type": "scripted", "label": "E5"}),
        ),
        (
            "models/note.mod.yao",
            json!({"name": "Note", "columns": columns}),
        ),
    ];
    let more = more.map(|(file, text)| (file.to_owned(), text.to_string()));
    let files = app(
        &json!({"uses": uses, "search": search}),
        FILLED,
        more.into(),
    );
    let tools = Tools::new(&STEPS, |step, _| {
        let answer = match step.as_str() {
            "search" => json!({"types": ["web", "kb", "db"]}),
            step => good(step),
        };
        Box::pin(async move { Ok(outcome(answer)) })
    });
    let place = place_of_tools(&borrowed(&files), tools).await;
    with_document(&place).await;
    let frames = ask(&place, request("hello", "boats")).await;
    let tree = tree(&place, &frames).await;
    let search = tree.nodes.iter().find(|node| node.kind == "search");
    let search = search.unwrap();
    let asked = json!({"query": "boats", "types": ["web", "kb", "db"]});
    assert_eq!((search.icon.as_str(), &search.input), ("search", &asked));
    let count = search.output["count"].as_u64();
    assert_eq!(count, Some(4), "two pages, a chunk and a row");
    let below = tree.nodes.iter();
    let below: Vec<_> = below
        .filter(|node| node.parent_ids.contains(&search.id))
        .collect();
    let mut names: Vec<&str> = below.iter().map(|node| node.label.as_str()).collect();
    names.sort_unstable();
    let steps = ["db", "embed", "intent", "kb", "keyword", "rerank", "web"];
    assert_eq!(names, steps);
    for node in below {
        let is_told = node.input.is_object() && node.output.is_object();
        assert!(is_told && node.error.is_none(), "{node:?}");
    }
}
