//! What the jobs of collections use, booked on the creator of the collection under the agent's name `kb`.

use crate::error::Result;
use ambit_knowledge::CollectionOwner;
use ambit_storage::address::DEFAULT_TENANT;
use ambit_storage::storage::UsageRecord;
use ambit_storage::{Agent, Ambit, AmbitSettings, Caller, Stores};
use std::sync::Arc;

/// The name under which jobs are booked.
const NAME: &str = "kb";

/// Stands for all collections.
struct KnowledgeAgent;

impl Agent for KnowledgeAgent {
    fn name(&self) -> &str {
        NAME
    }
}

/// Books a call.
pub async fn book(
    stores: &Arc<Stores>,
    settings: &AmbitSettings,
    payer: &CollectionOwner,
    record: UsageRecord,
) -> Result<()> {
    let tenant = payer.tenant.as_deref().unwrap_or(DEFAULT_TENANT);
    let caller = match payer.user.as_deref() {
        Some(user) => Caller::user(tenant, user).as_system(),
        None => Caller::system(tenant),
    };
    let ambit = Ambit::builder(stores.clone()).settings(settings.clone());
    let agent = ambit.agent(KnowledgeAgent).build().acting_as(&caller);
    let definition = agent.agent(NAME)?;
    let session = match payer.user.as_deref() {
        Some(user) => definition.for_user_id(user).await?,
        None => definition.for_chat(NAME).await?,
    };
    session.context().usage().record(record)?;
    session.context().save().await?;
    Ok(())
}
