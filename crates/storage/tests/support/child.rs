//! Further processes of a test: the test binary starts itself with an order in its environment.

use rustix::process::{Pid, Signal, getpid, kill_process};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const VARIABLE: &str = "AMBIT_WORKER";

/// What the environment orders; `None` in the test itself.
pub fn order<T: DeserializeOwned>() -> Option<T> {
    let order = std::env::var_os(VARIABLE)?;
    Some(serde_json::from_slice(order.as_encoded_bytes()).expect("an order"))
}

/// Ends this process as a crash would.
pub fn die() {
    kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
}

/// A process at work; it ends with this value.
pub struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts this binary again with an order.
    pub fn start(order: &impl Serialize) -> Self {
        Self::start_with(order, |_| ())
    }

    /// The same, with more said about how it runs.
    pub fn start_with(order: &impl Serialize, prepare: impl FnOnce(&mut Command)) -> Self {
        let order = serde_json::to_string(order).expect("an order is JSON");
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        prepare(&mut command);
        let mut child = command
            .env(VARIABLE, order)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this binary starts again");
        let input = child.stdin.take().expect("a pipe");
        let output = child.stdout.take().expect("a pipe");
        Self {
            child,
            input,
            output: BufReader::new(output),
        }
    }

    /// The next line it says; waits for it. A line that its death has cut off is none.
    pub fn next(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = self.output.read_until(b'\n', &mut line);
        read.expect("its output can be read");
        line.pop_if(|last| *last == b'\n')?;
        Some(String::from_utf8(line).expect("a line of text"))
    }

    /// All it still says until its end.
    pub fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }

    pub fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it listens");
    }

    pub fn send(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        kill_process(Pid::from_raw(id).expect("a process id"), signal).expect("it runs");
    }

    /// Waits for its end; true where it did all it was ordered to, false where it was killed.
    pub fn ended_well(&mut self) -> bool {
        let status = self.child.wait().expect("it ends");
        let was_killed = status.signal() == Some(Signal::KILL.as_raw());
        assert!(status.success() || was_killed, "the worker: {status}");
        status.success()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
