//! The stores that are measured, and the two programs that measure them: Ambit's own and the peers' scripts.

use super::rounds::Pass;
use super::{Options, Results};
use crate::pgo;
use crate::process::{Result, environment, host, root, target_folder};
use crate::servers::{POSTGRES, REDIS, Servers};
use std::path::Path;
use std::process::Command;

/// What is measured of Ambit.
pub struct Backend {
    pub name: &'static str,
    pub scheme: &'static str,
    /// The address behind the scheme, where the store is a file or folder.
    file: Option<&'static str>,
    arguments: &'static [&'static str],
}

pub const BACKENDS: &[Backend] = &[
    embedded("memory", "memory", "", &[]),
    embedded("sqlite", "sqlite", "ambit.db", &[]),
    embedded("sqlite NORMAL", "sqlite", "ambit.db", &["--normal"]),
    // Every change rewrites a file: it promises to be right, not to be fast.
    embedded("file", "file", "store", &["--quick"]),
    server("postgres", "postgres", &[]),
    server("redis", "redis", &[]),
    // The same works as an application does them.
    embedded("sqlite Context", "sqlite", "ambit.db", CONTEXTS),
    server("postgres Context", "postgres", CONTEXTS),
    server("redis Context", "redis", CONTEXTS),
];

const CONTEXTS: &[&str] = &["--contexts"];

impl Backend {
    /// Whether it is kept in files, which are where the pass wants them.
    fn is_file(&self) -> bool {
        self.file.is_some_and(|file| !file.is_empty())
    }
}

const fn embedded(
    name: &'static str,
    scheme: &'static str,
    file: &'static str,
    arguments: &'static [&'static str],
) -> Backend {
    Backend {
        name,
        scheme,
        file: Some(file),
        arguments,
    }
}

const fn server(
    name: &'static str,
    scheme: &'static str,
    arguments: &'static [&'static str],
) -> Backend {
    Backend {
        name,
        scheme,
        file: None,
        arguments,
    }
}

/// Works that the peers' scripts know.
const PEERS_WORKS: &[&str] = &[
    "W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W13", "W14", "W15",
];

/// Sizes of the peers' works under `--quick`.
const SMALL: &[(&str, &str)] = &[
    ("HIST", "10,100"),
    ("TURNS", "10"),
    ("LOADS", "5"),
    ("NSESS", "1000"),
    ("KV", "100"),
    ("PER", "5"),
    ("HOOKS", "100"),
    ("CHUNKS", "500,2000"),
];

/// What is more of the peers' vectors where they are asked for by name, and the seconds that a size and a peer may take then.
const LARGE: &[(&str, &str)] = &[
    ("CHUNKS", "1000,100000,1000000"),
    ("PATIENCE", "300"),
    ("LIMIT", "1800"),
];

/// Histories of the peers where only the software's cost is wanted: some take a minute to make a long one.
const SHORT: &str = "10,100,1000";
/// Peers where only the software's cost is wanted: those that a target names there, and the cheapest.
const SOFTWARE_PEERS: &str = "langgraph:sqlite openai_agents:sqlite openai_agents:advanced \
    mastra:libsql mastra_server:libsql laragent_shape:sqlite";

impl Options {
    pub fn backends(&self) -> impl Iterator<Item = &'static Backend> {
        BACKENDS.iter().filter(|backend| {
            self.drivers.is_empty() || self.drivers.iter().any(|wanted| wanted == backend.scheme)
        })
    }

    /// The servers, where somebody needs them. The peers' scripts empty the database, so that it must be a private one.
    pub fn servers(&self) -> Result<Option<Servers>> {
        if self.peers {
            return Servers::private().map(Some);
        }
        if self.backends().any(|backend| backend.file.is_none()) {
            return Servers::for_benchmarks().map(Some);
        }
        Ok(None)
    }

    /// Measures Ambit's stores; true where every program ran to its end.
    pub fn ours(
        &self,
        pass: &Pass,
        servers: Option<&Servers>,
        results: &mut Results,
    ) -> Result<bool> {
        let mut is_well = true;
        let is_kept_there = |backend: &Backend| backend.is_file() || pass.place == "disk";
        let elsewhere: Vec<&str> = self
            .backends()
            .filter(|backend| !is_kept_there(backend))
            .map(|backend| backend.name)
            .collect();
        if !elsewhere.is_empty() {
            let why = "they keep nothing in files of this place: the rows of the disk stand for it";
            results.failure(&format!("Ambit on {}", elsewhere.join(", ")), why)?;
        }
        for backend in self.backends().filter(|backend| is_kept_there(backend)) {
            let folder = pass.folder.join(backend.name.replace(' ', "-"));
            let url = match (backend.file, servers) {
                (Some(file), _) => format!("{}:{}", backend.scheme, folder.join(file).display()),
                (None, Some(servers)) => match backend.scheme {
                    "postgres" => servers.address(POSTGRES),
                    _ => servers.address(REDIS),
                },
                (None, None) => continue,
            };
            make(&folder)?;
            let mut command = program(self.profile())?;
            command.args(["run", "--url", &url, "--backend", backend.name]);
            command.args(backend.arguments);
            if self.quick && !backend.arguments.contains(&"--quick") {
                command.arg("--quick");
            }
            if let Some(works) = &pass.works {
                command.args(["--work", works]);
            }
            if !pass.without.is_empty() {
                command.args(["--without", &pass.without.join(",")]);
            }
            is_well &= results.collect(&format!("Ambit on {}", backend.name), &mut command)?;
            erase(&pass.folder)?;
        }
        Ok(is_well)
    }

    /// Measures the peers. What fails of them is in the results, and is no failure of the run.
    pub fn theirs(
        &self,
        pass: &Pass,
        servers: Option<&Servers>,
        results: &mut Results,
    ) -> Result<()> {
        make(&pass.folder)?;
        let mut command = Command::new(self.peers_dir.join("run_all.sh"));
        command.env("BENCH_TMP", &pass.folder);
        if let Some(servers) = servers {
            // The spelling that the scripts rewrite for their own database libraries.
            let url = servers
                .address(POSTGRES)
                .replacen("postgres://", "postgresql://", 1);
            command.env("PG_URL", url);
            command.env("REDIS_URL", servers.address(REDIS));
        }
        // Servers are measured once: where their files are does not depend on the place.
        let is_chosen = environment("PEERS").is_some();
        if pass.place != "disk" && !is_chosen {
            let peers = if self.tmpfs {
                "embedded"
            } else {
                SOFTWARE_PEERS
            };
            command.env("PEERS", peers);
        }
        command.env("WORK", peers_works(pass));
        if pass.place != "disk" && !self.tmpfs {
            command.env("HIST", SHORT);
            let why = "no target is judged by them there, and they take minutes";
            results.failure(
                "the other peers, and histories of more than 1,000 messages",
                why,
            )?;
        }
        if self.quick {
            command.envs(SMALL.iter().copied());
        } else if self.names("W14") {
            command.envs(LARGE.iter().copied());
        }
        results.collect("the peers", &mut command)?;
        erase(&pass.folder)
    }
}

fn peers_works(pass: &Pass) -> String {
    if let Some(works) = &pass.works {
        return works.clone();
    }
    let works = PEERS_WORKS.iter().copied();
    let works: Vec<&str> = works.filter(|work| !pass.without.contains(work)).collect();
    works.join(",")
}

/// The benchmark program as it was built beside the server: `cargo run` of it alone would build both anew with other features.
fn program(profile: &str) -> Result<Command> {
    let folder = match profile {
        pgo::PROFILE => pgo::programs(&host()?)?,
        _ => target_folder()?.join(profile),
    };
    let mut command = Command::new(folder.join("ambit-bench"));
    command.current_dir(root());
    Ok(command)
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

fn erase(folder: &Path) -> Result<()> {
    std::fs::remove_dir_all(folder)
        .map_err(|error| format!("cannot erase {}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::{PEERS_WORKS, root};
    use std::collections::BTreeSet;

    #[test]
    fn every_work_that_a_script_of_the_peers_knows_is_asked_of_it() {
        let mut missing = BTreeSet::new();
        for entry in std::fs::read_dir(root().join("bench/peers")).unwrap() {
            let path = entry.unwrap().path();
            let is_script = path
                .extension()
                .is_some_and(|end| end == "py" || end == "mjs");
            let text = if is_script {
                std::fs::read_to_string(&path).unwrap()
            } else {
                continue;
            };
            let asked = ["want(\"", ".has(\""].map(|word| text.split(word).skip(1));
            let names = asked.into_iter().flatten();
            let names = names.filter_map(|rest| rest.split_once('"').map(|(name, _)| name));
            let works = names.filter(|name| name.starts_with('W') && name.len() < 4);
            let unknown = works.filter(|name| !PEERS_WORKS.contains(name));
            missing.extend(unknown.map(str::to_owned));
        }
        assert_eq!(missing, BTreeSet::new());
    }
}
