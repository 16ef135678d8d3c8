//! The JSON Schemas for editors take what the reader takes, and refuse what it refuses.

use crate::mistakes::CASES;
use ambit_runtime::app::problem::ProblemReport;
use ambit_runtime::app::read::{ConfigReader, FileKind, parse, schema};
use ambit_runtime::app::{EnvVariables, FILES, Severity};
use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The schemas of all kinds of files.
struct Known {
    schemas: Schemas,
    kinds: Vec<(&'static FileKind, SchemaIndex)>,
}

impl Known {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let kinds = FILES.iter().map(|kind| {
            let url = format!("file:///{}.json", kind.name);
            compiler
                .add_resource(&url, schema(kind.doc, &kind.kind))
                .unwrap();
            (kind, compiler.compile(&url, &mut schemas).unwrap())
        });
        let kinds = kinds.collect();
        Self { schemas, kinds }
    }

    /// The kind of a file, if it has one.
    fn of(&self, file: &str) -> Option<(&'static FileKind, SchemaIndex)> {
        let mut kinds = self.kinds.iter();
        let found = kinds.find(|(kind, _)| {
            let mut patterns = kind.patterns.iter();
            patterns.any(|pattern| matches(pattern, file))
        });
        found.copied()
    }

    fn accepts(&self, index: SchemaIndex, value: &Value) -> bool {
        self.schemas.validate(value, index).is_ok()
    }
}

/// Whether a path fits a pattern in which `**/` stands for any folders and `*` for any letters but `/`.
fn matches(pattern: &str, path: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("**/") {
        let below = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        return std::iter::once(path)
            .chain(below)
            .any(|path| matches(rest, path));
    }
    let (Some(first), Some(letter)) = (pattern.chars().next(), path.chars().next()) else {
        return pattern.is_empty() && path.is_empty();
    };
    match first {
        '*' => matches(&pattern[1..], path) || (letter != '/' && matches(pattern, &path[1..])),
        _ => first == letter && matches(&pattern[1..], &path[1..]),
    }
}

fn value(file: &str, text: &str) -> Option<Value> {
    parse(file, text).ok().map(|node| node.value())
}

/// Whether the reader finds no error in a value.
fn is_read(kind: &FileKind, value: &Value) -> bool {
    let node = parse("file.json", &value.to_string()).unwrap();
    let mut report = ProblemReport::new("file.json");
    let variables = EnvVariables::new(&BTreeMap::new(), BTreeMap::new());
    let mut reader = ConfigReader {
        variables: &variables,
        report: &mut report,
        unknown: Severity::Error,
    };
    reader.read(&node, &kind.kind);
    report.first().is_none()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let nested = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    };
    paths.flat_map(nested).collect()
}

/// The apps of the repository, with the kinds and values of their files.
fn values(known: &Known) -> Vec<(String, &'static FileKind, SchemaIndex, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = fs::read_dir(root.join("examples")).unwrap();
    let mut apps: Vec<PathBuf> = examples.map(|entry| entry.unwrap().path()).collect();
    apps.push(root.join("crates/ambit/template"));
    apps.push(root.join("crates/ambit/tests/stories/app"));
    apps.push(root.join("crates/runtime/tests/app/fixture"));
    let mut values = Vec::new();
    for app in apps.iter().filter(|app| app.is_dir()) {
        for file in files(app) {
            let name = file.strip_prefix(app).unwrap().to_str().unwrap();
            let Some((kind, index)) = known.of(name) else {
                continue;
            };
            let value = value(name, &fs::read_to_string(&file).unwrap()).unwrap();
            values.push((file.display().to_string(), kind, index, value));
        }
    }
    values
}

#[test]
fn the_files_of_all_examples_are_as_their_schemas_say() {
    let known = Known::new();
    let values = values(&known);
    assert!(values.len() > 50, "only {} files", values.len());
    for (file, _, index, value) in values {
        let judged = known.schemas.validate(&value, index);
        assert!(judged.is_ok(), "{file}: {}", judged.unwrap_err());
    }
}

#[test]
fn mistakes_that_the_reader_tells_are_mistakes_for_the_schemas() {
    let known = Known::new();
    let mut seen = 0;
    for case in CASES {
        let (Some((kind, index)), Some(value)) = (known.of(case.0), value(case.0, case.1)) else {
            continue;
        };
        let is_pattern = case
            .2
            .iter()
            .any(|told| told.contains("regular expression"));
        if !is_read(kind, &value) && !is_pattern {
            assert!(!known.accepts(index, &value), "{}: {}", case.0, case.1);
            seen += 1;
        }
    }
    assert!(seen > 15, "only {seen} mistakes");
}

/// Values that stand in the place of others.
fn stand_ins() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(-3),
        json!(7),
        json!(0.5),
        json!(""),
        json!("some text"),
        json!("30s"),
        json!("64MiB"),
        json!([]),
        json!([null]),
        json!(["text"]),
        json!([1]),
        json!([{}]),
        json!({}),
        json!({"name": 1}),
        json!({"unknown": {"key": 1}}),
    ]
}

/// All values that differ from this one in one place.
fn variants(value: &Value) -> Vec<Value> {
    let mut variants = stand_ins();
    match value {
        Value::Object(entries) => {
            for (name, inner) in entries {
                let mut without = entries.clone();
                without.remove(name);
                variants.push(without.clone().into());
                without.insert(format!("{name}x"), inner.clone());
                variants.push(without.into());
                variants.extend(self::variants(inner).into_iter().map(|inner| {
                    let mut with = entries.clone();
                    with.insert(name.clone(), inner);
                    with.into()
                }));
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                variants.extend(self::variants(item).into_iter().map(|item| {
                    let mut with = items.clone();
                    with[at] = item;
                    with.into()
                }));
            }
        }
        _ => {}
    }
    variants
}

#[test]
fn a_schema_takes_what_the_reader_takes_and_nothing_else() {
    let known = Known::new();
    let mut count = 0;
    for (file, kind, index, value) in values(&known) {
        for variant in variants(&value) {
            let (read, accepted) = (is_read(kind, &variant), known.accepts(index, &variant));
            assert_eq!(read, accepted, "{file}: {variant}");
            count += 1;
        }
    }
    assert!(count > 5_000, "only {count} variants");
}

#[test]
fn a_variable_may_stand_for_any_plain_value() {
    let known = Known::new();
    let (_, package) = known.of("assistants/a/package.yao").unwrap();
    let plain = |options: Value| json!({"name": "A", "type": "$ENV.TYPE", "options": options});
    assert!(known.accepts(package, &plain(json!({"temperature": "$ENV.WARMTH"}))));
    assert!(!known.accepts(package, &plain(json!({"temperature": "warm"}))));
    let (_, prompts) = known.of("agent/prompts.yml").unwrap();
    let prompt = json!([{"role": "$ENV.ROLE", "content": "x"}]);
    assert!(
        !known.accepts(prompts, &prompt),
        "prompts keep their variables"
    );
}

#[test]
fn every_key_has_one_line_about_it() {
    for kind in FILES {
        let schema = schema(kind.doc, &kind.kind);
        check(kind.name, &schema);
    }
}

/// Looks for properties without a description.
fn check(path: &str, schema: &Value) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let doc = property["description"].as_str().unwrap_or_default();
        let is_line = doc.ends_with(['.', '…']) && !doc.starts_with(' ');
        assert!(is_line, "{path}: {doc:?}");
        check(&path, property);
    }
}
