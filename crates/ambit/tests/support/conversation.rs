//! A whole conversation with `ambit chat`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// What the program prints to whom says these lines, and how it ends.
pub fn converse(chat: &mut Command, lines: &str) -> Output {
    let chat = chat.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut chat = chat.stderr(Stdio::piped()).spawn().unwrap();
    let mut input = chat.stdin.take().unwrap();
    // One that has ended reads no more.
    let _ = input.write_all(lines.as_bytes());
    drop(input);
    chat.wait_with_output().unwrap()
}
