//! `ambit search`: what the searches of an agent find, from the command line.

use crate::place::{Place, Ran};
use serde_json::{Value, json};

const APP: &[(&str, &str)] = &[
    ("app.yao", r#"{"name": "Search"}"#),
    (
        "assistants/guide/package.yao",
        r#"{"name": "Guide", "kb": {"collections": ["rules"]}, "search": {"web": {"provider": "scripted", "results": [
            {"match": "trains", "items": [{"title": "Timetable", "url": "https://trains.test/", "content": "All trains."}]},
            {"error": "out of order"}]}}}"#,
    ),
    ("assistants/mute/package.yao", r#"{"name": "Mute"}"#),
    ("kb/rules.kb.yao", r#"{"documents": ["docs/*.md"]}"#),
    (
        "docs/travel.md",
        "# Travel\n\nTrains are preferred to aeroplanes.",
    ),
];

fn search(place: &Place, arguments: &[&str]) -> Ran {
    let app = place.path("app");
    let mut all = vec!["search", "--app", app.to_str().unwrap()];
    all.extend(arguments);
    place.run(&all)
}

fn place() -> Place {
    let place = Place::new();
    for (file, text) in APP {
        let path = place.path("app").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    place
}

#[test]
fn an_agents_search_finds_what_its_settings_name() {
    let place = place();
    let ran = search(&place, &["guide", "trains", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let items = ran.out.lines().map(|line| {
        let item: Value = serde_json::from_str(line).unwrap();
        json!([
            item["type"],
            item["source"],
            item["title"],
            item["url"],
            item["collection"]
        ])
    });
    let expected = [
        json!(["web", "user", "Timetable", "https://trains.test/", null]),
        json!(["kb", "user", "Travel", "", "rules"]),
    ];
    assert_eq!(items.collect::<Vec<Value>>(), expected);

    let shown = search(&place, &["guide", "trains", "--types", "web"]);
    let expected = "1.000  Timetable  https://trains.test/\n       All trains.\n";
    assert_eq!(shown, Ran::printed(expected));
}

#[test]
fn a_search_that_fails_says_why() {
    let place = place();
    let half = search(&place, &["guide", "aeroplanes", "--types", "web,kb"]);
    assert_eq!(
        (half.code, half.err.as_str()),
        (0, "ambit: web: scripted: out of order\n")
    );
    assert!(half.out.contains("  Travel  rules\n"), "{}", half.out);
    for (arguments, why) in [
        (
            vec!["guide", "x", "--types", "web"],
            "ambit: web: scripted: out of order\n",
        ),
        (
            vec!["mute", "x"],
            "ambit: agent \"mute\" is set up to search nothing: its package.yao needs search, kb or db, or name what to search\n",
        ),
        (
            vec!["mute", "x", "--types", "kb"],
            "ambit: kb: no collections: set search.kb.collections, or name some\n",
        ),
    ] {
        let ran = search(&place, &arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
        assert_eq!(ran.err, why, "{arguments:?}");
    }
}

#[test]
fn an_agent_that_is_not_there_is_told_with_those_that_are() {
    let unknown = search(&place(), &["nobody", "trains"]);
    let expected = "agent \"nobody\" not found; the agents are: guide, mute";
    assert_eq!(unknown, Ran::refused(expected));
}
