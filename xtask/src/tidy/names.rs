//! How things are named: types unique in their crate, words of the trade, parameters with names.

use super::rust::{Signature, signatures, type_names};
use super::{Finding, Source};
use std::collections::BTreeMap;

/// Names that several types of a crate may share.
const COMMON: &[&str] = &["Error", "Result", "Builder"];

/// Words that name nothing: participles and metaphors. No type and no file has one of them as its name.
const RIDDLES: &[&str] = &[
    "Asked",
    "Called",
    "Census",
    "Described",
    "Desk",
    "Ears",
    "Filled",
    "Found",
    "Given",
    "Goods",
    "Ground",
    "Heard",
    "Held",
    "House",
    "Kept",
    "Knife",
    "Lane",
    "Left",
    "Leg",
    "Letter",
    "Line",
    "Listed",
    "Made",
    "Mapped",
    "Missed",
    "Mouth",
    "Nest",
    "Nexted",
    "Noted",
    "Offered",
    "Opened",
    "Patrol",
    "Place",
    "Received",
    "Said",
    "Seen",
    "Shown",
    "Speaker",
    "Spoke",
    "Spoken",
    "Taken",
    "Told",
    "Turnstile",
    "Unsent",
    "Used",
    "Voice",
    "Wanted",
    "Watchman",
    "Written",
];

/// Imports under another name, traits brought in as `_` apart; the number only goes down.
const ALIASES: usize = 20;

/// Every name that breaks a rule.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let inside: Vec<&Source> = sources.iter().filter(|it| it.is_product()).collect();
    let mut findings = shared(&inside);
    findings.extend(aliases(&inside));
    findings.extend(sources.iter().flat_map(tuples));
    for source in inside {
        findings.extend(riddles(source));
        findings.extend(layout(source));
    }
    findings
}

/// Types of one crate with one name.
fn shared(sources: &[&Source]) -> Vec<Finding> {
    let mut places: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for source in sources {
        for name in type_names(source.product_text()) {
            let key = (source.crate_name(), name);
            places.entry(key).or_default().push(&source.path);
        }
    }
    let shared = places
        .into_iter()
        .filter(|((_, name), paths)| paths.len() > 1 && !COMMON.contains(name));
    shared
        .map(|((_, name), paths)| {
            let what = format!("the type name {name} is also in {}", paths[1..].join(", "));
            Finding::new(paths[0], what)
        })
        .collect()
}

/// Types and files named by a word that says nothing.
fn riddles(source: &Source) -> Vec<Finding> {
    let stem = source.stem();
    let file = RIDDLES
        .iter()
        .find(|word| word.eq_ignore_ascii_case(stem))
        .map(|_| format!("a stranger does not know what a file {stem}.rs is about"));
    let types = type_names(source.product_text())
        .filter(|name| RIDDLES.contains(name))
        .map(|name| format!("a stranger does not know what a {name} is"));
    file.into_iter()
        .chain(types)
        .map(|what| Finding::new(&source.path, what))
        .collect()
}

/// Functions with a tuple for a parameter, those of tests too.
fn tuples(source: &Source) -> impl Iterator<Item = Finding> {
    let found = signatures(&source.text).filter(Signature::takes_tuple);
    found.map(|found| {
        let what = format!("fn {} takes a tuple; a struct names its fields", found.name);
        Finding::new(&source.path, what)
    })
}

/// `name.rs` beside `name/` is the one layout.
fn layout(source: &Source) -> Option<Finding> {
    let what = "a module is name.rs beside name/, not name/mod.rs";
    (source.stem() == "mod").then(|| Finding::new(&source.path, what))
}

/// Crates with more imports under another name than a reader can keep in mind.
fn aliases(sources: &[&Source]) -> Option<Finding> {
    let renamed = |source: &&Source| {
        let lines = source.product_text().lines();
        lines.filter(|line| is_alias(line)).count()
    };
    let count: usize = sources.iter().map(renamed).sum();
    let what = format!("{count} imports have another name (`use … as …`); at most {ALIASES}");
    (count > ALIASES).then(|| Finding::new("crates", what))
}

fn is_alias(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
    let line = line.strip_prefix("pub ").unwrap_or(line);
    line.starts_with("use ") && line.contains(" as ") && !line.contains(" as _")
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, source};
    use super::{ALIASES, check};

    fn findings(files: &[(&str, &str)]) -> Vec<Finding> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| source(path, text))
            .collect();
        check(&files)
    }

    #[test]
    fn one_name_for_two_types_of_a_crate_is_a_finding() {
        let types = [
            ("crates/a/src/x.rs", "pub struct ToolCall;\n"),
            ("crates/a/src/y.rs", "pub(crate) enum ToolCall {}\n"),
        ];
        assert_eq!(findings(&types).len(), 1);
        let other = [types[0], ("crates/b/src/y.rs", types[1].1)];
        assert_eq!(findings(&other), []);
        let errors = [
            ("crates/a/src/x.rs", "pub struct Error;\n"),
            ("crates/a/src/y.rs", "pub enum Error {}\n"),
        ];
        assert_eq!(findings(&errors), []);
    }

    #[test]
    fn types_of_unit_tests_do_not_count() {
        let tests = "#[cfg(test)]\nmod tests {\n    struct ToolCall;\n}\n";
        let files = [
            ("crates/a/src/x.rs", "pub struct ToolCall;\n"),
            ("crates/a/src/y.rs", tests),
        ];
        assert_eq!(findings(&files), []);
    }

    #[test]
    fn riddles_are_found_in_types_and_files() {
        assert_eq!(findings(&[("crates/a/src/x.rs", "struct Leg;\n")]).len(), 1);
        assert_eq!(findings(&[("crates/a/src/leg.rs", "")]).len(), 1);
        assert_eq!(
            findings(&[("crates/a/src/x.rs", "struct LegLength;\n")]),
            []
        );
    }

    #[test]
    fn a_tuple_parameter_is_a_finding() {
        let tuple = "fn f((a, b): (u8, u8)) {}\n";
        assert_eq!(findings(&[("crates/a/src/x.rs", tuple)]).len(), 1);
        let test = format!("#[cfg(test)]\nmod tests {{\n    {tuple}}}\n");
        assert_eq!(findings(&[("crates/a/src/x.rs", &test)]).len(), 1);
        assert_eq!(findings(&[("crates/a/tests/x.rs", tuple)]).len(), 1);
    }

    #[test]
    fn a_mod_file_is_a_finding() {
        assert_eq!(findings(&[("crates/a/src/x/mod.rs", "")]).len(), 1);
        assert_eq!(findings(&[("crates/a/tests/x/mod.rs", "")]), []);
    }

    #[test]
    fn imports_under_other_names_are_counted() {
        let line = "use a::B as C;\n";
        assert_eq!(
            findings(&[("crates/a/src/x.rs", &line.repeat(ALIASES))]),
            []
        );
        let more = line.repeat(ALIASES + 1);
        assert_eq!(findings(&[("crates/a/src/x.rs", &more)]).len(), 1);
        let traits = "use a::B as _;\n".repeat(ALIASES + 1);
        assert_eq!(findings(&[("crates/a/src/x.rs", &traits)]), []);
    }
}
