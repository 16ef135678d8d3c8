//! The events of a turn's stream that clients are told of.

/// An event of a turn's stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamEventRow {
    /// Its name, `props.event` of its frame.
    pub name: &'static str,
    /// What it says to people, `props.message`.
    pub message: &'static str,
    /// When it is sent.
    pub about: &'static str,
}

const fn row(name: &'static str, message: &'static str, about: &'static str) -> StreamEventRow {
    StreamEventRow {
        name,
        message,
        about,
    }
}

/// All of them. Scripts may send further ones by hand.
pub const STREAM_EVENTS: &[StreamEventRow] = &[
    row(
        "stream_start",
        "Stream started",
        "The turn begins: the first entry of every stream.",
    ),
    row(
        "stream_end",
        "Stream completed",
        "The turn has ended: the last entry, with its status and what was spent.",
    ),
    row(
        "message_start",
        "Message started",
        "A message begins, or a change of one that had ended.",
    ),
    row(
        "message_end",
        "Message completed",
        "A message ends, or a change of one that had ended.",
    ),
    row(
        "block_start",
        "Block started",
        "A block of messages begins.",
    ),
    row("block_end", "Block ended", "A block of messages ends."),
    row(
        "thread_start",
        "Thread started",
        "A thread of messages begins.",
    ),
    row("thread_end", "Thread ended", "A thread of messages ends."),
    row("step_start", "Step started", "A model is asked."),
    row("step_end", "Step ended", "A model has answered, or failed."),
    row(
        "references",
        "References found",
        "Searches have found what the answer may cite.",
    ),
    row(
        "state",
        "State changed",
        "The state that clients share, as a whole or what has changed of it.",
    ),
    row(
        "interrupt",
        "Interrupt received",
        "Messages have come in meanwhile.",
    ),
];
