//! The lines of a run: results, what could not be measured, and what is known of the machine and the versions.

use serde::Deserialize;

/// A result, or the word that there is none.
#[derive(Clone, Debug, Deserialize)]
pub struct ResultLine {
    /// Where the files are: `disk` or `tmpfs`.
    #[serde(default)]
    pub place: String,
    pub peer: String,
    pub backend: String,
    pub work: String,
    /// The size: messages of history, clients, operations.
    pub p: u64,
    /// None where it was not measured; the note says why.
    pub v: Option<f64>,
    pub unit: String,
    #[serde(default)]
    pub note: String,
}

/// A program or a part of it that did not come to its end.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct FailureLine {
    #[serde(default)]
    pub round: u32,
    #[serde(default)]
    pub place: String,
    pub failed: String,
    pub why: String,
}

impl FailureLine {
    /// Whether a peer was not there to be measured, in the words of `bench/peers/run_all.sh`.
    pub fn is_uninstalled(&self) -> bool {
        self.why.starts_with("could not be installed")
    }
}

/// Something known of the run.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct FactLine {
    pub fact: String,
    pub value: String,
}

/// How long something took of the run, with all that it prepared.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct SpentLine {
    #[serde(default)]
    pub place: String,
    pub spent: String,
    pub seconds: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnyLine {
    Result(ResultLine),
    Failure(FailureLine),
    Fact(FactLine),
    Spent(SpentLine),
}

/// All lines of a run, by their kinds.
#[derive(Debug, Default)]
pub struct Lines {
    pub results: Vec<ResultLine>,
    pub failures: Vec<FailureLine>,
    /// Each once: what is said later holds.
    pub facts: Vec<FactLine>,
    pub spent: Vec<SpentLine>,
}

/// Reads a file of lines. Programs may say other things too, which are passed over.
pub fn all(text: &str) -> Lines {
    let mut lines = Lines::default();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(AnyLine::Result(result)) => lines.results.push(result),
            Ok(AnyLine::Failure(failure)) => lines.failures.push(failure),
            Ok(AnyLine::Fact(fact)) => lines.know(fact),
            Ok(AnyLine::Spent(spent)) => lines.spent.push(spent),
            Err(error) if line.starts_with('{') => lines.failures.push(FailureLine {
                round: 0,
                place: String::new(),
                failed: format!("a line that cannot be read: {line}"),
                why: error.to_string(),
            }),
            Err(_) => {}
        }
    }
    lines
}

impl Lines {
    /// The peers that could not be installed, each once.
    pub fn uninstalled(&self) -> Vec<&str> {
        let failures = self.failures.iter();
        let peers = failures.filter(|failure| failure.is_uninstalled());
        let mut names: Vec<&str> = peers.map(|failure| failure.failed.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What took the time of the run, the longest first, what is at the same place over all rounds.
    pub fn longest(&self) -> Vec<SpentLine> {
        let mut all: Vec<SpentLine> = Vec::new();
        for line in &self.spent {
            let is_same =
                |known: &&mut SpentLine| known.spent == line.spent && known.place == line.place;
            match all.iter_mut().find(is_same) {
                Some(known) => known.seconds += line.seconds,
                None => all.push(line.clone()),
            }
        }
        all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        all
    }

    fn know(&mut self, fact: FactLine) {
        match self.facts.iter_mut().find(|known| known.fact == fact.fact) {
            Some(known) => *known = fact,
            None => self.facts.push(fact),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_seconds_of_all_rounds_are_added_and_the_longest_come_first() {
        let lines = [
            r#"{"round": 1, "place": "disk", "spent": "adk:pg", "seconds": 40}"#,
            r#"{"round": 1, "place": "disk", "spent": "Ambit on sqlite, W3", "seconds": 60.5}"#,
            r#"{"round": 2, "place": "disk", "spent": "adk:pg", "seconds": 50}"#,
            r#"{"round": 1, "place": "tmpfs", "spent": "adk:pg", "seconds": 5}"#,
        ];
        let longest = super::all(&lines.join("\n")).longest();
        let longest: Vec<(&str, &str, f64)> = longest
            .iter()
            .map(|line| (line.spent.as_str(), line.place.as_str(), line.seconds))
            .collect();
        let expected = [
            ("adk:pg", "disk", 90.0),
            ("Ambit on sqlite, W3", "disk", 60.5),
            ("adk:pg", "tmpfs", 5.0),
        ];
        assert_eq!(longest, expected);
    }
}
