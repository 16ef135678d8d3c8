//! What a person types: on a terminal with editing and a history, from anything else line by line.

use super::is_terminal;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, BufRead};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tokio::sync::mpsc;

const PROMPT: &str = "> ";
/// Lines of the history.
const HISTORY: usize = 1_000;

/// A line, none at the end of the input.
type TypedLine = io::Result<Option<String>>;

/// Gives lines one by one. The terminal is in the mode of the editor only while one is typed, so that Ctrl-C reaches the program while
/// an answer comes.
pub struct ChatInput {
    ask: SyncSender<()>,
    lines: mpsc::Receiver<TypedLine>,
}

impl ChatInput {
    /// Reads what is typed; on a terminal it goes to this file too. The thread that reads waits for a person and cannot be called off; it
    /// ends with the input or the program.
    pub fn open(history: Option<PathBuf>) -> Self {
        let (ask, asked) = sync_channel(1);
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || match is_terminal() {
            true => read_terminal(history, &asked, &sender),
            false => answer(&asked, &sender, || {
                io::stdin().lock().lines().next().transpose()
            }),
        });
        Self { ask, lines }
    }

    /// The next line; none at the end of the input.
    pub async fn line(&mut self) -> TypedLine {
        // What a thread that has ended has left is read all the same.
        let _ = self.ask.try_send(());
        self.lines.recv().await.unwrap_or(Ok(None))
    }
}

/// Reads a line each time that one is asked for.
fn answer(
    asked: &Receiver<()>,
    lines: &mpsc::Sender<TypedLine>,
    mut next: impl FnMut() -> TypedLine,
) {
    while asked.recv().is_ok() {
        if lines.blocking_send(next()).is_err() {
            break;
        }
    }
}

fn read_terminal(history: Option<PathBuf>, asked: &Receiver<()>, lines: &mpsc::Sender<TypedLine>) {
    match LineEditor::open(history) {
        Ok(mut editor) => answer(asked, lines, || editor.line()),
        // Nobody is left to tell where nobody reads.
        Err(error) => drop(lines.blocking_send(Err(error))),
    }
}

struct LineEditor {
    editor: Editor<(), FileHistory>,
    /// The file of the history; none where there is none.
    history: Option<PathBuf>,
}

impl LineEditor {
    fn open(history: Option<PathBuf>) -> io::Result<Self> {
        let config = Config::builder().max_history_size(HISTORY);
        let config = config.map_err(input_failure)?.build();
        let editor = Editor::with_config(config).map_err(input_failure)?;
        let mut typing = Self { editor, history };
        if let Some(file) = typing.history.clone() {
            let loaded = prepare(&file)
                .and_then(|()| typing.editor.load_history(&file).map_err(input_failure));
            typing.check_history(loaded);
        }
        Ok(typing)
    }

    fn line(&mut self) -> TypedLine {
        let line = match self.editor.readline(PROMPT) {
            Ok(line) => line,
            Err(ReadlineError::Eof | ReadlineError::Interrupted) => return Ok(None),
            Err(error) => return Err(input_failure(error)),
        };
        let added = self.editor.add_history_entry(line.as_str());
        if let (Ok(true), Some(file)) = (added, self.history.clone()) {
            let written = self.editor.append_history(&file).map_err(input_failure);
            self.check_history(written);
        }
        Ok(Some(line))
    }

    /// A conversation goes on without a file for its history, and says so once.
    fn check_history(&mut self, outcome: io::Result<()>) {
        let (Err(error), Some(file)) = (outcome, &self.history) else {
            return;
        };
        eprintln!(
            "ambit: the history {} cannot be kept: {error}",
            file.display()
        );
        self.history = None;
    }
}

/// Makes the file where it is not there; nobody else may read what was typed.
fn prepare(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let mut options = OpenOptions::new();
    let options = options.create(true).append(true).mode(0o600);
    let file = options.open(file)?;
    file.set_permissions(Permissions::from_mode(0o600))
}

fn input_failure(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::prepare;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_history_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/ambit/chat-history");
        prepare(&file).unwrap();
        std::fs::write(&file, "mine").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        prepare(&file).unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }
}
