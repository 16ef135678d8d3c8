//! Real PostgreSQL and Redis servers for tests and benchmarks: those the environment names, or private ones on free
//! ports in a temporary folder, stopped and erased at the end.

mod account;
mod pgbouncer;
mod postgres;
mod programs;
mod redis;
mod tls;

use crate::process::{Result, environment};
use programs::{Program, Programs};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use tls::Certificate;

/// Names the PostgreSQL server to use, as `postgres://user:password@host:port/database`.
pub const POSTGRES: &str = "TEST_POSTGRES_URL";
/// Names the file of the certificate that the PostgreSQL server's one is signed with.
pub const POSTGRES_CA: &str = "TEST_POSTGRES_CA";
/// Names a pgbouncer in front of it that lends connections for the length of a transaction.
pub const PGBOUNCER: &str = "TEST_PGBOUNCER_URL";
/// Names the Redis server to use, as `redis://host:port/database`.
pub const REDIS: &str = "TEST_REDIS_URL";

/// How often a starting server is asked, and how long to wait between: 60 seconds together.
const TRIES: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// The servers that a run uses. Dropping this stops the private ones, then erases their folder.
#[derive(Debug, Default)]
pub struct Servers {
    /// What programs are told of them.
    variables: Vec<(&'static str, String)>,
    private: Vec<Private>,
    folder: Option<Folder>,
}

impl Servers {
    /// Servers from the environment, private ones for those it does not name. A private PostgreSQL speaks TLS and stands
    /// behind a pgbouncer too.
    pub fn for_tests() -> Result<Self> {
        let mut wanted = Self::not_named();
        if wanted.contains(&Program::Postgres) {
            wanted.push(Program::Pgbouncer);
        }
        Self::start(&wanted)
    }

    /// The same without what would only be measured too.
    pub fn for_benchmarks() -> Result<Self> {
        Self::start(&Self::not_named())
    }

    /// Private servers, whatever the environment says: for programs that empty whole databases.
    pub fn private() -> Result<Self> {
        Self::start(&[Program::Postgres, Program::Redis])
    }

    /// Whether they were started for this run.
    pub fn are_private(&self) -> bool {
        !self.private.is_empty()
    }

    /// Names the private servers to a program; it finds the others in the environment itself.
    pub fn tell<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.variables.iter().cloned())
    }

    /// The address of the server that the variable names.
    pub fn address(&self, variable: &str) -> String {
        let mut private = self.variables.iter();
        let private = private.find(|(name, _)| *name == variable);
        let private = private.map(|(_, address)| address.clone());
        private
            .or_else(|| environment(variable))
            .unwrap_or_default()
    }

    fn not_named() -> Vec<Program> {
        let both = [(POSTGRES, Program::Postgres), (REDIS, Program::Redis)];
        let both = both.into_iter();
        both.filter(|(variable, _)| environment(variable).is_none())
            .map(|(_, program)| program)
            .collect()
    }

    fn start(wanted: &[Program]) -> Result<Self> {
        if wanted.is_empty() {
            return Ok(Self::default());
        }
        let programs = programs::find(wanted)?;
        let folder = Folder::create()?;
        let mut servers = Self::default();
        if wanted.contains(&Program::Postgres) {
            servers.start_postgres(&programs, &folder, wanted.contains(&Program::Pgbouncer))?;
        }
        if wanted.contains(&Program::Redis) {
            let (server, url) = redis::start(&programs, &folder)?;
            servers.add(server, REDIS, url);
        }
        servers.folder = Some(folder);
        Ok(servers)
    }

    fn start_postgres(&mut self, programs: &Programs, folder: &Folder, all: bool) -> Result<()> {
        if !all {
            let (server, port) = postgres::start(programs, folder, None)?;
            self.add(server, POSTGRES, postgres::url(port));
            return Ok(());
        }
        let certificate = Certificate::make(folder)?;
        let (server, port) = postgres::start(programs, folder, Some(&certificate))?;
        self.add(server, POSTGRES, postgres::url(port));
        let authority = certificate.authority.display().to_string();
        self.variables.push((POSTGRES_CA, authority));
        let (pgbouncer, port) = pgbouncer::start(programs, folder, port)?;
        self.add(pgbouncer, PGBOUNCER, postgres::url(port));
        Ok(())
    }

    fn add(&mut self, server: Private, variable: &'static str, url: String) {
        println!("started {} at {url}", server.name);
        self.private.push(server);
        self.variables.push((variable, url));
    }
}

/// The programs that private servers are.
pub fn programs() -> Result<Programs> {
    programs::find(&[Program::Postgres, Program::Redis])
}

/// A server process of ours.
#[derive(Debug)]
struct Private {
    name: &'static str,
    child: Child,
    /// The signal after which it ends at once and leaves no child behind.
    stop: &'static str,
}

impl Private {
    /// Waits until `answers` says so; an early end of the process is an error that quotes its log.
    fn wait(mut self, log: &Path, answers: impl Fn() -> bool) -> Result<Self> {
        for _ in 0..TRIES {
            if answers() {
                return Ok(self);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.failed(&format!("ended with {status}"), log));
            }
            std::thread::sleep(PAUSE);
        }
        Err(self.failed("did not answer in time", log))
    }

    fn failed(&self, how: &str, log: &Path) -> String {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(10).collect();
        let tail: Vec<&str> = lines.into_iter().rev().collect();
        format!("{} {how}; its log ends:\n{}", self.name, tail.join("\n"))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args([self.stop, &id]).status();
        for _ in 0..TRIES {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder that is erased at the end.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// The user who runs this program: the owner of what it makes.
    user: u32,
}

impl Folder {
    fn create() -> Result<Self> {
        let made = tempfile::Builder::new().prefix("ambit-servers-").tempdir();
        let path = made
            .map_err(|error| format!("cannot make a folder for servers: {error}"))?
            .keep();
        // Open to all, since PostgreSQL may run under another account.
        let open = std::fs::Permissions::from_mode(0o755);
        let made = std::fs::set_permissions(&path, open).and_then(|()| std::fs::metadata(&path));
        let metadata = made.map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        Ok(Self {
            path,
            user: metadata.uid(),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A port that nobody listens on.
fn free_port() -> Result<u16> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no free port on 127.0.0.1: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{Folder, Private};
    use std::process::Command;

    #[test]
    fn a_dropped_server_is_stopped() {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let id = child.id().to_string();
        let stop = "-TERM";
        drop(Private {
            name: "sleep",
            child,
            stop,
        });
        let alive = Command::new("kill").args(["-0", &id]).output().unwrap();
        assert!(!alive.status.success());
    }

    #[test]
    fn a_server_that_ends_early_is_reported_with_its_log() {
        let folder = Folder::create().unwrap();
        let log = folder.path.join("log");
        std::fs::write(&log, "no space\n").unwrap();
        let child = Command::new("false").spawn().unwrap();
        let server = Private {
            name: "Test",
            child,
            stop: "-TERM",
        };
        let error = server.wait(&log, || false).unwrap_err();
        assert!(error.starts_with("Test ended with"), "{error}");
        assert!(error.ends_with("no space"), "{error}");
        let path = folder.path.clone();
        drop(folder);
        assert!(!path.exists());
    }
}
