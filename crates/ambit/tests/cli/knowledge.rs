//! `ambit kb`: collections from the command line.

use crate::place::{Place, Ran};
use std::fs;

/// An app with one document in a collection of files; its embedder is down.
const APP: &[(&str, &str)] = &[
    ("app.yao", r#"{"name": "Shop"}"#),
    (
        "connectors/down.conn.yao",
        r#"{"type": "openai", "options": {"model": "e5", "key": "k", "host": "http://127.0.0.1:1"}}"#,
    ),
    ("connectors/up.conn.yao", r#"{"type": "scripted"}"#),
    (
        "kb/handbook.kb.yao",
        r#"{"documents": ["docs/*.md"], "embedding": "down"}"#,
    ),
    ("docs/returns.md", "# Returns\n\nLamps can be\n\nreturned."),
];

struct Shop(Place);

impl Shop {
    fn new() -> Self {
        let shop = Self(Place::new());
        APP.iter().for_each(|(file, text)| shop.write(file, text));
        shop.0.make_store("main.db");
        shop
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.path("app").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn kb(&self, command: &str, arguments: &[&str]) -> Ran {
        let app = self.0.path("app");
        let shell = ["kb", command, "--app", app.to_str().unwrap()];
        self.0.run(&[&shell, arguments].concat())
    }

    /// A file beside the app.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn said(out: &str, err: &str) -> Ran {
    Ran {
        err: err.to_owned(),
        ..Ran::printed(out)
    }
}

#[test]
fn an_embedder_that_is_down_delays_no_command() {
    let shop = Shop::new();
    let listed = shop.kb("ls", &["handbook"]);
    let expected = "DOCUMENT                  STATUS     CHUNKS  TITLE\n\
        handbook:docs/returns.md  embedding  1       Returns\n";
    assert_eq!(listed, Ran::printed(expected));
    let missing = "1 of 1 documents have no vectors yet, and words alone find them";
    let found = shop.kb("search", &["handbook", "lamps"]);
    assert_eq!(found.err, format!("ambit: {missing}\n"));
    assert!(
        found
            .out
            .ends_with("  handbook:docs/returns.md  Returns\n       Lamps can be returned.\n"),
        "{found:?}"
    );

    let line = r#"{"query": "lamps", "relevant": ["handbook:docs/returns.md"]}"#;
    let questions = shop.file("questions.jsonl", line);
    let eval = ["handbook", &questions, "--patience", "0"];
    let measured = shop.kb("eval", &eval);
    let expected = "1 question\nnDCG@10    1.0000\nrecall@10  1.0000\nMRR@10     1.0000\n";
    let err = format!("ambit: {missing}: the figures are those of this state\n");
    assert_eq!(measured, said(expected, &err));

    // Another embedder is waited for.
    shop.write(
        "kb/handbook.kb.yao",
        r#"{"documents": ["docs/*.md"], "embedding": "up"}"#,
    );
    assert_eq!(shop.kb("eval", &eval[..2]), Ran::printed(expected));
    let collections = shop.kb("ls", &["--json"]).json();
    assert_eq!(collections[0]["embedding"]["dimension"], 64);

    // One that answers no more is missed in the questions.
    shop.write("connectors/up.conn.yao", APP[1].1);
    let why = "words only: embedding connector \"up\" is unavailable";
    let err = format!("ambit: not all was searched for 1 of 1 question: {why}\n");
    assert_eq!(shop.kb("eval", &eval[..2]), said(expected, &err));
}

#[test]
fn a_file_of_a_collection_that_cannot_be_read_is_told() {
    let shop = Shop::new();
    shop.write("kb/bad.kb.yao", r#"{"documents": ["docs/*.md"]"#);
    let listed = shop.kb("ls", &[]);
    assert_eq!(listed.code, 0);
    assert!(
        listed.err.starts_with("ambit: kb/bad.kb.yao:1:"),
        "{listed:?}"
    );
}

#[test]
fn a_document_that_is_added_again_is_replaced_and_one_can_be_removed() {
    let shop = Shop::new();
    let tea = shop.file("tea.txt", "Green tea.");
    let waiting = shop.kb("add", &["books", &tea]);
    assert_eq!(waiting.out, "tea.txt waits as books:tea.txt\n");
    assert!(
        waiting
            .err
            .contains("`ambit kb ls books` shows how far they are"),
        "{waiting:?}"
    );
    shop.file("tea.txt", "Black tea.");
    let added = shop.kb("add", &["books", &tea, "--wait"]);
    assert_eq!(added, Ran::printed("tea.txt is found as books:tea.txt\n"));
    let again = shop.kb("add", &["books", &tea]);
    assert_eq!(again, Ran::printed("tea.txt is there as books:tea.txt\n"));
    let found = shop.kb("search", &["books", "tea"]);
    assert!(
        found
            .out
            .ends_with("  books:tea.txt  tea.txt\n       Black tea.\n"),
        "{found:?}"
    );

    let none = shop.kb("search", &["books", "pianos"]);
    assert_eq!(none, said("", "ambit: nothing is found\n"));
    let empty = shop.kb("search", &["books", " "]);
    assert_eq!(
        empty,
        Ran::refused("the query is empty: say what to look for")
    );

    let other = shop.kb(
        "rm",
        &["books", "books:tea.txt", "handbook:docs/returns.md"],
    );
    assert_eq!(
        other,
        Ran::refused("document \"handbook:docs/returns.md\" is none of collection \"books\"")
    );
    let removed = shop.kb("rm", &["books", "books:tea.txt"]);
    assert_eq!(removed, Ran::printed("books:tea.txt is removed\n"));
    let empty = "ambit: books holds no documents; `ambit kb add books PATH` adds some\n";
    assert_eq!(shop.kb("ls", &["books"]), said("", empty));
}

#[test]
fn ids_of_documents_are_their_names_or_the_one_that_is_given() {
    let shop = Shop::new();
    fs::create_dir_all(shop.0.path("manuals/old")).unwrap();
    let new = shop.file("manuals/lamp.txt", "A lamp.");
    let old = shop.file("manuals/old/lamp.txt", "An old lamp.");
    let twice = shop.kb("add", &["books", &new, &old]);
    assert_eq!(twice.code, 1);
    assert!(
        twice.err.contains("two of them are called \"lamp.txt\""),
        "{twice:?}"
    );
    let folder = shop.0.path("manuals");
    let empty = shop.0.path("empty");
    fs::create_dir_all(&empty).unwrap();
    let refused = shop.kb("add", &["nothing", empty.to_str().unwrap()]);
    assert!(refused.err.contains("empty holds no files"), "{refused:?}");
    assert!(!shop.kb("ls", &[]).out.contains("nothing"));
    let all = shop.kb("add", &["books", folder.to_str().unwrap(), "--wait"]);
    let expected = "lamp.txt is found as books:manuals/lamp.txt\n\
        lamp.txt is found as books:manuals/old/lamp.txt\n";
    assert_eq!(all, Ran::printed(expected));
    let named = shop.kb("add", &["books", &new, "--id", "lamp", "--wait"]);
    assert_eq!(named, Ran::printed("lamp.txt is found as lamp\n"));
    let elsewhere = shop.kb("add", &["other", &new, "--id", "lamp"]);
    assert_eq!(
        elsewhere,
        Ran::refused("--id document \"lamp\" is one of collection \"books\": choose another")
    );
}

/// The lines of what was found, without scores.
fn lines(found: &Ran) -> Vec<&str> {
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    let lines = found.out.lines();
    lines.map(|line| line.get(7..).unwrap()).collect()
}

#[test]
fn a_search_keeps_to_its_filter_and_tells_how_it_ranks() {
    let shop = Shop::new();
    shop.write("kb/lamps.kb.yao", r#"{"documents": ["lamps/*.md"]}"#);
    for (year, burns) in [(2019, "oil"), (2024, "nothing")] {
        let text = format!("---\nyear: {year}\n---\n# Lamps of {year}\n\nLamps burn {burns}.");
        shop.write(&format!("lamps/{year}.md"), &text);
    }
    let search = |more: &[&str]| shop.kb("search", &[&["lamps", "lamps burn oil"], more].concat());
    let old = ["lamps:lamps/2019.md  Lamps of 2019", "Lamps burn oil."];
    let new = ["lamps:lamps/2024.md  Lamps of 2024", "Lamps burn nothing."];
    assert_eq!(lines(&search(&[])), [old, new].concat());
    let late = ["--filter", r#"{"year": {"$gte": 2020}}"#];
    assert_eq!(lines(&search(&late)), new);
    let never = search(&["--filter", r#"{"year": {"$gt": 2024}}"#]);
    assert_eq!(never, said("", "ambit: nothing is found\n"));

    let explained = search(&["--explain", "--limit", "1"]);
    let [document, ranking, text] = lines(&explained)[..] else {
        panic!("{explained:?}");
    };
    assert_eq!([document, text], old);
    let ranking: serde_json::Value = serde_json::from_str(ranking).unwrap();
    assert_eq!(ranking["words"]["rank"], 1);
    assert!(
        ranking["words"]["bm25"].as_f64().unwrap() > 0.0,
        "{ranking}"
    );

    for (filter, reason) in [
        (
            r#"{"year": {"$near": 2020}}"#,
            "ambit: --filter is refused: \"year.$near\" is no operator",
        ),
        ("year", "must be a JSON object"),
    ] {
        let refused = search(&["--filter", filter]);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""));
        assert!(refused.err.contains(reason), "{refused:?}");
    }
}

#[test]
fn questions_that_only_one_measurement_has_and_ids_that_are_wrong_are_told() {
    let shop = Shop::new();
    shop.write(
        "kb/handbook.kb.yao",
        r#"{"documents": ["docs/*.md", "docs/*.jsonl"]}"#,
    );
    shop.write(
        "docs/words.jsonl",
        "{\"_id\": \"w1\", \"text\": \"A chandelier.\"}\n",
    );
    let lamps = r#"{"query": "lamps", "relevant": ["handbook:docs/returns.md"]}"#;
    let words = r#"{"query": "chandelier", "relevant": ["w1"]}"#;
    let wrong = r#"{"query": "returned", "relevant": ["handbook:docs/nope.md"]}"#;
    let first = shop.file("first.jsonl", &format!("{lamps}\n{words}\n"));
    let second = shop.file("second.jsonl", &format!("{lamps}\n{wrong}\n"));
    let base = shop.0.path("base.json");
    let base = base.to_str().unwrap();
    let saved = shop.kb("eval", &["handbook", &first, "--save", base]);
    assert_eq!((saved.code, saved.err.as_str()), (0, ""));
    assert!(saved.out.contains("nDCG@10    1.0000"), "{saved:?}");
    let compared = shop.kb("eval", &["handbook", &second, "--baseline", base]);
    assert_eq!(
        compared.err,
        "ambit: ids in \"relevant\" that collection \"handbook\" does not have (1): handbook:docs/nope.md\n"
    );
    let told = "nDCG +0.0000 against the baseline, over 1 of 2 questions\n\
        not compared: 1 not in the baseline\nnot compared: 1 in the baseline alone\n";
    assert!(compared.out.ends_with(told), "{compared:?}");
}
