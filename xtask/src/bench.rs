//! `cargo xtask bench`: the benchmark program on each driver and, if wanted, the peers' scripts, in rounds on one machine.

mod options;
mod report;

use crate::process::{Result, cargo, each_line, environment, succeeds};
use crate::servers::Servers;
use options::{HELP, Options};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is measured.
struct Backend {
    name: &'static str,
    scheme: &'static str,
    /// The address behind the scheme, where the store is a file or folder.
    file: Option<&'static str>,
    arguments: &'static [&'static str],
}

const BACKENDS: &[Backend] = &[
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

/// Sizes of the peers' works under `--quick`.
const SMALL: &[(&str, &str)] = &[
    ("HIST", "10,100"),
    ("TURNS", "10"),
    ("LOADS", "5"),
    ("NSESS", "1000"),
    ("KV", "100"),
    ("PER", "5"),
    ("HOOKS", "100"),
];

/// Measures, writes the page, and is true where every program ran to its end.
pub fn run(arguments: &[String]) -> Result<bool> {
    let Some(options) = Options::of(arguments)? else {
        println!("{HELP}");
        return Ok(true);
    };
    if let Some(lines) = &options.from {
        finish(lines, &options)?;
        return Ok(true);
    }
    if !succeeds(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "ambit-bench",
        // The server, which some works start.
        "--package",
        "ambit",
    ]))? {
        return Ok(false);
    }
    let servers = options.servers()?;
    if options.peers && !succeeds(Command::new(options.peers_dir.join("setup.sh")).arg("--once"))? {
        return Err("the peers' environments could not be made; see above".to_owned());
    }
    let results = options.dir.join("results.jsonl");
    let mut results = Results::create(results)?;
    for round in 1..=options.rounds {
        for place in options.places() {
            results.prefix = format!("\"round\": {round}, \"place\": \"{}\", ", place.name);
            eprintln!("── round {round} of {}, {}", options.rounds, place.name);
            options.ours(&place, servers.as_ref(), &mut results)?;
            if options.peers {
                options.theirs(&place, servers.as_ref(), &mut results)?;
            }
        }
    }
    drop(servers);
    finish(&results.path, &options)?;
    for failed in &results.failed {
        println!("did not run to its end: {failed}");
    }
    Ok(results.failed.is_empty())
}

/// Makes the page and says what is on it.
fn finish(lines: &Path, options: &Options) -> Result<()> {
    let outcome = report::write(lines, &options.page())?;
    for failure in &outcome.failures {
        println!("not measured: {failure}");
    }
    println!(
        "{} targets are met, {} are missed",
        outcome.met, outcome.missed
    );
    println!("the page: {}", outcome.page.display());
    Ok(())
}

fn program() -> Command {
    cargo(&[
        "run",
        "--quiet",
        "--release",
        "--package",
        "ambit-bench",
        "--",
    ])
}

/// Where stores are kept.
struct Place {
    name: &'static str,
    folder: PathBuf,
}

/// The lines that all programs printed, each with its round and place.
struct Results {
    path: PathBuf,
    file: File,
    prefix: String,
    failed: Vec<String>,
}

impl Results {
    fn create(path: PathBuf) -> Result<Self> {
        let failed = |error| format!("cannot write {}: {error}", path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed)?;
        let file = File::create(&path).map_err(failed)?;
        Ok(Self {
            path,
            file,
            prefix: String::new(),
            failed: Vec::new(),
        })
    }

    fn collect(&mut self, name: &str, command: &mut Command) -> Result<()> {
        eprintln!("{name}");
        let Self { file, prefix, .. } = self;
        let mut written = Ok(());
        let succeeded = each_line(command, |line| match line.strip_prefix('{') {
            Some(rest) if written.is_ok() => written = writeln!(file, "{{{prefix}{rest}"),
            Some(_) => {}
            None => eprintln!("{line}"),
        })?;
        written.map_err(|error| format!("cannot write {}: {error}", self.path.display()))?;
        if !succeeded {
            self.failed.push(name.to_owned());
        }
        Ok(())
    }
}

impl Options {
    fn backends(&self) -> impl Iterator<Item = &'static Backend> {
        BACKENDS.iter().filter(|backend| {
            self.drivers.is_empty() || self.drivers.iter().any(|wanted| wanted == backend.scheme)
        })
    }

    /// The servers, where somebody needs them. The peers' scripts empty the database, so that it must be a private one.
    fn servers(&self) -> Result<Option<Servers>> {
        if self.peers {
            return Servers::private().map(Some);
        }
        if self.backends().any(|backend| backend.file.is_none()) {
            return Servers::for_tests().map(Some);
        }
        Ok(None)
    }

    fn places(&self) -> Vec<Place> {
        let id = std::process::id();
        let mut places = vec![Place {
            name: "disk",
            folder: self.dir.join(format!("stores-{id}")),
        }];
        if self.tmpfs {
            places.push(Place {
                name: "tmpfs",
                folder: PathBuf::from(format!("/dev/shm/ambit-bench-{id}")),
            });
        }
        places
    }

    fn ours(&self, place: &Place, servers: Option<&Servers>, results: &mut Results) -> Result<()> {
        for backend in self.backends() {
            let folder = place.folder.join(backend.name.replace(' ', "-"));
            let url = match (backend.file, servers) {
                (Some(file), _) => format!("{}:{}", backend.scheme, folder.join(file).display()),
                (None, Some(servers)) if place.name == "disk" => match backend.scheme {
                    "postgres" => servers.postgres.clone(),
                    _ => servers.redis.clone(),
                },
                (None, _) => continue,
            };
            make(&folder)?;
            let mut command = program();
            command.args(["run", "--url", &url, "--backend", backend.name]);
            command.args(backend.arguments);
            if self.quick && !backend.arguments.contains(&"--quick") {
                command.arg("--quick");
            }
            if let Some(work) = &self.work {
                command.args(["--work", work]);
            }
            results.collect(&format!("ambit on {}", backend.name), &mut command)?;
            erase(&place.folder)?;
        }
        Ok(())
    }

    fn theirs(
        &self,
        place: &Place,
        servers: Option<&Servers>,
        results: &mut Results,
    ) -> Result<()> {
        make(&place.folder)?;
        let mut command = Command::new(self.peers_dir.join("run_all.sh"));
        command.env("BENCH_TMP", &place.folder);
        if let Some(servers) = servers {
            // The spelling that the scripts rewrite for their own database libraries.
            let url = servers.postgres.replacen("postgres://", "postgresql://", 1);
            command.env("PG_URL", url);
            command.env("REDIS_URL", &servers.redis);
        }
        // Servers are measured once: where their files are does not depend on the place.
        if place.name != "disk" && environment("PEERS").is_none() {
            command.env("PEERS", "embedded");
        }
        if let Some(work) = &self.work {
            command.env("WORK", work);
        }
        if self.quick {
            command.envs(SMALL.iter().copied());
        }
        results.collect("the peers", &mut command)?;
        erase(&place.folder)
    }
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

fn erase(folder: &Path) -> Result<()> {
    std::fs::remove_dir_all(folder)
        .map_err(|error| format!("cannot erase {}: {error}", folder.display()))
}
