//! Real PostgreSQL and Redis servers for tests and benchmarks: those the environment names, or private ones on free
//! ports in a temporary folder, stopped and erased at the end.

mod postgres;
mod programs;
mod redis;
mod tls;

use crate::process::{Result, environment};
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
/// Names the Redis server to use, as `redis://host:port/database`.
pub const REDIS: &str = "TEST_REDIS_URL";

/// How often a starting server is asked, and how long to wait between: 60 seconds together.
const TRIES: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// The servers that a run uses. Dropping this stops the private ones, then erases their folder.
#[derive(Debug)]
pub struct Servers {
    /// Where PostgreSQL answers.
    pub postgres: String,
    /// Who signed its certificate, where it has one.
    pub postgres_ca: Option<PathBuf>,
    /// Where Redis answers.
    pub redis: String,
    private: Vec<Private>,
    _folder: Option<Folder>,
}

impl Servers {
    /// Servers from the environment, private ones for those it does not name; a private PostgreSQL speaks TLS.
    pub fn for_tests() -> Result<Self> {
        Self::start(environment(POSTGRES), environment(REDIS), true)
    }

    /// The same without TLS, which would be measured too.
    pub fn for_benchmarks() -> Result<Self> {
        Self::start(environment(POSTGRES), environment(REDIS), false)
    }

    /// Private servers, whatever the environment says: for programs that empty whole databases.
    pub fn private() -> Result<Self> {
        Self::start(None, None, false)
    }

    /// Whether they were started for this run.
    pub fn are_private(&self) -> bool {
        !self.private.is_empty()
    }

    /// Names the servers to a program.
    pub fn tell<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some(file) = &self.postgres_ca {
            command.env(POSTGRES_CA, file);
        }
        command
            .env(POSTGRES, &self.postgres)
            .env(REDIS, &self.redis)
    }

    fn start(postgres: Option<String>, redis: Option<String>, with_tls: bool) -> Result<Self> {
        let given_ca = environment(POSTGRES_CA).map(PathBuf::from);
        if let (Some(postgres), Some(redis)) = (&postgres, &redis) {
            return Ok(Self {
                postgres: postgres.clone(),
                postgres_ca: given_ca,
                redis: redis.clone(),
                private: Vec::new(),
                _folder: None,
            });
        }
        let programs = programs::find(postgres.is_none(), redis.is_none())?;
        let folder = Folder::create()?;
        let certificate = match with_tls && postgres.is_none() {
            true => Some(Certificate::make(&folder)?),
            false => None,
        };
        let postgres_ca = match postgres {
            Some(_) => given_ca,
            None => certificate.as_ref().map(|it| it.authority.clone()),
        };
        let mut private = Vec::new();
        let mut url = |given: Option<String>, start: &dyn Fn() -> Result<(Private, String)>| {
            if let Some(url) = given {
                return Ok(url);
            }
            let (server, url) = start()?;
            println!("started {} at {url}", server.name);
            private.push(server);
            Ok::<_, String>(url)
        };
        let postgres = url(postgres, &|| {
            postgres::start(&programs, &folder, certificate.as_ref())
        })?;
        let redis = url(redis, &|| redis::start(&programs, &folder))?;
        Ok(Self {
            postgres,
            postgres_ca,
            redis,
            private,
            _folder: Some(folder),
        })
    }
}

/// The programs that private servers are.
pub fn programs() -> Result<programs::Programs> {
    programs::find(true, true)
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
        let path = std::env::temp_dir().join(format!("ambit-servers-{}", std::process::id()));
        // Open to all, since PostgreSQL may run under another account.
        let open = std::fs::Permissions::from_mode(0o755);
        let made = std::fs::create_dir(&path)
            .and_then(|()| std::fs::set_permissions(&path, open))
            .and_then(|()| std::fs::metadata(&path));
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
