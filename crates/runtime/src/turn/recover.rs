//! Turns that nobody runs any more: found by the note that each open turn leaves, and gone on with from their journal.

use super::replay::Replay;
use super::{Turn, begin};
use crate::chats;
use crate::error::{Code, Error, Result};
use crate::journal::{self, ATTEMPTS, Open, Step};
use crate::runtime::Core;
use ambit_storage::Context;
use ambit_storage::batch::{Batch, Write};
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, Part, Scan};
use ambit_storage::lease::OnBusy;
use ambit_storage::op::Op;
use ambit_storage::pattern::Pattern;
use std::sync::Arc;

/// Notes read at a time.
const PAGE: usize = 200;

/// The open turns of the conversation with this digest, or of all with an empty one.
pub(super) async fn open_turns(driver: &Arc<dyn Driver>, digest: &str) -> Result<Vec<Open>> {
    let pattern = match digest {
        "" => Pattern::all(),
        digest => Pattern::parse(&format!("{digest}/*")),
    };
    let (mut after, mut open) = (None, Vec::new());
    loop {
        let scan = Scan { pattern: pattern.clone(), after, limit: PAGE, part: Part::Whole };
        let page = driver.scan(&Space::turns(), &scan).await?;
        let Some((last, _)) = page.last() else {
            return Ok(open);
        };
        after = Some(last.clone());
        for (_, entry) in &page {
            open.push(entry.value.json().to()?);
        }
    }
}

/// Takes up every open turn that nobody holds. The answer is how many there were.
pub(crate) async fn recover_all(core: &Arc<Core>) -> Result<usize> {
    let mut taken = 0;
    for driver in core.stores.drivers().values() {
        for open in open_turns(driver, "").await? {
            if core.turns.get(&open.request_id).is_some() {
                continue;
            }
            match take_up(core, driver, &open).await {
                Ok(true) => taken += 1,
                Ok(false) => {}
                Err(error) => tracing::warn!(turn.id = open.request_id, %error, "an open turn could not be taken up"),
            }
        }
    }
    Ok(taken)
}

/// Goes on with a turn; false where somebody holds its conversation, or it has ended meanwhile.
async fn take_up(core: &Arc<Core>, driver: &Arc<dyn Driver>, open: &Open) -> Result<bool> {
    // A live lease is seen without trying to take it.
    if driver.get(&open.space.lease(), Part::Nothing).await?.is_some() {
        return Ok(false);
    }
    let loaded = core.loaded();
    let names = journal::Names::new(open.space.clone(), &open.request_id);
    let steps = journal::read(driver, &names.journal()).await?;
    let Some(Step::Begin { request, .. }) = steps.first() else {
        driver.commit(forget(open)).await?;
        return Ok(false);
    };
    let ambit = loaded.acting_as(&request.authorized.caller());
    let session = chats::reopen(&ambit, &open.agent, &open.base).await?;
    match session.context().begin_turn(OnBusy::Reject).await {
        Err(ambit_storage::Error::Busy { .. }) => return Ok(false),
        taken => taken?,
    }
    if driver.get(&open.key(), Part::Nothing).await?.is_none() {
        session.context().end_turn().await?;
        return Ok(false);
    }
    let mut turn = Turn::resume(core, session, steps).await?;
    let is_hopeless = journal::idle_attempts(turn.replay.steps()) >= ATTEMPTS;
    turn.record(Step::Attempt).await?;
    core.turns.insert(&turn.ids.request_id, turn.live.clone());
    tracing::info!(turn.id = turn.ids.request_id, "an interrupted turn is taken up again");
    let work = async move {
        if is_hopeless {
            let message = "the server stopped during this turn, and going on has failed; send the request again";
            super::close::close(turn, Ok(Err(Error::new(Code::Internal, message)))).await;
        } else {
            turn.run().await;
        }
    };
    core.spawn(work);
    Ok(true)
}

/// Closes what an earlier turn of a conversation has left open, now that its lease is ours.
pub(crate) async fn settle_orphans(core: &Arc<Core>, context: &Context) -> Result<()> {
    let (space, driver) = context.place();
    for open in open_turns(&driver, &space.digest()).await? {
        let names = journal::Names::new(space.clone(), &open.request_id);
        let steps = journal::read(&driver, &names.journal()).await?;
        if !matches!(steps.first(), Some(Step::Begin { .. })) {
            driver.commit(forget(&open)).await?;
            continue;
        }
        let ambit = core.loaded().acting_as(context.ambit().caller());
        let session = chats::reopen(&ambit, &open.agent, &open.base).await?;
        let _ = (session, steps);
    }
    Ok(())
}

fn forget(open: &Open) -> Batch {
    Batch::of([Write::Apply { key: open.key(), op: Op::Del, life: None }])
}

impl Turn {
    /// The turn as its journal and its stream say it was.
    async fn resume(core: &Arc<Core>, session: ambit_storage::LiveAgent, steps: Vec<Step>) -> Result<Self> {
        let Some(Step::Begin { request, ids, started_at }) = steps.first().cloned() else {
            return Err(Error::internal("a journal that does not begin with its request"));
        };
        let loaded = core.loaded();
        let (agent, _) = loaded.agent(&request.agent)?;
        let mut turn = begin::assemble(core, loaded.clone(), session, (*request, ids, started_at))?;
        let frames = turn.log.resume().await?;
        turn.outbox.restore(&frames);
        turn.outbox.close_all("partial");
        let size = begin::history_size(&loaded, &agent);
        let stored = turn.session.history().tail(size + 200).await?;
        turn.history = begin::chat_view(&stored, Some(&turn.ids.request_id));
        let of_turn = stored.iter().filter(|message| message.turn_id.as_deref() == Some(&turn.ids.request_id));
        turn.said.stored = of_turn.flat_map(shown_ids).collect();
        turn.replay = Replay::of(steps);
        Ok(turn)
    }
}

/// The shown messages that a stored one stands for.
fn shown_ids(message: &ambit_storage::storage::Message) -> Vec<String> {
    let own = message.extras.get("message_id");
    let group = message.extras.get("shown").and_then(|shown| shown.as_array());
    let group = group.into_iter().flatten().filter_map(|view| view.get("message_id"));
    own.into_iter().chain(group).filter_map(|id| id.as_str().map(str::to_owned)).collect()
}
