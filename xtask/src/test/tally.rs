//! How many tests a run passed and failed.

use std::fmt;

/// How many tests did what.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    skipped: usize,
    /// Those that failed beside the others, and passed by themselves.
    flaky: usize,
    /// Programs that have begun to run their tests, and have told no result.
    unfinished: usize,
}

impl Tally {
    /// Adds the numbers of a line of output, if it has any.
    pub fn read(&mut self, line: &str) {
        self.unfinished += usize::from(is_beginning(line));
        if let Some(result) = Self::of(line) {
            self.passed += result.passed;
            self.failed += result.failed;
            self.skipped += result.skipped;
            self.unfinished = self.unfinished.saturating_sub(1);
        }
    }

    /// Whether so many tests, and nothing else, are why a run has failed: each program of it has come to its end.
    pub fn fails_by(&self, tests: usize) -> bool {
        tests > 0 && tests == self.failed && self.unfinished == 0
    }

    pub fn count_failed_as_flaky(&mut self) {
        self.flaky += std::mem::take(&mut self.failed);
    }

    /// The numbers of one `test result:` line.
    fn of(line: &str) -> Option<Self> {
        let mut tally = Self::default();
        let words: Vec<&str> = line.strip_prefix("test result:")?.split(' ').collect();
        for pair in words.windows(2) {
            let number = pair[0].parse().unwrap_or(0);
            match pair[1] {
                "passed;" => tally.passed = number,
                "failed;" => tally.failed = number,
                "ignored;" => tally.skipped = number,
                _ => {}
            }
        }
        Some(tally)
    }
}

/// Whether a program says with this line that it runs its tests now.
fn is_beginning(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    matches!(words[..], ["running", _, "test" | "tests"])
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        for (count, what) in [(self.skipped, "skipped"), (self.flaky, "flaky")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn a_result_line_is_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s";
        let tally = Tally::of(line);
        let expected = Tally {
            passed: 12,
            failed: 3,
            skipped: 1,
            ..Tally::default()
        };
        assert_eq!(tally, Some(expected));
    }

    #[test]
    fn other_lines_are_not_counted() {
        assert_eq!(Tally::of("test tidy::tests::a ... ok"), None);
    }

    #[test]
    fn a_run_fails_by_its_tests_where_each_program_has_come_to_its_end() {
        let mut tally = Tally::default();
        assert!(!tally.fails_by(0));
        tally.read("running 2 tests");
        tally.read("test result: FAILED. 1 passed; 1 failed; 0 ignored");
        assert!(tally.fails_by(1));
        assert!(!tally.fails_by(0));
        tally.read("running 1 test");
        assert!(!tally.fails_by(1));
    }

    #[test]
    fn the_last_line_names_skipped_and_flaky_tests_only_where_there_are_some() {
        let mut tally = Tally {
            passed: 5,
            ..Tally::default()
        };
        assert_eq!(tally.to_string(), "5 passed, 0 failed");
        tally.skipped = 2;
        assert_eq!(tally.to_string(), "5 passed, 0 failed, 2 skipped");
        tally.failed = 1;
        assert_eq!(tally.to_string(), "5 passed, 1 failed, 2 skipped");
        tally.count_failed_as_flaky();
        assert_eq!(tally.to_string(), "5 passed, 0 failed, 2 skipped, 1 flaky");
    }
}
