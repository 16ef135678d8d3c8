//! `ambit kb eval` over a collection that others measure with: files, their reader, chunks and the ranking together.

use crate::place::{Place, Ran};
use std::fs;
use std::path::PathBuf;

/// The abstracts and questions of Cranfield, which the index alone is measured with too.
fn cranfield(file: &str) -> PathBuf {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    crates.join("search/tests/cranfield").join(file)
}

/// An app whose collection `all` has the abstracts, and `half` the first half of them.
fn app() -> Place {
    let place = Place::new();
    for folder in ["app/kb", "app/all", "app/half"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    let corpus = fs::read_to_string(cranfield("corpus.jsonl")).unwrap();
    let half: String = corpus.split_inclusive('\n').take(700).collect();
    for (file, text) in [
        ("app/app.yao", r#"{"name": "Library"}"#),
        ("app/kb/all.kb.yao", r#"{"documents": ["all/*.jsonl"]}"#),
        ("app/kb/half.kb.yao", r#"{"documents": ["half/*.jsonl"]}"#),
        ("app/all/corpus.jsonl", &*corpus),
        ("app/half/corpus.jsonl", &*half),
    ] {
        fs::write(place.path(file), text).unwrap();
    }
    place.make_store("main.db");
    place
}

/// Measures a collection.
fn eval(place: &Place, collection: &str, more: &[&str]) -> Ran {
    let [app, questions, qrels] = [
        place.path("app"),
        cranfield("queries.jsonl"),
        cranfield("qrels.tsv"),
    ]
    .map(|path| path.to_str().unwrap().to_owned());
    let command = ["kb", "eval", "--app", &app, collection, &questions];
    place.run(&[&command, &["--qrels", &qrels][..], more].concat())
}

#[test]
fn g218_files_of_cranfield_are_found_as_well_as_its_texts_and_a_loss_fails() {
    let place = app();
    let baseline = place.path("baseline.json");
    let baseline = baseline.to_str().unwrap();
    let figures = "113 questions\nnDCG@10    0.3970\nrecall@10  0.4064\nMRR@10     0.5387\n";
    // An abstract without words is no section of its file.
    let unknown = "ambit: ids in \"relevant\" that collection \"all\" does not have (1): 995\n";
    let measured = |more: &str| Ran {
        err: unknown.to_owned(),
        ..Ran::printed(&format!("{figures}{more}"))
    };
    assert_eq!(eval(&place, "all", &["--save", baseline]), measured(""));
    let compared = ["--baseline", baseline];
    let same = "nDCG +0.0000 against the baseline, over 113 of 113 questions\n";
    assert_eq!(eval(&place, "all", &compared), measured(same));

    let worse = eval(&place, "half", &compared);
    assert_eq!(worse.code, 1, "{worse:?}");
    let fell = "nDCG -0.1253 against the baseline, over 113 of 113 questions\nworse: 119 (0.0000, was 1.0000)\n";
    assert!(worse.out.contains(fell), "{worse:?}");
    let reason = "ambit: the ranking got worse than the baseline\n";
    assert!(worse.err.ends_with(reason), "{worse:?}");
}
