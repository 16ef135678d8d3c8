//! Calls of the era with a handshake, which a notification stops: by the session and the request's id. The notification may
//! reach another node than the call.

use crate::http::ServerState;
use ambit_runtime::{Authorized, ErrorCode, Result};
use ambit_storage::Json;
use ambit_storage::address::{self, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::to_millis;
use ambit_storage::driver::ValuePart;
use ambit_storage::operation::Operation;
use serde_json::Value;
use std::time::Duration;

/// How long a call can be stopped.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// A call as its client names it.
pub struct OpenCall<'a> {
    who: &'a Authorized,
    key: ValueKey,
}

impl<'a> OpenCall<'a> {
    /// The caller's request with this id, in this session. Nothing where neither says who calls: what is known by its id alone
    /// would be anybody's to stop.
    pub fn of(who: &'a Authorized, session: &str, id: &Value) -> Option<Self> {
        if who.user_id.is_none() && session.is_empty() {
            return None;
        }
        let user = who.user_id.as_deref().unwrap_or_default();
        let team = who.team_id.as_deref().unwrap_or_default();
        let name = address::digest(&["mcp", user, team, session, &id.to_string()]);
        Some(Self {
            who,
            key: Space::repeats(who.tenant()).key(name),
        })
    }

    /// Keeps which turn it is.
    pub async fn remember(&self, server: &ServerState, request_id: &str) -> Result<()> {
        let write = BatchWrite::Apply {
            key: self.key.clone(),
            op: Operation::Set(Json::of(request_id)?.into()),
            life: Some(to_millis(LIFETIME)),
        };
        server.store.commit(Batch::of([write])).await?;
        Ok(())
    }

    /// Stops its turn. A call that is not known, or has ended, stays as it is.
    pub async fn stop(&self, server: &ServerState) -> Result<()> {
        let Some(stored) = server.store.get(&self.key, ValuePart::Whole).await? else {
            return Ok(());
        };
        let request_id: String = stored.value.to()?;
        match server.runtime.cancel(self.who, &request_id).await {
            Err(error) if error.code == ErrorCode::NotFound => Ok(()),
            stopped => stopped,
        }
    }
}
