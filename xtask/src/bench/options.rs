//! What `cargo xtask bench` is asked for.

use super::backends::BACKENDS;
use crate::process::{Result, environment, root};
use std::path::PathBuf;

pub const HELP: &str = "\
cargo xtask bench [OPTIONS]
  --driver NAME     only this driver (memory, sqlite, file, postgres, redis); may be given more than once
  --work W1,W4      only these works
  --rounds N        so many rounds (3)
  --minutes N       no further round is begun that would not end within so many minutes of measuring (30)
  --quick           small sizes, one round: to see that it works, not to measure
  --peers           other frameworks' stores too, in the same rounds; needs python3 and npm. Which: the variable PEERS,
                    as in PEERS=embedded or PEERS=\"mastra:libsql openai_agents:sqlite\"
  --peers-dir DIR   the folder of the peers' scripts (bench/peers)
  --dir DIR         where the stores are kept while they are measured (target/bench)
  --tmpfs           the embedded stores in /dev/shm too, at every work and in every round; with --peers W1 and W8 are measured
                    there once without it
  --page DIR        where the page is written (docs, where everything was measured and no work of Ambit's failed, else the folder of --dir)
  --profile NAME    what is measured is built so (dist, which is guided where `cargo xtask pgo` was run before, as what is
                    published; release with --quick)
  --from FILE       measures nothing and makes the page of the lines in this file, beside it

W3, W9, W10, W11, W13, W14, W17, W18 and W19 take long and vary little: they are measured in the first round alone, but where
--work names them. W17 fills a store with 1,000,000 entries, and with 10,000,000 where --work names it; W14 searches 1,000,000
chunks, by words and by vectors, only where --work names it. W16, the first minutes with the sources, is measured only where
--work names it, and alone with --work W16: the build (--release) of a fresh clone with nothing built before, its start to the
first answer, and an edit of the runtime until it answers again. It takes as long as two builds. The command fails where a
program of Ambit's did, which leaves the page in docs as it was, and where a peer could not be installed, against which no
target is judged. A peer that fails, a work that is left out and a target that is missed are named at the end and on the page.";

/// What to measure, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub drivers: Vec<String>,
    pub work: Option<String>,
    pub rounds: usize,
    pub quick: bool,
    pub peers: bool,
    pub peers_dir: PathBuf,
    pub dir: PathBuf,
    pub tmpfs: bool,
    pub minutes: u64,
    pub from: Option<PathBuf>,
    profile: Option<String>,
    page: Option<PathBuf>,
}

impl Options {
    /// The options, or `None` where help is asked for.
    pub fn of(arguments: &[String]) -> Result<Option<Self>> {
        let mut options = Self {
            drivers: Vec::new(),
            work: None,
            rounds: 3,
            quick: false,
            peers: false,
            peers_dir: root().join("bench/peers"),
            dir: root().join("target/bench"),
            tmpfs: false,
            minutes: 30,
            from: None,
            profile: None,
            page: None,
        };
        let mut rest = arguments.iter();
        while let Some(option) = rest.next() {
            let mut value = || {
                let value = rest.next().cloned();
                value.ok_or_else(|| format!("{option} needs a value"))
            };
            match option.as_str() {
                "--help" | "-h" => return Ok(None),
                "--driver" => options.drivers.push(known(value()?)?),
                "--work" => options.work = Some(value()?),
                "--rounds" => options.rounds = number(&value()?, "rounds")?,
                "--minutes" => options.minutes = number(&value()?, "minutes")? as u64,
                "--quick" => (options.quick, options.rounds) = (true, 1),
                "--peers" => options.peers = true,
                "--peers-dir" => options.peers_dir = absolute(&value()?)?,
                "--dir" => options.dir = absolute(&value()?)?,
                "--tmpfs" => options.tmpfs = true,
                "--page" => options.page = Some(absolute(&value()?)?),
                "--profile" => options.profile = Some(value()?),
                "--from" => options.from = Some(absolute(&value()?)?),
                _ => return Err(format!("{option} is unknown\n{HELP}")),
            }
        }
        Ok(Some(options))
    }

    /// The profile of cargo by which the programs are built.
    pub fn profile(&self) -> &str {
        let is_release = self.quick || self.names_only(super::first_minutes::NAME);
        let usual = if is_release { "release" } else { "dist" };
        self.profile.as_deref().unwrap_or(usual)
    }

    /// Whether this work is asked for by its name.
    pub fn names(&self, work: &str) -> bool {
        self.works().any(|named| named == work)
    }

    /// Whether nothing but this work is asked for.
    pub fn names_only(&self, work: &str) -> bool {
        self.names(work) && self.works().all(|named| named == work)
    }

    fn works(&self) -> impl Iterator<Item = &str> {
        self.work.iter().flat_map(|works| works.split(','))
    }

    /// Where the page is written: that of the documentation is replaced only by a run of everything.
    pub fn page(&self) -> PathBuf {
        if let Some(page) = &self.page {
            return page.clone();
        }
        if let Some(file) = &self.from {
            let folder = file.parent().unwrap_or(file);
            let is_kept = folder.ends_with("benchmarks");
            let folder = if is_kept {
                folder.parent()
            } else {
                Some(folder)
            };
            return folder.unwrap_or(file).to_owned();
        }
        let is_whole = self.drivers.is_empty() && self.work.is_none() && !self.quick;
        if is_whole && environment("PEERS").is_none() {
            return root().join("docs");
        }
        self.dir.clone()
    }

    /// Where the page is written of a run in which a work of Ambit's failed: never over that of the documentation.
    pub fn page_of_failure(&self) -> PathBuf {
        let page = self.page();
        if page == root().join("docs") {
            return self.dir.clone();
        }
        page
    }
}

fn number(text: &str, of_what: &str) -> Result<usize> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("\"{text}\" is no number of {of_what}"))
}

fn known(name: String) -> Result<String> {
    if BACKENDS.iter().any(|backend| backend.scheme == name) {
        return Ok(name);
    }
    let mut names: Vec<&str> = BACKENDS.iter().map(|backend| backend.scheme).collect();
    names.sort_unstable();
    names.dedup();
    Err(format!(
        "\"{name}\" is unknown; known are {}",
        names.join(", ")
    ))
}

fn absolute(path: &str) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::Options;
    use std::path::Path;

    fn options(text: &str) -> Result<Option<Options>, String> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::of(&arguments)
    }

    #[test]
    fn a_driver_stands_for_all_its_rows() {
        let options = options("--driver sqlite --work W1,W4 --rounds 5")
            .unwrap()
            .unwrap();
        let names: Vec<&str> = options.backends().map(|backend| backend.name).collect();
        assert_eq!(names, ["sqlite", "sqlite NORMAL", "sqlite Context"]);
        assert_eq!(
            (options.work.as_deref(), options.rounds),
            (Some("W1,W4"), 5)
        );
    }

    #[test]
    fn all_drivers_are_measured_without_a_choice() {
        let options = options("--quick").unwrap().unwrap();
        assert_eq!((options.backends().count(), options.rounds), (9, 1));
    }

    #[test]
    fn what_is_unknown_is_refused_by_name() {
        for (text, named) in [
            ("--fast", "--fast"),
            ("--driver tape", "\"tape\""),
            ("--rounds 0", "\"0\""),
            ("--minutes soon", "\"soon\""),
            ("--dir", "--dir"),
        ] {
            let message = options(text).unwrap_err();
            assert!(message.contains(named), "{message}");
        }
    }

    #[test]
    fn the_page_of_the_documentation_is_kept_where_little_was_measured() {
        let page = |text: &str| options(text).unwrap().unwrap().page();
        let root = crate::process::root();
        assert_eq!(page("--peers"), root.join("docs"));
        assert_eq!(page("--work W1"), root.join("target/bench"));
        assert_eq!(page("--quick --page /p"), Path::new("/p"));
        assert_eq!(page("--from /d/benchmarks/results.jsonl"), Path::new("/d"));
        assert_eq!(page("--from /b/results.jsonl"), Path::new("/b"));
    }

    #[test]
    fn the_page_of_the_documentation_is_kept_where_a_work_failed() {
        let page = |text: &str| options(text).unwrap().unwrap().page_of_failure();
        let root = crate::process::root();
        let docs = root.join("docs");
        assert_eq!(page("--peers"), root.join("target/bench"));
        let named = format!("--work W1 --page {}", docs.display());
        assert_eq!(page(&named), root.join("target/bench"));
        assert_eq!(page("--peers --page /p"), Path::new("/p"));
    }

    #[test]
    fn a_work_is_named_whole() {
        let names = |text: &str| {
            let options = options(text).unwrap().unwrap();
            (options.names("W16"), options.names_only("W16"))
        };
        assert_eq!(names("--peers"), (false, false));
        assert_eq!(names("--work W1"), (false, false));
        assert_eq!(names("--work W1,W16"), (true, false));
        assert_eq!(names("--work W16"), (true, true));
    }

    #[test]
    fn help_is_no_run() {
        assert_eq!(options("--peers --help"), Ok(None));
    }
}
