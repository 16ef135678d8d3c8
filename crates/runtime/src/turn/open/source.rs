//! The conversation that a request goes on with, held. One that goes on from an earlier turn has a conversation of its own, which
//! begins with a copy of what was said until then: nothing that others see changes.

use super::first_commit::refuse_begun;
use super::history_copy::{ForkPoint, HistoryCopy, unknown};
use super::supersede::ConversationSnapshot;
use crate::access::Authorized;
use crate::chats;
use crate::error::{Error, ErrorCode, Result, StorageError};
use crate::public_id::response_id;
use crate::request::{ConversationSource, TurnRequest};
use crate::runtime_core::RuntimeCore;
use crate::turn::recover;
use crate::turn_location;
use ambit_storage::lease::OnBusy;
use ambit_storage::{Ambit, LiveAgent, ids};
use ambit_telemetry::table;
use serde_json::json;

/// How far back is looked for the last turn of a conversation.
const LOOKS: [usize; 3] = [4, 256, 8_192];

/// A conversation whose lease a request has.
pub(super) struct HeldConversation {
    pub session: LiveAgent,
    /// The conversation as the request found it, where it supersedes something.
    pub found: Option<ConversationSnapshot>,
    /// What the conversation begins with, where it goes on from an earlier turn.
    pub copied: Option<HistoryCopy>,
}

/// Finds and holds the conversation of a request, which says from then on how it is opened again.
pub(super) async fn hold_conversation(
    core: &RuntimeCore,
    ambit: &Ambit,
    request: &mut TurnRequest,
    agent: &str,
) -> Result<HeldConversation> {
    let Some(ConversationSource::Behind(turn)) = request.source.clone() else {
        name_new(core, request);
        return hold_opened(core, ambit, request, agent).await;
    };
    let row = row_of(ambit, &request.authorized, &turn).await?;
    request.source = Some(ConversationSource::Row(row.clone()));
    let gone = |error: Error| match error.code {
        ErrorCode::NotFound if error.param.is_none() => unknown(&turn),
        _ => error,
    };
    let before = chats::open_for(ambit, request, agent).await;
    let before = before.map_err(gone)?;
    if is_last(&before, &turn).await? {
        let held = hold_opened(core, ambit, request, agent).await;
        let held = held.map_err(gone)?;
        let is_still_last = is_last(&held.session, &turn).await;
        if matches!(is_still_last, Ok(true)) {
            return Ok(held);
        }
        held.session.context().end_turn().await?;
        is_still_last?;
    }
    let from = ForkPoint {
        session: &before,
        row: &row,
        turn: &turn,
    };
    request.source = Some(ConversationSource::New);
    name_new(core, request);
    let session = chats::open_for(ambit, request, agent).await?;
    let copied = Some(HistoryCopy::read(&from, &session).await?);
    let held = hold_session(core, ambit, request, session).await?;
    Ok(HeldConversation { copied, ..held })
}

/// The conversation that this turn belongs to, by its row.
pub(in crate::turn) async fn conversation_of(
    ambit: &Ambit,
    who: &Authorized,
    turn: &str,
) -> Result<ConversationSource> {
    row_of(ambit, who, turn).await.map(ConversationSource::Row)
}

async fn row_of(ambit: &Ambit, who: &Authorized, turn: &str) -> Result<String> {
    let place = turn_location::find(ambit, who, turn).await;
    let place = place.map_err(|error| match error.code {
        ErrorCode::NotFound => unknown(turn),
        _ => error,
    })?;
    let row = place.row.ok_or_else(|| unknown(turn))?;
    Ok(row.id)
}

/// Names a conversation that begins with this turn after it.
fn name_new(core: &RuntimeCore, request: &mut TurnRequest) {
    if request.source == Some(ConversationSource::New) {
        let clock = &core.stores.options().clock;
        let id = request.id.get_or_insert_with(|| ids::ordered(clock));
        request.chat = Some(response_id(id));
    }
}

async fn hold_opened(
    core: &RuntimeCore,
    ambit: &Ambit,
    request: &TurnRequest,
    agent: &str,
) -> Result<HeldConversation> {
    let session = chats::open_for(ambit, request, agent).await?;
    hold_session(core, ambit, request, session).await
}

async fn hold_session(
    core: &RuntimeCore,
    ambit: &Ambit,
    request: &TurnRequest,
    session: LiveAgent,
) -> Result<HeldConversation> {
    let found = ConversationSnapshot::read(&session, request).await?;
    // Nobody else can reach what is kept nowhere.
    if request.is_stored() {
        core.stores.options().fault_points.reach("turn.opened");
        refuse_begun(&session, request).await?;
        hold(core, &session, request).await?;
        if let Err(error) = check_still_there(ambit, request).await {
            session.context().end_turn().await?;
            return Err(error);
        }
    }
    Ok(HeldConversation {
        session,
        found,
        copied: None,
    })
}

/// Refuses a conversation that was removed before its lease was taken, which the turn would make anew. Later nobody removes it.
async fn check_still_there(ambit: &Ambit, request: &TurnRequest) -> Result<()> {
    match (&request.identity, &request.source) {
        (None, Some(ConversationSource::Row(id))) => {
            let row = chats::row_for(ambit, &request.authorized, id).await;
            row.map(drop)
        }
        _ => Ok(()),
    }
}

/// Takes the conversation's lease, and says which turn has it if that is refused.
async fn hold(core: &RuntimeCore, session: &LiveAgent, request: &TurnRequest) -> Result<()> {
    let context = session.context();
    let begun = context.begin_turn(request.on_busy).await;
    let was_busy = match &begun {
        Ok(()) => context.lease().is_some_and(|lease| lease.has_waited()),
        Err(error) => matches!(error, StorageError::Busy { .. }),
    };
    if was_busy {
        let labels = [on_busy(request.on_busy)];
        core.metrics().count(&table::CHAT_BUSY, labels);
    }
    let Err(error) = begun else {
        return Ok(());
    };
    let mut error = Error::from(error);
    if error.code == ErrorCode::ChatBusy {
        let (space, driver) = context.place();
        let running = recover::open_turns(&driver, &space.digest()).await?;
        let running = running.first().map(|open| open.request_id.clone());
        error.message = "another turn of this chat is running; wait for it, or send on_busy: \"queue\" or \"interrupt\"".to_owned();
        error.details = running.map(|id| Box::new(json!({"request_id": id})));
    }
    Err(error)
}

fn on_busy(on_busy: OnBusy) -> &'static str {
    match on_busy {
        OnBusy::Reject => "reject",
        OnBusy::Queue => "queue",
        OnBusy::Interrupt => "interrupt",
    }
}

/// Whether no turn has said anything behind this one.
async fn is_last(session: &LiveAgent, turn: &str) -> Result<bool> {
    for look in LOOKS {
        let tail = session.history().tail(look).await?;
        let last = tail
            .iter()
            .rev()
            .find_map(|message| message.turn_id.as_deref());
        if last.is_some() || tail.len() < look {
            return Ok(last == Some(turn));
        }
    }
    Ok(false)
}
