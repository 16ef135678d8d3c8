//! What no source file may contain, or only in its place.

use super::{Finding, Source};

/// Lines of a file before its unit tests.
const LINES: usize = 400;

/// Words that no file of a crate contains, and what to do instead.
const LEFTOVERS: &[(&str, &str)] = &[
    ("TODO", "finish it, or leave it out"),
    ("FIXME", "finish it, or leave it out"),
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or leave it out"),
    ("#[ignore", "make the test pass, or leave it out"),
    ("#[allow(", "use #[expect(…, reason = \"…\")]"),
    ("#![allow(", "use #[expect(…, reason = \"…\")]"),
];

/// Where SQL may be written.
const SQL: &[&str] = &[
    "crates/storage/src/driver/sqlite",
    "crates/storage/src/driver/postgres",
    "crates/runtime/src/model",
];

/// Where the environment may be read.
const ENVIRONMENT: &[&str] = &[
    "crates/ambit/src/environment.rs",
    "crates/ambit/src/settings",
];

/// Where `unsafe` may be written.
const UNSAFE: &[&str] = &["crates/quickjs-heap/src", "crates/script/src/bare"];

/// The parts of the runtime that turns are made of. What they need of a turn they are given.
const PARTS: &[&str] = &[
    "crates/runtime/src/frame",
    "crates/runtime/src/llm",
    "crates/runtime/src/mcp",
    "crates/runtime/src/model",
    "crates/runtime/src/net",
    "crates/runtime/src/outbox",
    "crates/runtime/src/stream",
    "crates/runtime/src/trace",
];

/// Every line, and every file, that breaks a rule.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        findings.extend(leftovers(source));
        // Folders of tests are programs of their own: they may be long, ask databases and read the environment.
        if source.path.split('/').nth(2) == Some("src") {
            findings.extend(length(source));
            findings.extend(place(
                source,
                SQL,
                is_sql,
                "SQL belongs in the drivers and in `model`",
            ));
            let what =
                "the environment is read in environment.rs and the settings of crates/ambit alone";
            findings.extend(place(source, ENVIRONMENT, reads_environment, what));
            let what = "`unsafe` belongs in `bare.rs` of crates/script and in crates/quickjs-heap";
            findings.extend(place(source, UNSAFE, is_unsafe, what));
        }
        if PARTS.iter().any(|part| source.path.starts_with(part)) {
            let what = "a part of turns knows no turn, hook or ctx";
            findings.extend(place(source, &[], looks_up, what));
        }
    }
    findings
}

fn length(source: &Source) -> Option<Finding> {
    let lines = source.without_tests().lines().count();
    let what = format!("{lines} lines before its tests; at most {LINES}: split it by idea");
    (lines > LINES).then(|| Finding::new(&source.path, what))
}

fn leftovers(source: &Source) -> Vec<Finding> {
    let found = |(number, line): (usize, &str)| {
        let (word, advice) = LEFTOVERS.iter().find(|(word, _)| line.contains(word))?;
        let place = format!("{}:{}", source.path, number + 1);
        Some(Finding::new(place, format!("{word}: {advice}")))
    };
    source.text.lines().enumerate().filter_map(found).collect()
}

/// The lines outside the unit tests that break a rule, unless the file is where the rule does not hold.
fn place(source: &Source, allowed: &[&str], breaks: fn(&str) -> bool, what: &str) -> Vec<Finding> {
    if allowed.iter().any(|place| source.path.starts_with(place)) {
        return Vec::new();
    }
    let lines = source.without_tests().lines().enumerate();
    let wrong = lines.filter(|(_, line)| !line.trim_start().starts_with("//") && breaks(line));
    wrong
        .map(|(number, _)| Finding::new(format!("{}:{}", source.path, number + 1), what))
        .collect()
}

fn is_sql(line: &str) -> bool {
    const UPPER: &[&str] = &["SELECT ", "INSERT ", "UPDATE ", "DELETE FROM", "PRAGMA "];
    const ANY: &[&str] = &[
        "insert into ",
        "delete from ",
        "create table ",
        "alter table ",
        "drop table ",
    ];
    let lower = line.to_ascii_lowercase();
    let both = |first: &str, then: &str| {
        let rest = lower.split_once(first).map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.contains(then))
    };
    UPPER.iter().any(|word| line.contains(word))
        || ANY.iter().any(|words| lower.contains(words))
        || both("select ", " from ")
        || both("update ", " set ")
}

fn looks_up(line: &str) -> bool {
    ["crate::turn", "crate::hook", "crate::ctx"]
        .iter()
        .any(|module| line.contains(module))
}

fn is_unsafe(line: &str) -> bool {
    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
        .iter()
        .any(|code| line.contains(code))
}

fn reads_environment(line: &str) -> bool {
    ["env::var", "env::vars", "env::var_os", "env::vars_os"]
        .iter()
        .any(|call| line.contains(call))
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, source};
    use super::check;

    fn findings(path: &str, text: &str) -> Vec<Finding> {
        check(&[source(path, text)])
    }

    #[test]
    fn parts_of_turns_do_not_look_up() {
        let text = "use crate::ctx::Scope;";
        assert_eq!(findings("crates/runtime/src/outbox.rs", text).len(), 1);
        assert_eq!(findings("crates/runtime/src/llm/retry.rs", text).len(), 1);
        assert_eq!(findings("crates/runtime/src/turn/parts.rs", text), []);
    }

    #[test]
    fn a_file_of_401_lines_is_too_long_and_its_tests_do_not_count() {
        let path = "crates/storage/src/op.rs";
        let tests = format!("#[cfg(test)]\n{}", "//\n".repeat(300));
        assert_eq!(findings(path, &("//\n".repeat(400) + &tests)), []);
        assert_eq!(findings(path, &("//\n".repeat(401) + &tests)).len(), 1);
        assert_eq!(
            findings("crates/storage/tests/long.rs", &"//\n".repeat(401)),
            []
        );
    }

    #[test]
    fn leftovers_are_found_in_tests_too() {
        for line in [
            "// TODO later",
            "todo!()",
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "#[allow(dead_code)]",
        ] {
            let found = findings("crates/storage/tests/a.rs", &format!("\n{line}\n"));
            assert_eq!(found.len(), 1, "{line}");
            assert_eq!(found[0].place, "crates/storage/tests/a.rs:2");
        }
    }

    #[test]
    fn sql_belongs_in_the_drivers() {
        let lines = [
            "let q = \"SELECT 1\";",
            "\"insert into kv values(?)\"",
            "\"select a from b\"",
            "\"update t set a = 1\"",
        ];
        for line in lines {
            assert_eq!(
                findings("crates/storage/src/op.rs", line).len(),
                1,
                "{line}"
            );
            assert_eq!(
                findings("crates/storage/src/driver/sqlite/schema.rs", line),
                [],
                "{line}"
            );
            assert_eq!(
                findings("crates/storage/src/driver/postgres.rs", line),
                [],
                "{line}"
            );
        }
        assert_eq!(
            findings(
                "crates/storage/src/op.rs",
                "// select one from many\ntokio::select! {}\n"
            ),
            []
        );
    }

    #[test]
    fn unsafe_belongs_where_memory_and_stacks_are() {
        for line in ["unsafe { read() }", "unsafe impl Send for A {}"] {
            assert_eq!(findings("crates/script/src/run.rs", line).len(), 1);
            assert_eq!(findings("crates/script/src/bare.rs", line), []);
            assert_eq!(findings("crates/quickjs-heap/src/heap.rs", line), []);
        }
        let text = "// unsafe { nothing }\n#![expect(unsafe_code)]";
        assert_eq!(findings("crates/script/src/run.rs", text), []);
    }

    #[test]
    fn only_the_settings_read_the_environment() {
        let line = "let home = std::env::var_os(\"HOME\");";
        assert_eq!(findings("crates/storage/src/lib.rs", line).len(), 1);
        assert_eq!(findings("crates/ambit/src/settings.rs", line), []);
        assert_eq!(findings("crates/storage/tests/faults.rs", line), []);
        let tests = format!("#[cfg(test)]\nmod tests {{ {line} }}");
        assert_eq!(findings("crates/storage/src/lib.rs", &tests), []);
    }
}
