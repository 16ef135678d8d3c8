//! What is measured in which round and where, and how many rounds there is time for.

use super::{Options, Results};
use crate::process::Result;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One round at one place.
pub struct Pass {
    pub round: usize,
    /// `disk` or `tmpfs`.
    pub place: &'static str,
    /// Where the stores are kept.
    pub folder: PathBuf,
    /// Only these works, as in `W1,W8`; all without it.
    pub works: Option<String>,
    /// But not these.
    pub without: &'static [&'static str],
}

/// Works that take long and vary little.
const ONCE: &[&str] = &["W3", "W9", "W10", "W11", "W13", "W14", "W17", "W18", "W19"];
/// Works whose cost without the disk is wanted of every run with peers.
const SOFTWARE: &str = "W1,W8";
/// What a later round takes of the time of the first, in hundredths, where some works are measured once.
const LATER: u32 = 40;

/// The passes that are still to do.
pub struct Rounds {
    passes: VecDeque<Pass>,
    limit: Duration,
    /// The round that is under way, and when it began.
    round: usize,
    began: Instant,
}

impl Rounds {
    pub fn new(options: &Options) -> Self {
        Self {
            passes: passes(options),
            limit: Duration::from_secs(60 * options.minutes),
            round: 0,
            began: Instant::now(),
        }
    }

    /// The next pass, where its round ends in time as far as one can tell; the first round is made whatever it takes.
    pub fn next(&mut self, results: &mut Results) -> Result<Option<Pass>> {
        let Some(pass) = self.passes.pop_front() else {
            return Ok(None);
        };
        if pass.round > self.round {
            if self.round > 0 && results.elapsed() + self.expected(&pass) > self.limit {
                let minutes = self.limit.as_secs() / 60;
                let why = format!("it would not have ended within {minutes} minutes");
                results.prefix.clear();
                results.failure(&format!("round {}", pass.round), &why)?;
                return Ok(None);
            }
            (self.round, self.began) = (pass.round, Instant::now());
        }
        results.prefix = format!("\"round\": {}, \"place\": \"{}\", ", pass.round, pass.place);
        results.progress(&format!("── round {}, {}", pass.round, pass.place));
        Ok(Some(pass))
    }

    /// How many rounds were made.
    pub fn count(&self) -> usize {
        self.round
    }

    /// How long the pass that begins the next round will take.
    fn expected(&self, next: &Pass) -> Duration {
        let spent = self.began.elapsed();
        if self.round == 1 && !next.without.is_empty() {
            spent * LATER / 100
        } else {
            spent
        }
    }
}

fn passes(options: &Options) -> VecDeque<Pass> {
    let id = std::process::id();
    let mut passes = VecDeque::new();
    for round in 1..=options.rounds {
        let is_shorter = round > 1 && options.work.is_none();
        let without = if is_shorter { ONCE } else { &[] };
        let works = options.work.clone();
        passes.push_back(Pass {
            round,
            place: "disk",
            folder: options.dir.join(format!("stores-{id}")),
            works: works.clone(),
            without,
        });
        let is_asked = options.tmpfs;
        let is_part = options.peers && works.is_none() && !options.quick && round == 1;
        if is_asked || is_part {
            let software = || SOFTWARE.to_owned();
            passes.push_back(Pass {
                round,
                place: "tmpfs",
                folder: PathBuf::from(format!("/dev/shm/ambit-bench-{id}")),
                works: if is_asked { works } else { Some(software()) },
                without,
            });
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::{Options, passes};

    fn plan(text: &str) -> Vec<String> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let options = Options::of(&arguments).unwrap().unwrap();
        let passes = passes(&options);
        let words = passes.iter().map(|pass| {
            let works = pass.works.as_deref().unwrap_or("all");
            let without = pass.without.join(",");
            format!("{} {} {works} -{without}", pass.round, pass.place)
        });
        words.collect()
    }

    #[test]
    fn what_takes_long_is_measured_once() {
        let expected = [
            "1 disk all -",
            "1 tmpfs W1,W8 -",
            "2 disk all -W3,W9,W10,W11,W13,W14,W17,W18,W19",
        ];
        assert_eq!(plan("--peers --rounds 2"), expected);
    }

    #[test]
    fn works_that_are_asked_for_are_measured_in_every_round() {
        assert_eq!(plan("--work W3 --rounds 2"), ["1 disk W3 -", "2 disk W3 -"]);
    }

    #[test]
    fn everything_is_measured_without_the_disk_where_that_is_asked_for() {
        assert_eq!(
            plan("--tmpfs --rounds 1"),
            ["1 disk all -", "1 tmpfs all -"]
        );
    }
}
