//! A turn that nobody runs: read from its journal and its stream, gone on with or closed.

use crate::chat::ChatMessage;
use crate::error::{Error, ErrorCode, Result};
use crate::frame::MessageStatus;
use crate::inbox::InboxPosition;
use crate::journal::{self, ATTEMPTS, JournalEntry, JournalStep, OpenTurn, TurnIds, TurnKeys};
use crate::llm::TokenUsage;
use crate::outbox::Outbox;
use crate::request::TurnRequest;
use crate::runtime_core::RuntimeCore;
use crate::stream::{StreamOptions, StreamWriter};
use crate::trace::{ModelFacts, NodeOptions, StepFacts, StoredCalls};
use crate::turn::answers::{AnswerRecord, call_messages, message_ids};
use crate::turn::conversation::history_size;
use crate::turn::nested_turn::NestedCallJournal;
use crate::turn::next::TurnResponse;
use crate::turn::output::TurnOutput;
use crate::turn::shared_state::SharedState;
use crate::turn::turn_journal::{StepLog, TurnJournal};
use crate::turn::turn_parts::TurnParts;
use crate::turn::usage::TurnUsage;
use crate::turn::{Turn, TurnEnd};
use crate::{chats, trace};
use ambit_storage::LiveAgent;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::storage::Message;
use serde_json::Value;
use std::sync::Arc;

/// Messages that a turn itself may have added behind the history it began with.
const OWN: usize = 200;

/// Whether a journal that could not be read is not even JSON.
async fn is_damaged(driver: &Arc<dyn Driver>, keys: &TurnKeys, error: &Error) -> bool {
    let is_corrupt = |error: &Error| error.code == ErrorCode::Corrupt;
    if !is_corrupt(error) {
        return false;
    }
    let read = journal::read::<Value>(driver.as_ref(), &keys.journal()).await;
    read.is_err_and(|error| is_corrupt(&error))
}

/// A turn that nobody runs.
pub(super) struct OrphanedTurn {
    request: Box<TurnRequest>,
    ids: TurnIds,
    started_at: i64,
    instructions: Option<Vec<ChatMessage>>,
    entries: Vec<JournalEntry>,
}

impl OrphanedTurn {
    /// Reads its journal; `None` where there is none, and nobody can go on: what leads to the turn is removed.
    pub async fn read(driver: &Arc<dyn Driver>, open: &OpenTurn) -> Result<Option<Self>> {
        let keys = TurnKeys::new(open.space.clone(), &open.request_id);
        let entries: Vec<JournalEntry> = match journal::read(driver.as_ref(), &keys.journal()).await
        {
            // Nobody can go on with it, and it must not keep its conversation for ever. What is of a newer form is
            // for another node.
            Err(error) if is_damaged(driver, &keys, &error).await => {
                tracing::error!(
                    request.id = open.request_id,
                    "a journal cannot be read: {error}"
                );
                Vec::new()
            }
            read => read?,
        };
        let Some(JournalStep::Begin {
            request,
            ids,
            started_at,
            instructions,
        }) = entries.first().map(|entry| entry.step.clone())
        else {
            let request = Space::requests(&open.tenant).key(open.request_id.as_str());
            let noted = driver.get(&request, ValuePart::Nothing).await?;
            // The note of a turn that has ended goes by itself.
            let is_open = noted.is_some_and(|noted| noted.expires_at.is_none());
            let notes = [open.key()].into_iter().chain(is_open.then_some(request));
            let forget = notes.map(|key| BatchWrite::apply(key, Operation::Del, None));
            driver.commit(Batch::of(forget)).await?;
            return Ok(None);
        };
        Ok(Some(Self {
            request,
            ids: *ids,
            started_at,
            instructions,
            entries,
        }))
    }

    /// Whether it was taken up too often without getting any further.
    pub fn is_hopeless(&self) -> bool {
        journal::idle_attempts(&self.entries) >= ATTEMPTS
    }

    /// Its conversation, opened as its caller did.
    pub async fn session(&self, core: &Arc<RuntimeCore>) -> Result<LiveAgent> {
        let request = &self.request;
        let ambit = core.loaded().acting_as(&request.authorized.caller());
        chats::open_for(&ambit, request, &request.agent).await
    }

    /// The turn as its journal and its stream say it was; what it had left open on the stream is closed.
    pub async fn turn(self, core: &Arc<RuntimeCore>, session: LiveAgent) -> Result<Turn> {
        let loaded = core.loaded();
        let (agent, hooks) = loaded.agent(&self.request.agent)?;
        let size = history_size(&loaded, &agent)?;
        let parts = TurnParts {
            core: core.clone(),
            limits: *hooks.limits(),
            loaded,
            session,
            request: *self.request,
            ids: self.ids,
            started_at: self.started_at,
        };
        let (mut turn, traced) = resumed_turn(parts).await?;
        turn.context.settings.instructions = self.instructions;
        turn.journal.resume(self.entries);
        turn.restore_conversation(size).await?;
        turn.restore_answers()?;
        let (_, driver) = turn.conversation.session.context().place();
        let calls = StoredCalls::read(driver.as_ref(), &turn.context.keys.trace()).await?;
        turn.journal.usage.skip_calls(calls.count);
        for content in &calls.contents {
            turn.output.trace.takes_content(content);
        }
        turn.trace_lost_calls(&traced);
        Ok(turn)
    }
}

/// A turn over what is stored of its logs, and what its models have used as its trace has it.
async fn resumed_turn(parts: TurnParts) -> Result<(Turn, TokenUsage)> {
    let options = parts.core.stores.options().clone();
    parts.session.context().set_turn_id(&parts.ids.request_id);
    let keys = parts.keys();
    let events = parts.target(keys.events());
    let events = StreamWriter::resume(events, StreamOptions::default()).await?;
    let stream = events.log;
    let trace = parts.target(keys.trace());
    let trace = stream
        .resume_companion(trace, StreamOptions::companion())
        .await?;
    let outbox = Outbox::restore(
        stream.clone(),
        parts.limits.outbox,
        options.clock,
        &events.entries,
    )?;
    outbox.close_all(MessageStatus::Partial, false);
    let before = trace::fold_texts(trace.entries.iter().map(|entry| &*entry.text));
    let output = TurnOutput {
        shared_state: SharedState::of(&parts, &outbox)?,
        ..TurnOutput::new(outbox, parts.trace(&trace.log, &before), trace.log)
    };
    let calls = parts.target(keys.calls());
    let calls = NestedCallJournal::read(calls, options.limits.value).await?;
    let usage = TurnUsage::new(&parts, Some(stream.clone()), None);
    let log = StepLog::Turn {
        key: keys.journal(),
        session: parts.session.clone(),
        stream,
    };
    let journal = TurnJournal::new(log, usage, Some(Arc::new(calls)));
    Ok((parts.build(journal, output)?, before.usage()))
}

impl Turn {
    /// Reads what was stored before the turn, and what it has stored itself.
    async fn restore_conversation(&mut self, size: usize) -> Result<()> {
        let history = self.conversation.session.history();
        let mut end = history.end(size + OWN).await?;
        let id = self.context.id();
        let is_own = |message: &&Message| message.turn_id.as_deref() == Some(id);
        let own = || end.messages.iter().filter(is_own);
        let answers = &mut self.output.answers;
        answers.stored = own().flat_map(message_ids).collect();
        answers.call_messages = own().flat_map(call_messages).collect();
        // What others have appended since the turn began is taken in as such.
        let first = end.messages.iter().position(|message| is_own(&message));
        end.messages.truncate(first.unwrap_or(end.messages.len()));
        self.conversation.set_history(end);
        let taken = self.journal.replay.inbox_position();
        self.conversation.inbox_position = InboxPosition::after(taken);
        Ok(())
    }

    /// What its models have said and used, as the journal has it.
    fn restore_answers(&mut self) -> Result<()> {
        let replay = &self.journal.replay;
        let answers = &mut self.output.answers;
        let is_stored = |record: &AnswerRecord| {
            let mut shown = record.shown.iter();
            shown.any(|id| answers.stored.contains(id))
        };
        let unstored = replay.unstored().filter(|record| !is_stored(record));
        answers.unstored = unstored.collect();
        answers.calls = replay.answers().count();
        for used in replay.used() {
            self.journal.usage.resume(used)?;
        }
        Ok(())
    }

    /// Adds a node for what calls of models have used that are in the journal and were lost with the last steps of the trace, so
    /// that the tokens of a trace are those that are booked.
    fn trace_lost_calls(&self, traced: &TokenUsage) {
        let lost = self.journal.usage.tokens().without(traced);
        if lost == TokenUsage::default() {
            return;
        }
        let records = self.journal.replay.used();
        let record = records.filter_map(|used| used.record.as_ref()).last();
        let provider = record.and_then(|record| record.provider_name.clone());
        let model = record.and_then(|record| record.model_name.clone());
        let facts = StepFacts::Model(ModelFacts {
            provider: provider.unwrap_or_default(),
            model: model.unwrap_or_default(),
            usage: Some(lost),
            ..ModelFacts::default()
        });
        let node = NodeOptions::new("llm", "before the server stopped");
        self.output.root.add(node.with_facts(facts)).complete(None);
    }

    /// Ends a turn that somebody waits behind: with its answer, where all of it was shown before the turn was left, else as
    /// failed. What comes behind an answer, as `Next` does, is not begun any more.
    pub(super) async fn settle(mut self) -> Result<()> {
        let Some((run, record)) = self.journal.replay.last_answer() else {
            return self.give_up().await;
        };
        let AnswerRecord { answer, agent, .. } = record;
        let finish_reason = &mut self.output.answers.finish_reason;
        finish_reason.clone_from(&answer.finish_reason);
        let replay = &self.journal.replay;
        let tokens = self.journal.usage.tokens();
        let response = TurnResponse {
            create: replay.created(run).flatten().cloned(),
            completion: Some(self.output.completion(&answer, &tokens)),
            tools: (0..=run).flat_map(|run| replay.results(run)).collect(),
            assistant_id: agent.clone(),
            ..TurnResponse::default()
        };
        let hooks = self.context.loaded.agent(&agent).map(|(_, hooks)| hooks);
        if hooks.is_ok_and(|hooks| hooks.has("Next")) {
            self.output
                .warn("the server stopped behind the answer, which stands without Next");
        }
        if self.skip_options(run).history {
            self.output.omit_unstored();
        }
        self.close(TurnEnd::Answered(Box::new(response))).await
    }

    /// Closes a turn that cannot be gone on with.
    pub(super) async fn give_up(self) -> Result<()> {
        let message = "the server stopped during this turn; send the request again";
        let error = Error::new(ErrorCode::Internal, message);
        self.close(TurnEnd::Failed(error)).await
    }
}
