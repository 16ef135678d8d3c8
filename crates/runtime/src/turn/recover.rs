//! Turns that nobody runs any more: found by the note that each open turn leaves, and gone on with from their journal.

use super::nested_turn::NestedCallJournal;
use super::next::TurnResponse;
use super::open::TurnParts;
use super::replay::JournalReplay;
use super::turn_answers::AnswerRecord;
use super::usage::TurnUsage;
use super::{Turn, history};
use crate::error::{Error, ErrorCode, Result};
use crate::frame::MessageStatus;
use crate::hook::CreateResult;
use crate::journal::{self, ATTEMPTS, JournalStep, OpenTurn, TurnIds};
use crate::live_turn::LiveTurns;
use crate::outbox::Outbox;
use crate::request::TurnRequest;
use crate::runtime::RuntimeCore;
use crate::stream::{self, StreamWriter};
use crate::{chats, trace};
use ambit_storage::LiveAgent;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::backoff;
use ambit_storage::driver::{Driver, ValuePart, ValueScan};
use ambit_storage::lease::OnBusy;
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::Message;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Messages that a turn itself may have added behind the history it began with.
const OWN: usize = 200;
/// Notes read at a time.
const PAGE: usize = 200;
/// At most so many turns are taken up at once, where they do not end within their pause: a node that was too busy for so many
/// as it had would be so once more, and late with their leases again.
const AT_ONCE: usize = 64;
/// Until a turn that could not be taken up, or was left again, is tried again, first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The open turns of the conversation with this digest, or of all with an empty one.
pub(super) async fn open_turns(driver: &Arc<dyn Driver>, digest: &str) -> Result<Vec<OpenTurn>> {
    let pattern = match digest {
        "" => Pattern::all(),
        digest => Pattern::parse(&format!("{digest}/*")),
    };
    let (mut after, mut open) = (None, Vec::new());
    loop {
        let scan = ValueScan {
            pattern: pattern.clone(),
            after,
            limit: PAGE,
            part: ValuePart::Whole,
        };
        let page = driver.scan(&Space::turns(), &scan).await?;
        let Some((last, _)) = page.last() else {
            return Ok(open);
        };
        after = Some(last.clone());
        for (_, entry) in &page {
            open.push(entry.value.to()?);
        }
    }
}

/// Turns that were not finished although this node has tried: they could not be taken up, as when their agent is gone or does
/// not load, or were left again, as when their lease could not be renewed. They wait for longer each time.
#[derive(Default)]
pub(crate) struct RecoveryBackoff(HashMap<String, (u32, Instant)>);

impl RecoveryBackoff {
    fn is_early(&self, request_id: &str) -> bool {
        let entry = self.0.get(request_id);
        entry.is_some_and(|(_, next)| Instant::now() < *next)
    }

    /// How many run here that were taken up within their pause.
    fn fresh(&self, turns: &LiveTurns) -> usize {
        let is_fresh = |id: &&String| self.is_early(id) && turns.get(id).is_some();
        self.0.keys().filter(is_fresh).count()
    }

    /// The pause before the next try.
    fn note(&mut self, request_id: &str) -> Duration {
        let failures = self.0.get(request_id).map_or(1, |(before, _)| before + 1);
        let pause = backoff(FIRST_PAUSE, LONGEST_PAUSE, failures);
        let entry = (failures, Instant::now() + pause);
        self.0.insert(request_id.to_owned(), entry);
        pause
    }
}

/// Takes up open turns that nobody holds, as many as may be at once. The answer is how many there were.
pub(crate) async fn recover_all(
    core: &Arc<RuntimeCore>,
    failing: &mut RecoveryBackoff,
) -> Result<usize> {
    let (mut taken, mut seen) = (0, HashSet::new());
    let room = AT_ONCE.saturating_sub(failing.fresh(&core.turns));
    for driver in core.stores.drivers().values() {
        for open in open_turns(driver, "").await? {
            let id = &open.request_id;
            seen.insert(id.clone());
            if taken == room || core.turns.get(id).is_some() || failing.is_early(id) {
                continue;
            }
            match take_up(core, driver, &open).await {
                Ok(true) => {
                    // For the case that it is left once more; one that ends is not seen again.
                    failing.note(id);
                    taken += 1;
                }
                Ok(false) => {}
                Err(error) if error.code == ErrorCode::Unavailable => return Err(error),
                Err(error) => {
                    let pause = failing.note(id);
                    tracing::warn!(turn.id = id, %error, ?pause, "an open turn could not be taken up; it is tried again");
                }
            }
        }
    }
    failing.0.retain(|id, _| seen.contains(id));
    Ok(taken)
}

/// Goes on with a turn; false where somebody holds its conversation, or it has ended meanwhile.
async fn take_up(
    core: &Arc<RuntimeCore>,
    driver: &Arc<dyn Driver>,
    open: &OpenTurn,
) -> Result<bool> {
    // A live lease, and a turn that has ended since its note was read, are seen without a write.
    let lease = driver.get(&open.space.lease(), ValuePart::Nothing).await?;
    if lease.is_some() || driver.get(&open.key(), ValuePart::Nothing).await?.is_none() {
        return Ok(false);
    }
    let Some(left) = OrphanedTurn::read(driver, open).await? else {
        return Ok(false);
    };
    let session = left.session(core).await?;
    let context = session.context().clone();
    match context.begin_turn(OnBusy::Reject).await {
        Err(ambit_storage::Error::Busy { .. }) => return Ok(false),
        taken => taken?,
    }
    let taken = go_on(core, driver, (open, session)).await;
    if !matches!(taken, Ok(true)) {
        context.discard();
        context.end_turn().await?;
    }
    taken
}

/// Goes on with a turn whose conversation is held; false where it has ended meanwhile.
async fn go_on(
    core: &Arc<RuntimeCore>,
    driver: &Arc<dyn Driver>,
    (open, session): (&OpenTurn, LiveAgent),
) -> Result<bool> {
    if driver.get(&open.key(), ValuePart::Nothing).await?.is_none() {
        return Ok(false);
    }
    // Whoever had the conversation until now may have gone on since the journal was read first.
    let Some(left) = OrphanedTurn::read(driver, open).await? else {
        return Ok(false);
    };
    let is_hopeless = journal::idle_attempts(&left.steps) >= ATTEMPTS;
    let mut turn = left.turn(core, session).await?;
    let note = turn.request_note()?;
    turn.session.context().stage_with_history([note]);
    turn.record(JournalStep::Attempt).await?;
    core.turns
        .insert(&turn.ids.request_id, turn.live_turn.clone());
    tracing::info!(
        turn.id = turn.ids.request_id,
        "an interrupted turn is taken up again"
    );
    match is_hopeless {
        // Why it was left, if it was, is logged there.
        true => core.spawn(async move { drop(turn.give_up().await) }),
        false => core.spawn(turn.run()),
    }
    Ok(true)
}

/// Closes what an earlier turn of a conversation has left open, now that its lease is ours. The conversation stays held.
pub(super) async fn settle_orphans(core: &Arc<RuntimeCore>, session: &LiveAgent) -> Result<()> {
    let (space, driver) = session.context().place();
    for open in open_turns(&driver, &space.digest()).await? {
        if let Some(left) = OrphanedTurn::read(&driver, &open).await? {
            let mut turn = left.turn(core, session.clone()).await?;
            turn.keeps_conversation = true;
            turn.settle().await?;
        }
    }
    Ok(())
}

/// A turn that nobody runs.
struct OrphanedTurn {
    request: Box<TurnRequest>,
    ids: TurnIds,
    started_at: i64,
    instructions: Option<Vec<Value>>,
    steps: Vec<JournalStep>,
}

impl OrphanedTurn {
    /// Its journal; `None` where it was never begun, which is put straight.
    async fn read(driver: &Arc<dyn Driver>, open: &OpenTurn) -> Result<Option<Self>> {
        let names = journal::TurnKeys::new(open.space.clone(), &open.request_id);
        let steps = journal::read(driver, &names.journal()).await?;
        let Some(JournalStep::Begin {
            request,
            ids,
            started_at,
            instructions,
        }) = steps.first().cloned()
        else {
            let forget = BatchWrite::Apply {
                key: open.key(),
                op: Operation::Del,
                life: None,
            };
            driver.commit(Batch::of([forget])).await?;
            return Ok(None);
        };
        Ok(Some(Self {
            request,
            ids,
            started_at,
            instructions,
            steps,
        }))
    }

    /// Its conversation, opened as its caller did.
    async fn session(&self, core: &Arc<RuntimeCore>) -> Result<LiveAgent> {
        let request = &self.request;
        let ambit = core.loaded().acting_as(&request.authorized.caller());
        chats::open(
            &ambit,
            &request.authorized,
            &request.agent,
            request.chat.as_deref(),
        )
        .await
    }

    /// The turn as its journal and its stream say it was; what it had left open on the stream is closed.
    async fn turn(self, core: &Arc<RuntimeCore>, session: LiveAgent) -> Result<Turn> {
        let loaded = core.loaded();
        let (agent, hooks) = loaded.agent(&self.request.agent)?;
        let limits = *hooks.limits();
        let parts = TurnParts {
            core: core.clone(),
            loaded: loaded.clone(),
            limits,
            session,
            request: *self.request,
            ids: self.ids,
            started_at: self.started_at,
        };
        let names = parts.names();
        let events = StreamWriter::resume(
            parts.place(names.events()),
            stream::StreamOptions::default(),
        )
        .await?;
        let traced = parts.place(names.trace());
        let traced = events
            .log
            .resume_companion(traced, stream::StreamOptions::companion())
            .await?;
        let clock = core.stores.options().clock.clone();
        let log = events.log;
        let outbox = Outbox::restore(log.clone(), limits.outbox, clock, &events.entries)?;
        outbox.close_all(MessageStatus::Partial, false);
        let before = trace::fold_texts(traced.entries.iter().map(|entry| &*entry.text));
        let trace = parts.trace(&traced.log, &before);
        let calls = parts.place(names.calls());
        let calls = NestedCallJournal::read(calls, core.stores.options().limits.value).await?;
        let spent = TurnUsage::new(parts.session.clone(), names, Some(log));
        let inside = (spent, Some(Arc::new(calls)));
        let mut turn = parts.turn(outbox, (trace, traced.log), inside)?;
        let size = history::size(&loaded, &agent)?;
        let mut stored = turn.session.history().tail(size + OWN).await?;
        let is_own = |message: &&Message| message.turn_id.as_deref() == Some(&turn.ids.request_id);
        turn.answers.stored = stored.iter().filter(is_own).flat_map(shown_ids).collect();
        turn.answers.calls_shown = stored.iter().filter(is_own).flat_map(shown_calls).collect();
        // What others have appended since the turn began is taken in as such.
        let first = stored.iter().position(|message| is_own(&message));
        stored.truncate(first.unwrap_or(stored.len()));
        turn.last_seen_message = stored.last().map(|message| message.id.clone());
        turn.history = stored;
        turn.settings.instructions = self.instructions;
        turn.replay = JournalReplay::of(self.steps);
        turn.inbox = turn.replay.inbox();
        let is_stored = |spoken: &AnswerRecord| {
            let mut shown = spoken.shown.iter();
            shown.any(|id| turn.answers.stored.contains(id))
        };
        let unstored = turn.replay.unstored();
        turn.answers.answers = unstored.filter(|spoken| !is_stored(spoken)).collect();
        turn.answers.calls = turn.replay.answers().count();
        for used in turn.replay.used() {
            turn.usage.take_up(used)?;
        }
        Ok(turn)
    }
}

impl Turn {
    /// Ends a turn that somebody waits behind: with its answer, where all of it was shown before the turn was left, else as
    /// failed. What comes behind an answer, as `Next` does, is not begun any more.
    async fn settle(mut self) -> Result<()> {
        let Some((leg, agent, answer)) = self.replay.last_answer() else {
            return self.give_up().await;
        };
        let (agent, answer) = (agent.to_owned(), answer.clone());
        self.answers.finish_reason.clone_from(&answer.finish_reason);
        let created = self.replay.created(leg).flatten();
        let response = TurnResponse {
            create: created.map_or(Value::Null, CreateResult::shown),
            completion: self.completion(&answer),
            tools: (0..=leg).flat_map(|at| self.replay.results(at)).collect(),
            assistant_id: agent.clone(),
            ..TurnResponse::default()
        };
        let hooks = self.loaded.agent(&agent).map(|(_, hooks)| hooks);
        if hooks.is_ok_and(|hooks| hooks.has("Next")) {
            self.warn("the server stopped behind the answer, which stands without Next");
        }
        if self.skip_of(leg).history {
            self.leave_unstored();
        }
        super::close::close(self, Ok(Ok(response))).await
    }

    /// Closes a turn that cannot be gone on with.
    async fn give_up(self) -> Result<()> {
        let message = "the server stopped during this turn; send the request again";
        super::close::close(self, Ok(Err(Error::new(ErrorCode::Internal, message)))).await
    }
}

/// The calls that a stored message asks for, each with the message in which it was shown.
fn shown_calls(message: &Message) -> Vec<(String, String)> {
    let shown = message.extras.get("shown");
    let shown = shown.and_then(serde_json::Value::as_array);
    let text = |view: &serde_json::Value, name: &str| view.get(name)?.as_str().map(str::to_owned);
    let calls = shown
        .into_iter()
        .flatten()
        .filter_map(|view| Some((text(view, "call")?, text(view, "message_id")?)));
    calls.collect()
}

/// The shown messages that a stored one stands for.
fn shown_ids(message: &Message) -> Vec<String> {
    let own = message.extras.get("message_id");
    let group = message
        .extras
        .get("shown")
        .and_then(|shown| shown.as_array());
    let group = group
        .into_iter()
        .flatten()
        .filter_map(|view| view.get("message_id"));
    own.into_iter()
        .chain(group)
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_cannot_be_taken_up_waits_longer_each_time() {
        let mut failing = RecoveryBackoff::default();
        assert!(!failing.is_early("a"));
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let pause = failing.note("a");
            assert_eq!(pause, Duration::from_secs(seconds));
            assert!(failing.is_early("a") && !failing.is_early("b"));
            tokio::time::advance(pause).await;
            assert!(!failing.is_early("a"));
        }
    }
}
