//! The copy of what was said until an earlier turn had ended, with which a conversation of its own begins. The store notes with it
//! from where it comes: what is erased there later goes here too.

use crate::error::{Error, ErrorCode, Result};
use crate::public_id::response_id;
use ambit_storage::LiveAgent;
use ambit_storage::batch::{BatchCheck, BatchWrite};
use ambit_storage::copies;
use ambit_storage::storage::Message;

/// As many messages as are ever copied.
const MOST_COPIED: usize = 10_000;
/// And as many bytes of them.
const MOST_COPIED_BYTES: usize = 64 << 20;
/// Messages read in one go.
const PAGE: usize = 100;

/// The end of a turn, behind which a conversation goes on another way.
pub(super) struct ForkPoint<'a> {
    pub session: &'a LiveAgent,
    /// The row of its conversation.
    pub row: &'a str,
    pub turn: &'a str,
}

/// What a conversation begins with.
pub(super) struct HistoryCopy {
    messages: Vec<Message>,
    notes: Vec<BatchWrite>,
    /// Nothing of the messages was erased since they were read.
    checks: Vec<BatchCheck>,
}

impl HistoryCopy {
    /// Reads what the new conversation of this session is to begin with.
    pub async fn read(from: &ForkPoint<'_>, session: &LiveAgent) -> Result<Self> {
        let (space, driver) = session.context().place();
        let (source, kept_in) = from.session.context().place();
        let mut rows = vec![from.row.to_owned()];
        rows.extend(copies::source_rows(kept_in.as_ref(), &source).await?);
        let mut checks = Vec::with_capacity(rows.len());
        // Before the messages: what is erased behind this look has the commit of the copy refused.
        for row in &rows {
            let note = copies::erasure_note(driver.as_ref(), &space.tenant, row).await?;
            if note.is_running {
                return Err(changing());
            }
            checks.push(note.check);
        }
        let mut messages = from.view().await?;
        for message in &mut messages {
            copies::mark(message, from.row);
        }
        Ok(Self {
            messages,
            notes: copies::note_writes(&space, &rows)?,
            checks,
        })
    }

    /// Stages it for the first commit.
    pub async fn stage(self, session: &LiveAgent) -> Result<()> {
        for message in self.messages {
            session.history().add_message(message).await?;
        }
        session.context().stage_with_history(self.notes);
        for check in self.checks {
            session.context().check_with_history(check);
        }
        Ok(())
    }
}

/// Whether a conversation begins with a copy, which may be staged.
pub(super) async fn begins_with_copy(session: &LiveAgent) -> bool {
    let first = session.history().range(0, 1).await.unwrap_or_default();
    first.first().and_then(copies::origin).is_some()
}

impl ForkPoint<'_> {
    /// The view up to the last message of the turn, without what was erased.
    async fn view(&self) -> Result<Vec<Message>> {
        let history = self.session.history();
        let (mut view, mut read, mut bytes, mut end) = (Vec::new(), 0, 0, 0);
        let is_whole = loop {
            let page = history.range(read, PAGE).await?;
            if page.is_empty() {
                break true;
            }
            read += page.len() as u64;
            for message in page.into_iter().filter(|message| !message.is_erased()) {
                bytes += serde_json::to_vec(&message).map_or(0, |text| text.len());
                let is_of_turn = message.turn_id.as_deref() == Some(self.turn);
                view.push(message);
                if is_of_turn && view.len() <= MOST_COPIED && bytes <= MOST_COPIED_BYTES {
                    end = view.len();
                }
            }
            if view.len() > MOST_COPIED || bytes > MOST_COPIED_BYTES {
                break false;
            }
        };
        match end {
            0 if is_whole => Err(unknown(self.turn)),
            0 => Err(too_long()),
            end => {
                view.truncate(end);
                Ok(view)
            }
        }
    }
}

pub(super) fn unknown(turn: &str) -> Error {
    Error::not_found("response", &response_id(turn)).with_param("previous_response_id")
}

fn changing() -> Error {
    let message = "something is being erased of what the response goes on from; send the request again in a while";
    Error::new(ErrorCode::ChatBusy, message).with_param("previous_response_id")
}

/// The refusal of a copy of which something was erased before it was stored.
pub(super) fn changed() -> Error {
    let message = "what the response goes on from was changed meanwhile; send the request again";
    Error::new(ErrorCode::Conflict, message).with_param("previous_response_id")
}

fn too_long() -> Error {
    let message = format!(
        "more than {MOST_COPIED} messages or {MOST_COPIED_BYTES} bytes come before the end of this response, and no more can be copied; go on from the last response of the conversation"
    );
    Error {
        status: Some(413),
        ..Error::new(ErrorCode::LimitExceeded, message).with_param("previous_response_id")
    }
}
