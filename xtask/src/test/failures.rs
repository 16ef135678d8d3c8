//! What failed tests are called, and what they printed.

use std::fmt;

/// How many lines of a failed test's output are shown again.
const SHOWN: usize = 60;

/// What the failed tests printed, from where they panicked, for the end of the run: a log that is cut keeps its end.
#[derive(Debug, Default)]
pub struct Failures {
    pub names: Vec<String>,
    lines: Vec<String>,
    /// Where the present test begins in the lines; `None` outside a section of failures.
    section: Option<usize>,
    has_panicked: bool,
    /// Whether what comes are the frames of a panic, which tell little and fill much.
    is_backtrace: bool,
}

impl Failures {
    /// Takes in a line of a run's output.
    pub fn read(&mut self, line: &str) {
        if let Some(name) = test_name(line) {
            self.names.push(name.to_owned());
            self.section = Some(self.lines.len());
            self.has_panicked = false;
            self.is_backtrace = false;
        } else if line == "failures:" || line.starts_with("test result:") {
            self.section = None;
        }
        let Some(begin) = self.section else { return };
        if line.contains("panicked at ") {
            // The first is the cause: what waited for its thread panics too.
            if !self.has_panicked {
                self.lines.truncate(begin + 1);
            }
            self.has_panicked = true;
            self.is_backtrace = false;
        }
        self.is_backtrace |= line == "stack backtrace:";
        if self.lines.len() < begin + SHOWN && !self.is_backtrace {
            self.lines.push(line.to_owned());
        }
    }
}

/// The test whose output begins with this line. Names of examples in the documentation have spaces, and are not among these.
fn test_name(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["----", name, "----"] | ["----", name, "stdout", "----"] => Some(name),
        _ => None,
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() {
            return Ok(());
        }
        writeln!(f, "── failed tests, once more")?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Failures, SHOWN};

    #[test]
    fn what_failed_tests_printed_is_shown_once_more_up_to_a_bound() {
        let mut failures = Failures::default();
        assert_eq!(failures.to_string(), "");
        let begin = ["test a ... FAILED", "failures:", "---- a stdout ----"];
        let section = ["said", "thread 'a' panicked at a.rs:1:1:"];
        let backtrace = ["stack backtrace:", "   0: a::frame"];
        begin.iter().for_each(|line| failures.read(line));
        section.iter().for_each(|line| failures.read(line));
        (0..SHOWN).for_each(|_| failures.read("more"));
        backtrace.iter().for_each(|line| failures.read(line));
        ["failures:", "    a", "test result: FAILED."]
            .iter()
            .for_each(|line| failures.read(line));
        let shown = failures.to_string();
        assert_eq!(shown.lines().nth(1), Some("---- a stdout ----"));
        assert!(!shown.contains("said"));
        assert_eq!(shown.lines().count(), 1 + SHOWN);
        assert!(!shown.contains("    a"));
        failures.read("---- b ----");
        backtrace.iter().for_each(|line| failures.read(line));
        assert!(failures.to_string().ends_with("---- b ----\n"));
        assert_eq!(failures.names, ["a", "b"]);
    }
}
