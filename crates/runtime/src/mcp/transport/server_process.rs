//! A child process and all that it starts, which end with it.

use crate::lock::lock;
use crate::mcp::notifications::McpNotifications;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How long a process may take to end by itself when nobody speaks to it any more.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes of one line of its log.
const LINE: usize = 8 << 10;

/// A running process. Dropped, it is killed with its whole group.
pub struct ServerProcess {
    child: Child,
    group: Option<Pid>,
    stderr_tail: Arc<Mutex<String>>,
    _log: JoinSet<()>,
    _counted: TaskTrackerToken,
}

impl ServerProcess {
    /// Starts a process in a group of its own. What it writes to stderr goes to the log.
    pub fn start(
        mut command: Command,
        notifications: &Arc<McpNotifications>,
        processes: &TaskTracker,
    ) -> io::Result<Self> {
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let stderr_tail = Arc::new(Mutex::new(String::new()));
        let mut log = JoinSet::new();
        if let Some(stderr) = child.stderr.take() {
            log.spawn(follow(stderr, notifications.clone(), stderr_tail.clone()));
        }
        Ok(Self {
            child,
            group: id.and_then(Pid::from_raw),
            stderr_tail,
            _log: log,
            _counted: processes.token(),
        })
    }

    /// Its ends.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits until it has ended, and ends what it has left behind.
    pub async fn ended(&mut self) -> String {
        let status = self.child.wait().await;
        self.kill();
        self.why(status)
    }

    /// Lets it end, and then ends it.
    pub async fn end(&mut self) {
        let _in_time = timeout(GRACE, self.child.wait()).await;
        self.kill();
        // Killed, it is gone at once; waiting takes its entry out of the system's table.
        let _gone = timeout(GRACE, self.child.wait()).await;
    }

    fn why(&self, status: io::Result<ExitStatus>) -> String {
        let how = match status {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let tail = lock(&self.stderr_tail);
        match tail.as_str() {
            "" => format!("its process has ended ({how})"),
            tail => format!("its process has ended ({how}): {tail}"),
        }
    }

    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // It fails only where nobody of the group is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Puts what a process complains of into the log.
async fn follow(stderr: ChildStderr, server: Arc<McpNotifications>, tail: Arc<Mutex<String>>) {
    let mut lines = BufReader::with_capacity(LINE, stderr);
    let mut line = Vec::new();
    loop {
        let Ok(bytes) = lines.fill_buf().await else {
            return;
        };
        if bytes.is_empty() {
            return;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        line.extend_from_slice(&bytes[..taken]);
        lines.consume(taken);
        if end.is_none() && line.len() < LINE {
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let text = server.secrets().hide(text.trim());
        line.clear();
        if !text.is_empty() {
            tracing::info!(server = %server.name(), "{text}");
            *lock(&tail) = text;
        }
    }
}
