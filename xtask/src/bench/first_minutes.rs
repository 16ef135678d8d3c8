//! W16, the first minutes with the sources: a fresh clone until it answers, and an edit of the runtime until it answers again.

use super::results::ResultRow;
use super::{Options, Results};
use crate::process::{Result, cargo, each_line, root, succeeds};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The work's name.
pub const NAME: &str = "W16";
/// The profile of `cargo run --release`.
const PROFILE: &str = "release";
/// How long a server may take that says nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// Something new for the compiler, that nobody calls.
const EDIT: &str =
    "\n#[doc(hidden)]\npub fn edited_by_a_benchmark() -> &'static str {\n    \"once\"\n}\n";
const REQUEST: &str =
    r#"{"model": "welcome", "stream": true, "messages": [{"role": "user", "content": "Hello"}]}"#;

/// Measures it in a folder of its own; true where it came to its end.
pub fn measure(options: &Options, results: &mut Results) -> Result<bool> {
    results.progress("── W16, a fresh clone");
    let folder = tempfile::Builder::new()
        .prefix("first-minutes-")
        .tempdir_in(&options.dir);
    let folder = folder.map_err(|error| format!("cannot make a folder for W16: {error}"))?;
    match run(folder.path(), results) {
        Ok(()) => Ok(true),
        Err(why) => {
            results.failure(NAME, &why)?;
            Ok(false)
        }
    }
}

fn run(folder: &Path, results: &mut Results) -> Result<()> {
    let mut keep = |work, value, unit, note| {
        let backend = PROFILE;
        results.result(&ResultRow {
            backend,
            work,
            value,
            unit,
            note,
        })
    };
    let since = Instant::now();
    let clone = SourceClone::make(folder)?;
    let built = Instant::now();
    clone.build()?;
    let note = "cargo build --release, nothing built before; cargo fetches the crates that it does not have yet";
    keep("W16 build", built.elapsed().as_secs_f64(), "s", note)?;
    let started = Instant::now();
    clone.answer()?;
    let note =
        "from the start of the process to the first piece of the welcome app's answer; a new store";
    keep(
        "W16 start",
        started.elapsed().as_secs_f64() * 1e3,
        "ms",
        note,
    )?;
    let note = "git clone, the build and the start";
    keep(
        "W16 clone to the first answer",
        since.elapsed().as_secs_f64(),
        "s",
        note,
    )?;
    clone.edit()?;
    let since = Instant::now();
    clone.build()?;
    clone.answer()?;
    let note = "a function more in the runtime, the build and the start";
    keep(
        "W16 edit to the first answer",
        since.elapsed().as_secs_f64(),
        "s",
        note,
    )
}

/// A clone of the repository as it is committed, which shares nothing with it.
struct SourceClone {
    sources: PathBuf,
    data: PathBuf,
}

impl SourceClone {
    fn make(folder: &Path) -> Result<Self> {
        let clone = Self {
            sources: folder.join("clone"),
            data: folder.join("data"),
        };
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--no-hardlinks"]);
        match succeeds(git.arg(root()).arg(&clone.sources))? {
            true => Ok(clone),
            false => Err("git could not clone the repository".to_owned()),
        }
    }

    fn target(&self) -> PathBuf {
        self.sources.join("target")
    }

    fn build(&self) -> Result<()> {
        let mut command = cargo(&["build", "--release"]);
        command.current_dir(&self.sources);
        command.env("CARGO_TARGET_DIR", self.target());
        // What a cache of compilers has kept says nothing of a build.
        command.env("RUSTC_WRAPPER", "");
        // What the profile says of it counts.
        command.env_remove("CARGO_INCREMENTAL");
        match each_line(&mut command, |line| eprintln!("{line}"))? {
            true => Ok(()),
            false => Err("the clone could not be built; the terminal says why".to_owned()),
        }
    }

    fn edit(&self) -> Result<()> {
        let file = self.sources.join("crates/runtime/src/lib.rs");
        let failed = |error| format!("cannot edit {}: {error}", file.display());
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .map_err(failed)?;
        file.write_all(EDIT.as_bytes()).map_err(failed)
    }

    /// Starts the server over a new store, and waits for the beginning of an answer.
    fn answer(&self) -> Result<()> {
        let _ = std::fs::remove_dir_all(&self.data);
        let mut command = Command::new(self.target().join("release/ambit"));
        command.args([
            "serve",
            "examples/welcome",
            "--listen",
            "127.0.0.1:0",
            "--log",
            "error",
            "--data",
        ]);
        command
            .arg(&self.data)
            .current_dir(&self.sources)
            .stdout(Stdio::piped());
        let child = command
            .spawn()
            .map_err(|error| format!("the clone's ambit cannot be run: {error}"))?;
        let mut server = ClonedServer(child);
        ask(&server.address()?)
    }
}

/// The server of the clone; dropping it ends it.
struct ClonedServer(Child);

impl ClonedServer {
    /// The address in the first line that it says.
    fn address(&mut self) -> Result<String> {
        let mut line = String::new();
        if let Some(output) = &mut self.0.stdout {
            let read = BufReader::new(output).read_line(&mut line);
            read.map_err(|error| format!("the server cannot be read: {error}"))?;
        }
        let address = address_in(&line).map(str::to_owned);
        address.ok_or_else(|| {
            format!(
                "the server did not say where it is: \"{}\"",
                line.trim_end()
            )
        })
    }
}

impl Drop for ClonedServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn address_in(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("http://")?;
    rest.split('/').next().map(str::trim_end)
}

/// Makes a turn, and comes back with the first piece of its stream.
fn ask(address: &str) -> Result<()> {
    let failed = |error| format!("the server at {address} does not answer: {error}");
    let mut line = TcpStream::connect(address).map_err(failed)?;
    line.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let length = REQUEST.len();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    line.write_all((head + REQUEST).as_bytes())
        .map_err(failed)?;
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = line.read(&mut piece).map_err(failed)?;
        said.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&said);
        if text.contains("data: ") {
            return Ok(());
        }
        if count == 0 {
            return Err(format!(
                "the first answer is no stream: {}",
                text.trim_end()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// What is made of an answer.
    fn asked(answer: &'static str) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut line, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"]}") {
                let mut byte = [0];
                line.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            line.write_all(answer.as_bytes()).unwrap();
        });
        let outcome = super::ask(&address);
        server.join().unwrap();
        outcome
    }

    #[test]
    fn the_first_piece_of_a_stream_is_an_answer() {
        assert_eq!(asked("HTTP/1.1 200 OK\r\n\r\n8\r\ndata: {}"), Ok(()));
    }

    #[test]
    fn a_refusal_is_no_answer() {
        let why = asked("HTTP/1.1 503 Service Unavailable\r\n\r\n").unwrap_err();
        assert!(why.contains("503"), "{why}");
    }

    #[test]
    fn the_address_stands_in_what_the_server_says() {
        let said = "Ambit serves \"Welcome\" on http://127.0.0.1:43313/v1\n";
        assert_eq!(super::address_in(said), Some("127.0.0.1:43313"));
        assert_eq!(super::address_in("cannot listen\n"), None);
    }
}
