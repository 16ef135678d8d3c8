//! The first commit of a turn: what was asked, and that it is being answered.

use super::history_copy::{self, begins_with_copy};
use super::supersede;
use crate::chats;
use crate::error::{Error, ErrorCode, Result, StorageError};
use crate::journal::{self, JournalStep};
use crate::request::TurnRequest;
use crate::turn::Turn;
use crate::turn::request_context::RequestContext;
use ambit_storage::LiveAgent;
use ambit_storage::batch::{BatchCheck, BatchWrite};
use ambit_storage::clock::to_millis;
use ambit_storage::driver::ValuePart;
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
        writes.extend(self.reserve_id()?);
        let mut pending = self.output.stream.take_waiting().await;
        writes.append(&mut pending.writes);
        session.stage_with_history(writes);
        let superseded = self.conversation.superseded.take();
        let is_superseding = superseded.is_some();
        if let Some(superseded) = superseded {
            superseded.stage();
        }
        let is_reserving = self.context.request.reserves_id_for.is_some();
        let is_new = session.row_id().is_none();
        // Before the note is there: recovery must not find a turn of this node that it takes for nobody's.
        let RequestContext { core, live, .. } = &self.context;
        if !core.turns.insert_new(self.context.id(), live.clone()) {
            pending.refused();
            live.end();
            return Err(begun_before());
        }
        if let Err(error) = session.save().await {
            pending.refused();
            core.turns.remove(self.context.id(), live);
            live.end();
            let is_conflict = matches!(error, StorageError::Conflict { .. });
            let is_copying =
                is_conflict && is_new && begins_with_copy(&self.conversation.session).await;
            return Err(match error {
                _ if is_conflict && is_superseding => supersede::changed(),
                _ if is_copying => history_copy::changed(),
                _ if is_conflict && is_reserving => begun_before(),
                error => error.into(),
            });
        }
        pending.stored();
        if is_new {
            // What the conversation's first save made is known only now: the note goes again with the next step.
            let note = self.context.request_note(&self.conversation, None)?;
            session.stage_with_history([note]);
        }
        self.journal.replay.add(begin);
        Ok(())
    }

    /// Has the first commit refused where a turn of this id has begun before, if the request wants that.
    fn reserve_id(&self) -> Result<Option<BatchWrite>> {
        let request = &self.context.request;
        let Some(life) = request.reserves_id_for else {
            return Ok(None);
        };
        let key = journal::begun_key(request.authorized.tenant(), self.context.id());
        let session = self.conversation.session.context();
        session.check_with_history(BatchCheck::version(key.clone(), None));
        let set = Operation::Set(Json::of(&true)?.into());
        Ok(Some(BatchWrite::apply(key, set, Some(to_millis(life)))))
    }

    /// The writes of the first commit beside the messages and the stream.
    fn first_writes(&self, begin: &JournalStep) -> Result<Vec<BatchWrite>> {
        let Self {
            context,
            conversation,
            ..
        } = self;
        let info = Operation::Set(Json::of(&*context.live.info())?.into());
        let mut writes = vec![
            context.open_note(conversation).write()?,
            BatchWrite::apply(context.keys.info(), info, None),
            journal::write(&context.keys.journal(), 0, begin)?,
            context.request_note(conversation, None)?,
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

/// Refuses what the first commit would refuse, before the request waits for its own turn, ends it or takes it for nobody's.
pub(super) async fn refuse_begun(session: &LiveAgent, request: &TurnRequest) -> Result<()> {
    let (Some(id), Some(_)) = (&request.id, request.reserves_id_for) else {
        return Ok(());
    };
    let (_, driver) = session.context().place();
    let key = journal::begun_key(request.authorized.tenant(), id);
    match driver.get(&key, ValuePart::Nothing).await? {
        Some(_) => Err(begun_before()),
        None => Ok(()),
    }
}

/// The refusal of a second turn of one id.
fn begun_before() -> Error {
    let message = "the turn of this request has begun before, and is not begun again; read what came of it, or send the request anew";
    Error::new(ErrorCode::Conflict, message)
}
