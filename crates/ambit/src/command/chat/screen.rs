//! What a conversation looks like: answers on the output, everything else beside it.

use super::citations::CitationLinks;
use super::is_terminal;
use crate::command_error::Result;
use crate::output::{escape_control, one_line};
use serde_json::Value;
use std::io::{Stdout, Write, stdout};

const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// The terminal, or whatever stands in its place.
pub struct ChatScreen {
    out: Stdout,
    is_terminal: bool,
    is_dim: bool,
    links: CitationLinks,
    /// What was shown of the answer.
    answer: String,
}

impl ChatScreen {
    pub fn new() -> Self {
        Self {
            out: stdout(),
            is_terminal: is_terminal(),
            is_dim: false,
            links: CitationLinks::default(),
            answer: String::new(),
        }
    }

    /// Shows a chunk; the message of an error if it is one.
    pub fn chunk(&mut self, chunk: &str) -> Result<Option<String>> {
        let chunk: Value = serde_json::from_str(chunk).unwrap_or_default();
        if let Some(error) = chunk.get("error") {
            let message = error["message"].as_str().unwrap_or("the turn failed");
            return Ok(Some(message.to_owned()));
        }
        let delta = &chunk["choices"][0]["delta"];
        if let Some(text) = delta["reasoning_content"].as_str() {
            self.reasoning(text)?;
        }
        if let Some(text) = delta["content"].as_str() {
            let text = self.links.push(text);
            self.content(&text)?;
        }
        self.out.flush()?;
        Ok(None)
    }

    /// Thoughts and progress are no part of the answer: who pipes it elsewhere does not get them.
    fn reasoning(&mut self, text: &str) -> Result<()> {
        if !self.is_terminal {
            return Ok(());
        }
        if !self.is_dim {
            write!(self.out, "{DIM}")?;
            self.is_dim = true;
        }
        write!(self.out, "{}", escape_control(text))?;
        Ok(())
    }

    fn content(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.is_dim {
            writeln!(self.out, "{PLAIN}")?;
            self.is_dim = false;
        }
        self.answer.push_str(text);
        write!(self.out, "{}", escape_control(text))?;
        Ok(())
    }

    /// Ends the answer, and returns what it says.
    pub fn end_answer(&mut self) -> Result<String> {
        let rest = self.links.end();
        self.content(&rest)?;
        if std::mem::take(&mut self.is_dim) {
            write!(self.out, "{PLAIN}")?;
        }
        writeln!(self.out)?;
        Ok(std::mem::take(&mut self.answer))
    }

    /// Lists what the answer cites.
    pub fn references(&mut self, lines: &[String]) -> Result<()> {
        if !lines.is_empty() {
            writeln!(self.out)?;
        }
        for line in lines {
            writeln!(self.out, "{}", one_line(line))?;
        }
        self.out.flush()?;
        Ok(())
    }

    pub fn failure(&mut self, message: &str) -> Result<()> {
        self.out.flush()?;
        eprintln!("ambit: {}", escape_control(message));
        Ok(())
    }

    /// Says how to go on another time.
    pub fn end(&mut self, chat: Option<&str>) -> Result<()> {
        if let Some(chat) = chat.filter(|_| self.is_terminal) {
            writeln!(self.out, "\ngo on with --chat {}", escape_control(chat))?;
        }
        Ok(())
    }
}
