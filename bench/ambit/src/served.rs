//! The server itself, as its users run it: `ambit serve` in a process of its own.

use crate::client::Client;
use crate::{Result, app, syncs};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

/// A server that runs; one that is dropped is killed.
pub struct Served {
    pub address: SocketAddr,
    /// When its process was started.
    pub since: Instant,
    child: Child,
    pid: i32,
    /// The server writes there; if nobody could read it, that would be an error to it.
    _said: BufReader<ChildStdout>,
    _app: TempDir,
}

/// Nanoseconds that each thread has run. The process's own clock counts in ticks, and a thread that a timer wakes at every
/// tick seems to run for all of it.
pub struct Clock(BTreeMap<OsString, u64>);

/// The program, which is built beside this one.
pub fn program() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("ambit");
    if path.exists() {
        return Ok(path);
    }
    Err(format!(
        "there is no {}; build it by the profile of this program: cargo build --profile NAME --package ambit",
        path.display()
    )
    .into())
}

impl Served {
    /// Serves the benchmark's app over this store.
    pub async fn start(store: &str) -> Result<Self> {
        Self::run(Command::new(program()?), store, app::write()?).await
    }

    /// The same, with an agent whose model is this provider's.
    pub async fn with_provider(store: &str, provider: SocketAddr) -> Result<Self> {
        let app = app::write()?;
        app::add_typist(&app, provider)?;
        Self::run(Command::new(program()?), store, app).await
    }

    /// The same, its syncs counted into this file.
    pub async fn counted(store: &str, log: &Path) -> Result<Self> {
        let mut command = Command::from(syncs::counting(log));
        command.arg(program()?);
        let mut served = Self::run(command, store, app::write()?).await?;
        let children = format!("/proc/{0}/task/{0}/children", served.pid);
        let children = std::fs::read_to_string(children)?;
        served.pid = children.trim().parse()?;
        Ok(served)
    }

    async fn run(mut command: Command, store: &str, app: TempDir) -> Result<Self> {
        command
            .arg("serve")
            .arg(app.path())
            .args(["--listen", "127.0.0.1:0", "--log", "error"])
            .args(["--store", store])
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let since = Instant::now();
        let mut child = command.spawn()?;
        let pid = child.id().and_then(|pid| pid.try_into().ok());
        let said = child.stdout.take().ok_or("the server says nothing")?;
        let mut said = BufReader::new(said);
        let mut line = String::new();
        said.read_line(&mut line).await?;
        Ok(Self {
            address: address(&line)
                .ok_or_else(|| format!("the server did not start: \"{}\"", line.trim_end()))?,
            since,
            pid: pid.ok_or("the server has ended")?,
            child,
            _said: said,
            _app: app,
        })
    }

    pub async fn client(&self) -> Result<Client> {
        Client::open(self.address).await
    }

    /// What the scheduler has counted so far.
    pub fn clock(&self) -> Result<Clock> {
        let mut threads = BTreeMap::new();
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.pid))? {
            let thread = thread?;
            // A thread may have ended since.
            if let Ok(text) = std::fs::read_to_string(thread.path().join("schedstat")) {
                let spent = text.split(' ').next().unwrap_or_default();
                threads.insert(thread.file_name(), spent.parse()?);
            }
        }
        Ok(Clock(threads))
    }

    /// Seconds of processor time since then.
    pub fn spent(&self, since: &Clock) -> Result<f64> {
        let now = self.clock()?.0;
        let spent = now.iter().map(|(thread, spent)| {
            let before = since.0.get(thread).copied().unwrap_or_default();
            spent.saturating_sub(before)
        });
        Ok(spent.sum::<u64>() as f64 / 1e9)
    }

    /// MB that are resident.
    pub fn resident(&self) -> Result<f64> {
        Ok(self.status("VmRSS:")? / 1024.0)
    }

    /// The most MB that have been resident so far.
    pub fn most_resident(&self) -> Result<f64> {
        Ok(self.status("VmHWM:")? / 1024.0)
    }

    /// Its threads at this moment.
    pub fn threads(&self) -> Result<f64> {
        self.status("Threads:")
    }

    /// A number that the system tells of the process.
    fn status(&self, name: &str) -> Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.ok_or("the server has ended")?.parse()?)
    }

    /// Stops the server as an operator does.
    pub async fn stop(mut self) -> Result<()> {
        let pid = Pid::from_raw(self.pid).ok_or("the server has ended")?;
        kill_process(pid, Signal::TERM)?;
        let status = self.child.wait().await?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the server ended with {status}").into())
        }
    }
}

fn address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.rsplit_once("http://")?;
    rest.split('/').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn the_server_says_where_it_is() {
        let line = "Ambit serves \"Bench\" on http://127.0.0.1:4711/v1\n";
        assert_eq!(address(line), "127.0.0.1:4711".parse().ok());
        assert_eq!(address("error: no\n"), None);
    }
}
