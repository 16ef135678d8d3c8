//! Reads documents of strangers in a process of their own, which is stopped at its limits.
//!
//! What holds in the child before it sees the first byte of a document, on every Unix: 512 MiB of address space, 60 s of
//! processor time, no new file descriptor (`RLIMIT_NOFILE` 0: it opens no file and no socket), no byte written to a file, no
//! core dump, an empty environment. On Linux it is the first to be killed where memory ends. This takes no library. What it
//! leaves to code that has taken over the process are signals to other processes of its user, and, where that user is root, the
//! limits themselves. The readers and the libraries that parse for them are Rust, those
//! of PDF and HTML without `unsafe`. A filter of system calls would close the rest at the cost of a list of calls for each
//! allocator and processor.

mod confinement;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::document::ExtractedDocument;
use crate::error::ExtractError;
use crate::format::{DocumentBytes, DocumentFormat, extract};
use crate::limits;

/// How long a document is read.
pub const CHILD_TIME: Duration = Duration::from_secs(60);

/// A document that is to be read by a child process.
pub struct ChildRequest<'a> {
    /// How to read it.
    pub format: &'static DocumentFormat,
    /// The charset that its sender declares.
    pub charset: Option<&'a str>,
    /// The file. It is passed on in pieces and never held as a whole.
    pub document: &'a mut (dyn Read + Send),
}

/// What the child is told before the document.
#[derive(Serialize, Deserialize)]
struct RequestHead {
    format: String,
    charset: Option<String>,
}

/// What the child says before the text.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnswerHead {
    Document {
        document: Box<ExtractedDocument>,
        text_bytes: usize,
    },
    Failure(ExtractError),
}

/// Reads a document by `program extract`, which calls [`run_child`]. It blocks for at most `time`, of which [`CHILD_TIME`] is
/// the usual one.
///
/// A server names its own program by `/proc/self/exe`, so that an update on the disk makes no difference while it runs.
pub fn extract_in_child(
    program: &Path,
    mut request: ChildRequest<'_>,
    time: Duration,
) -> Result<ExtractedDocument, ExtractError> {
    let failed = |error: io::Error| {
        ExtractError::Internal(format!("{} cannot be started: {error}", program.display()))
    };
    let mut command = Command::new(program);
    command
        .arg("extract")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(ExtractError::Internal(
            "its process has no pipes".to_owned(),
        ));
    };
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::scope(|scope| {
        // A child that stops listening has its reason, which its answer or its end tells.
        scope.spawn(move || send(&mut request, stdin));
        scope.spawn(move || {
            // Nobody listens any more where time was up.
            let _ = sender.send(receive(stdout));
        });
        let answer = receiver.recv_timeout(time);
        // Its pipes end with it, and with them the threads. What has ended already keeps its status.
        let killed = child.kill().and_then(|()| child.wait());
        match (answer, killed) {
            (Ok(Ok(answer)), _) => answer,
            // It may have been killed here, with an answer that is none.
            (Ok(Err(error)), _) if error.kind() == io::ErrorKind::InvalidData => Err(
                ExtractError::Internal("its process gave an answer that does not hold".to_owned()),
            ),
            (Ok(Err(_)), Ok(status)) => Err(failure_of(status)),
            (Ok(Err(error)), Err(_)) => Err(ExtractError::Internal(error.to_string())),
            (Err(_), _) => Err(ExtractError::limited(format!("{} s", time.as_secs_f64()))),
        }
    })
}

fn send(request: &mut ChildRequest<'_>, mut stdin: ChildStdin) -> io::Result<()> {
    let charset = request.charset.map(str::to_owned);
    let head = RequestHead {
        format: request.format.name.to_owned(),
        charset,
    };
    serde_json::to_writer(&mut stdin, &head)?;
    stdin.write_all(b"\n")?;
    io::copy(request.document, &mut stdin).map(drop)
}

/// Reads the answer as it comes, so that there is one copy of the text.
fn receive(stdout: ChildStdout) -> io::Result<Result<ExtractedDocument, ExtractError>> {
    let mut stdout = BufReader::new(stdout);
    let (mut document, text_bytes) = match receive_head(&mut stdout)? {
        AnswerHead::Document {
            document,
            text_bytes,
        } => (document, text_bytes),
        AnswerHead::Failure(failure) => return Ok(Err(failure)),
    };
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    if text_bytes > limits::TEXT_BYTES {
        return Err(broken());
    }
    let mut text = vec![0; text_bytes];
    stdout.read_exact(&mut text)?;
    document.text = String::from_utf8(text).map_err(|_| broken())?;
    // Who asked cuts the text at the ranges.
    let mut blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let holds = |range| document.text.get(range).is_some();
    if !blocks.all(|block| holds(block.range.clone()) && block.header.clone().is_none_or(holds)) {
        return Err(broken());
    }
    Ok(Ok(*document))
}

/// Reads what comes before the text. What the parser has put aside ends here.
fn receive_head(stdout: &mut BufReader<ChildStdout>) -> io::Result<AnswerHead> {
    let mut head = serde_json::Deserializer::from_reader(stdout.take(limits::ANSWER_HEAD_BYTES));
    Ok(AnswerHead::deserialize(&mut head)?)
}

/// Why a child has no answer. Rust aborts where memory ends, be it of the heap or of the stack.
fn failure_of(status: ExitStatus) -> ExtractError {
    match status.signal().and_then(Signal::from_named_raw) {
        Some(Signal::ABORT | Signal::SEGV) => {
            ExtractError::limited("512 MiB of memory, or too deep a nesting")
        }
        Some(Signal::XCPU) => {
            ExtractError::limited(format!("{} s of processor time", limits::CHILD_CPU_SECONDS))
        }
        Some(Signal::KILL) => ExtractError::Internal(
            "its process was killed, as where a system has no memory left".to_owned(),
        ),
        _ => ExtractError::Internal(format!("its process ended without an answer ({status})")),
    }
}

/// Is the child: reads a document from standard input and writes what it holds to standard output.
///
/// It is to be called before anything else, in particular before a thread is started: the process begins once more under its
/// limit of memory.
pub fn run_child() -> ExitCode {
    if let Err(error) = confinement::confine() {
        let failure = ExtractError::Internal(format!("its process cannot be confined: {error}"));
        return answer(Err(failure));
    }
    answer(read_request())
}

fn read_request() -> Result<ExtractedDocument, ExtractError> {
    let broken =
        |error: io::Error| ExtractError::Internal(format!("its process was told nothing: {error}"));
    let mut stdin = io::stdin().lock();
    let mut head = String::new();
    stdin.read_line(&mut head).map_err(broken)?;
    let head: RequestHead = serde_json::from_str(&head).map_err(|error| broken(error.into()))?;
    let format =
        DocumentFormat::by_name(&head.format).ok_or(ExtractError::Unsupported(head.format))?;
    let mut bytes = Vec::new();
    // One byte more shows that there are more.
    stdin
        .take(limits::FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(broken)?;
    extract(
        format,
        &DocumentBytes {
            bytes: &bytes,
            charset: head.charset.as_deref(),
        },
    )
}

fn answer(read: Result<ExtractedDocument, ExtractError>) -> ExitCode {
    let written = match read {
        Ok(mut document) => {
            let text = std::mem::take(&mut document.text);
            write_answer(
                &AnswerHead::Document {
                    document: Box::new(document),
                    text_bytes: text.len(),
                },
                &text,
            )
        }
        Err(failure) => write_answer(&AnswerHead::Failure(failure), ""),
    };
    if written.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn write_answer(head: &AnswerHead, text: &str) -> io::Result<()> {
    let mut head = serde_json::to_vec(head)?;
    let mut text = text;
    if head.len() as u64 > limits::ANSWER_HEAD_BYTES {
        let failure = ExtractError::limited("32 MiB of headings, metadata and places of blocks");
        head = serde_json::to_vec(&AnswerHead::Failure(failure))?;
        text = "";
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(&head)?;
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
