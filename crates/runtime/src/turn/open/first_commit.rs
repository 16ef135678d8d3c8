//! The first commit of a turn: what was asked, and that it is being answered.

use super::supersede;
use crate::chats;
use crate::error::Result;
use crate::journal::{self, JournalStep};
use crate::turn::Turn;
use crate::turn::request_context::RequestContext;
use ambit_storage::batch::BatchWrite;
use ambit_storage::clock::to_millis;
use ambit_storage::json::Json;
use ambit_storage::operation::Operation;

impl Turn {
    /// Input, journal, the note that the turn is open and the start of its stream: all or nothing.
    pub(super) async fn first_commit(&mut self) -> Result<()> {
        let begin = JournalStep::Begin {
            request: Box::new(self.context.request.clone()),
            ids: Box::new(self.context.ids.clone()),
            started_at: self.context.started_at,
            instructions: self.context.settings.instructions.clone(),
        };
        let session = self.conversation.session.context();
        if session.is_temporary() && self.context.request.is_stored() {
            let tenant = self.context.request.authorized.tenant();
            self.context.core.temporary.note(tenant);
        }
        let mut writes = self.first_writes(&begin)?;
        let mut pending = self.output.stream.take_waiting().await;
        writes.append(&mut pending.writes);
        session.stage_with_history(writes);
        let superseded = self.conversation.superseded.take();
        let is_superseding = superseded.is_some();
        if let Some(superseded) = superseded {
            superseded.stage();
        }
        let is_new = session.row_id().is_none();
        // Before the note is there: recovery must not find a turn of this node that it takes for nobody's.
        let RequestContext { core, live, .. } = &self.context;
        core.turns.insert(self.context.id(), live.clone());
        if let Err(error) = session.save().await {
            pending.refused();
            core.turns.remove(self.context.id(), live);
            live.end();
            return Err(match error {
                ambit_storage::Error::Conflict { .. } if is_superseding => supersede::changed(),
                error => error.into(),
            });
        }
        pending.stored();
        if is_new {
            // What the conversation's first save made is known only now: the note goes again with the next step.
            let note = self.context.request_note(&self.conversation)?;
            session.stage_with_history([note]);
        }
        self.journal.replay.add(begin);
        Ok(())
    }

    /// The writes of the first commit beside the messages and the stream.
    fn first_writes(&self, begin: &JournalStep) -> Result<Vec<BatchWrite>> {
        let Self {
            context,
            conversation,
            ..
        } = self;
        let open = context.open_note(conversation);
        let set = |key, value: Json| BatchWrite::Apply {
            key,
            op: Operation::Set(value.into()),
            life: None,
        };
        let mut writes = vec![
            set(open.key(), Json::of(&open)?),
            set(context.keys.info(), Json::of(&*context.live.info())?),
            journal::write(&context.keys.journal(), 0, begin)?,
            context.request_note(conversation)?,
        ];
        let request = &context.request;
        if let Some(record) = &request.protocol_record {
            writes.push(BatchWrite::Apply {
                key: context.keys.protocol_record(),
                op: Operation::Set(record.clone().into()),
                life: Some(to_millis(context.retention().known())),
            });
        }
        if conversation.history.is_empty() && !request.skip.history {
            let text = chats::opening(&request.messages);
            if !text.trim().is_empty() {
                writes.push(chats::first_title(&conversation.space(), &text)?);
            }
        }
        Ok(writes)
    }
}
