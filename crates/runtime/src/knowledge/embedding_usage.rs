//! What vectors use, booked on whoever pays under the name of an agent: `kb` for the jobs of collections, `recall` and `memory`
//! for those of conversations and memories.

use crate::error::Result;
use ambit_storage::address::DEFAULT_TENANT;
use ambit_storage::storage::UsageRecord;
use ambit_storage::{Agent, Ambit, AmbitSettings, Caller, Stores};
use std::sync::Arc;

/// Who pays for vectors, and under which name it is booked.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingAccount<'a> {
    pub agent: &'static str,
    pub tenant: Option<&'a str>,
    pub user: Option<&'a str>,
}

/// Stands for all that is booked under a name.
struct BookingAgent(&'static str);

impl Agent for BookingAgent {
    fn name(&self) -> &str {
        self.0
    }
}

/// Books a call.
pub async fn book(
    stores: &Arc<Stores>,
    settings: &AmbitSettings,
    account: EmbeddingAccount<'_>,
    record: UsageRecord,
) -> Result<()> {
    let EmbeddingAccount {
        agent: name,
        tenant,
        user,
    } = account;
    let tenant = tenant.unwrap_or(DEFAULT_TENANT);
    let caller = match user {
        Some(user) => Caller::user(tenant, user).as_system(),
        None => Caller::system(tenant),
    };
    let ambit = Ambit::builder(stores.clone()).settings(settings.clone());
    let agent = ambit.agent(BookingAgent(name)).build().acting_as(&caller);
    let definition = agent.agent(name)?;
    let session = match user {
        Some(user) => definition.for_user_id(user).await?,
        None => definition.for_chat(name).await?,
    };
    session.context().usage().record(record)?;
    session.context().save().await?;
    Ok(())
}
