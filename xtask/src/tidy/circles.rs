//! No circles between the modules at the root of a crate: what two rooms share lies in a third below both.

use super::rust::root_modules;
use super::{Finding, Source};
use std::collections::{BTreeMap, BTreeSet};

/// The one circle that may be: scripts call processes, and processes run scripts.
const ALLOWED: &[&str] = &["ctx", "globals", "hook", "process"];

/// Which modules a module names.
type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Every circle of every crate.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let inside = || sources.iter().filter(|it| it.is_product());
    let crates: BTreeSet<&str> = inside().map(Source::crate_name).collect();
    let mut findings = Vec::new();
    for name in crates {
        let files: Vec<&Source> = inside().filter(|it| it.crate_name() == name).collect();
        for circle in circles(&graph(&files)) {
            if circle.iter().all(|it| ALLOWED.contains(it)) {
                continue;
            }
            let what = format!("modules that name each other: {}", circle.join(", "));
            findings.push(Finding::new(format!("crates/{name}/src"), what));
        }
    }
    findings
}

fn graph<'a>(files: &[&'a Source]) -> Graph<'a> {
    let mut graph = Graph::new();
    for file in files {
        // The root itself names all modules, and hands on what they hold.
        if let Some(module) = file.root_module() {
            let names = root_modules(file.product_text());
            graph.entry(module).or_default().extend(names);
        }
    }
    let modules: BTreeSet<&str> = graph.keys().copied().collect();
    for (module, names) in &mut graph {
        names.retain(|name| name != module && modules.contains(name));
    }
    graph
}

/// The sets of modules that reach each other, each once.
fn circles<'a>(graph: &Graph<'a>) -> BTreeSet<Vec<&'a str>> {
    let reach: Graph<'a> = graph
        .keys()
        .map(|&from| (from, reached(graph, from)))
        .collect();
    let circle = |from: &&'a str| {
        let back = reach[from].iter().filter(|to| reach[*to].contains(from));
        back.copied().collect::<Vec<_>>()
    };
    graph
        .keys()
        .map(circle)
        .filter(|circle| !circle.is_empty())
        .collect()
}

/// All modules that are reached from one, itself among them only where a circle leads back.
fn reached<'a>(graph: &Graph<'a>, from: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        next.extend(graph[module].iter().filter(|&&name| found.insert(name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::check;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| source(path, text))
            .collect();
        check(&files).into_iter().map(|found| found.what).collect()
    }

    #[test]
    fn modules_that_name_each_other_are_a_finding() {
        let files = [
            ("crates/a/src/x.rs", "use crate::y::Y;"),
            ("crates/a/src/y/deep.rs", "use crate::{z, w::W};"),
            ("crates/a/src/z.rs", "crate::x::call()"),
            ("crates/a/src/w.rs", ""),
        ];
        assert_eq!(findings(&files), ["modules that name each other: x, y, z"]);
        assert!(findings(&files[..2]).is_empty());
    }

    #[test]
    fn unit_tests_and_the_root_may_name_anything() {
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::x::X;\n}\n";
        let files = [
            ("crates/a/src/lib.rs", "pub use crate::x::X;"),
            ("crates/a/src/x.rs", "use crate::y::Y;"),
            ("crates/a/src/y.rs", tests),
        ];
        assert!(findings(&files).is_empty());
    }

    #[test]
    fn scripts_and_processes_may_call_each_other() {
        let files = [
            ("crates/a/src/ctx.rs", "use crate::process::run;"),
            ("crates/a/src/process.rs", "use crate::ctx::Scope;"),
        ];
        assert!(findings(&files).is_empty());
    }
}
