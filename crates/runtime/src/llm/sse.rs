//! Server-sent events: bytes in, events out. Chunks may be cut anywhere, lines may end in `\n`, `\r\n` or `\r`.

use super::ModelFailure;

/// Bytes of one event. Pictures and long arguments come in one piece.
const EVENT: usize = 16 << 20;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; empty for the default.
    pub name: String,
    /// Its data, lines joined by `\n`.
    pub data: String,
}

/// Puts events together.
#[derive(Default)]
pub struct SseParser {
    line: Vec<u8>,
    /// The last byte was `\r`: a `\n` behind it belongs to it.
    is_after_return: bool,
    is_begun: bool,
    event: SseEvent,
    has_data: bool,
}

impl SseParser {
    /// Takes more bytes; gives the events that are whole by now.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, ModelFailure> {
        let mut events = Vec::new();
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let is_pair = std::mem::take(&mut self.is_after_return) && part == b"\n";
            if is_pair {
                continue;
            }
            let (text, end) = match part.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                _ => (part, None),
            };
            if self.line.len() + self.event.data.len() + text.len() > EVENT {
                return Err(ModelFailure::broken(format!(
                    "the provider sent an event of more than {EVENT} bytes"
                )));
            }
            self.line.extend_from_slice(text);
            if let Some(end) = end {
                self.is_after_return = end == b'\r';
                events.extend(self.end_line());
            }
        }
        Ok(events)
    }

    /// The event that was under way when the bytes ended: some servers leave out the last empty line.
    pub fn rest(&mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let mut line = text.as_ref();
        if !std::mem::replace(&mut self.is_begun, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::{EVENT, SseEvent, SseParser};

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent {
            name: name.to_owned(),
            data: data.to_owned(),
        }
    }

    const STREAM: &str = "\u{feff}data: one\n\n: a comment\nevent: e\rdata:two\rdata: lines\r\rid: 7\r\ndata: größer\r\n\r\nevent: nothing\n\ndata\n\ndata: last";

    fn expected() -> Vec<SseEvent> {
        vec![
            event("", "one"),
            event("e", "two\nlines"),
            event("", "größer"),
            event("", ""),
            event("", "last"),
        ]
    }

    #[test]
    fn chunks_may_be_cut_anywhere() {
        for size in 1..=STREAM.len() {
            let mut parser = SseParser::default();
            let chunks = STREAM.as_bytes().chunks(size);
            let mut events: Vec<SseEvent> = chunks
                .flat_map(|chunk| parser.push(chunk).unwrap())
                .collect();
            events.extend(parser.rest());
            assert_eq!(events, expected(), "in chunks of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused_and_not_kept() {
        let mut parser = SseParser::default();
        let chunk = vec![b'x'; EVENT / 4];
        let mut taken = 0;
        let failure = loop {
            match parser.push(&chunk) {
                Ok(_) => taken += 1,
                Err(failure) => break failure,
            }
        };
        assert_eq!(taken, 4);
        assert_eq!(
            failure.message,
            "the provider sent an event of more than 16777216 bytes"
        );
    }
}
