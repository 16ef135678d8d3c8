//! A server process of its own for each test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A running server; it ends with the test.
pub struct Server {
    /// Its base URL.
    pub url: String,
    /// A key for it; empty where none is needed.
    pub key: String,
    pub child: Child,
    /// Goes with the server.
    data: Option<TempDir>,
}

impl Server {
    /// Serves an app to whoever reaches it.
    pub fn open(app: &Path) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut server = Self::over(app, &["--data", data.path().to_str().unwrap()]);
        server.data = Some(data);
        server
    }

    /// Serves an app to whoever has a key.
    pub fn with_key(app: &Path) -> Self {
        let mut server = Self::open(app);
        server.key = new_key(server.data.as_ref().unwrap().path());
        server
    }

    /// Serves an app from several nodes over one store, to whoever has the key of the first.
    pub fn nodes(app: &Path, count: usize) -> Vec<Self> {
        let data = tempfile::tempdir().unwrap();
        let store = format!("sqlite:{}", data.path().join("ambit.db").display());
        let mut nodes: Vec<Self> = (0..count)
            .map(|_| Self::over(app, &["--store", &store]))
            .collect();
        nodes[0].key = new_key(data.path());
        nodes[0].data = Some(data);
        nodes
    }

    /// Another node of the same installation.
    pub fn node_beside(&self, app: &Path) -> Self {
        let data = self.data.as_ref().unwrap().path();
        Self::over(app, &["--data", data.to_str().unwrap()])
    }

    /// Serves an app with these options.
    pub fn over(app: &Path, options: &[&str]) -> Self {
        Self::with_environment(app, options, &[])
    }

    /// The same with these variables.
    pub fn with_environment(app: &Path, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut serve = serve(app, options);
        serve.envs(variables.iter().copied());
        serve.args(["--log", "error"]);
        Self::spawn(serve)
    }

    /// Runs the server that this command starts.
    pub fn spawn(mut serve: Command) -> Self {
        let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut lines = out.lines().map(Result::unwrap);
        let greeting = lines.find_map(|line| Some(line.split_once(" on ")?.1.to_owned()));
        // The rest of the output is read too, so that the server never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            url: greeting.unwrap(),
            key: String::new(),
            child,
            data: None,
        }
    }
}

/// Starts a server of an app with these options.
pub fn serve(app: &Path, options: &[&str]) -> Command {
    let mut serve = Command::new(env!("CARGO_BIN_EXE_ambit"));
    serve.arg("serve").arg(app).args(options);
    serve.args(["--listen", "127.0.0.1:0"]);
    serve
}

/// Makes the store of this folder, as the server of an app does at its start.
pub fn make_store(app: &Path, data: &Path) {
    drop(Server::over(app, &["--data", data.to_str().unwrap()]));
}

/// A key for what is served from this folder.
pub fn new_key(data: &Path) -> String {
    let mut make = Command::new(env!("CARGO_BIN_EXE_ambit"));
    make.args(["key", "new", "--user", "ann", "--data"]);
    let made = make.arg(data).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
