//! Every guarantee that is due has a test named after it.

use super::{Finding, Source};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// The page that lists the guarantees.
pub const PAGE: &str = "docs/guarantees.md";

/// The guarantees that what exists must keep. Those of parts that do not exist yet are added with their part.
pub const DUE: &[RangeInclusive<u16>] = &[1..=90, 92..=179, 185..=198, 200..=218];

/// Every due guarantee without a test, and every number that the page does not have.
pub fn check(page: &str, due: &[RangeInclusive<u16>], sources: &[Source]) -> Vec<Finding> {
    let listed = listed(page);
    let due: BTreeSet<u16> = due.iter().cloned().flatten().collect();
    let mut tested = BTreeSet::new();
    let mut findings = Vec::new();
    for source in sources {
        for number in tests(&source.text) {
            tested.insert(number);
            if !listed.contains(&number) {
                let what = format!("a test is named after G{number}, which {PAGE} does not list");
                findings.push(Finding::new(&source.path, what));
            }
        }
    }
    let unknown = due
        .difference(&listed)
        .map(|number| (number, "is due but not listed"));
    let untested = due
        .difference(&tested)
        .map(|number| (number, "has no test named after it"));
    let missing = unknown.chain(untested);
    findings.extend(missing.map(|(number, what)| Finding::new(PAGE, format!("G{number} {what}"))));
    findings
}

/// The numbers of the page's lines `- **G31** …`.
fn listed(page: &str) -> BTreeSet<u16> {
    page.lines()
        .filter_map(|line| line.strip_prefix("- **G")?.split_once("**"))
        .filter_map(|(number, _)| number.parse().ok())
        .collect()
}

/// The numbers that begin tests' names: functions `fn g031_…` and cases `"g031_…`, as those of the browser are, too.
fn tests(text: &str) -> BTreeSet<u16> {
    let starts = ["fn g", "\"g"].into_iter().flat_map(|start| {
        text.match_indices(start)
            .map(move |(at, _)| at + start.len())
    });
    starts
        .filter_map(|at| {
            let digits = text.get(at..at + 3)?;
            let ends = text.get(at + 3..)?.starts_with('_');
            (ends && digits.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| digits.parse().ok())?
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, source};
    use super::{DUE, PAGE, check, listed};
    use crate::process::root;

    const LIST: &str = "# G\n- **G1** One.\n- **G31** Two.\nG7 is only named here.\n";

    fn findings(due: u16, test: &str) -> Vec<Finding> {
        check(LIST, &[due..=due], &[source("a.rs", test)])
    }

    #[test]
    fn a_function_or_a_case_named_after_it_covers_a_guarantee() {
        assert_eq!(findings(31, "fn g031_nothing_is_lost() {}"), []);
        assert_eq!(findings(31, "(\"g031_nothing_is_lost\", run)"), []);
    }

    #[test]
    fn a_due_guarantee_without_a_test_is_a_finding() {
        let expected = Finding::new(PAGE, "G31 has no test named after it");
        assert_eq!(
            findings(31, "fn g001_first() {} // g031_ is only named here"),
            [expected]
        );
    }

    #[test]
    fn a_test_of_an_unlisted_number_is_a_finding() {
        let expected = Finding::new(
            "a.rs",
            format!("a test is named after G7, which {PAGE} does not list"),
        );
        assert_eq!(findings(1, "fn g001_a() {}\nfn g007_b() {}"), [expected]);
    }

    #[test]
    fn a_due_number_must_be_listed() {
        assert_eq!(findings(9, "fn g009_a() {}").len(), 2);
    }

    #[test]
    fn the_page_lists_all_that_is_due() {
        let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
        let listed = listed(&page);
        let missing: Vec<u16> = DUE
            .iter()
            .cloned()
            .flatten()
            .filter(|number| !listed.contains(number))
            .collect();
        assert_eq!(missing, Vec::<u16>::new());
    }
}
