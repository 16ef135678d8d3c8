//! What goes along when an identity is cleared or removed: a history takes its memory, usage its sums.

use super::{Action, row_of};
use crate::address::{ITEMS, Space};
use crate::ambit::Ambit;
use crate::batch::Write;
use crate::driver::{Driver, Range};
use crate::memory;
use crate::op::Op;
use crate::storage::{
    CHUNK, ChatHistoryStorage, Labels, StorageKind, UsageRecord, UsageStorage, record_sums, tally,
};
use crate::usage::OnRemove;
use crate::{Result, SessionIdentity};
use std::collections::BTreeMap;

/// The writes that go with the erasure of an identity: a history takes its memory along, usage its sums.
pub(crate) async fn following(
    ambit: &Ambit,
    driver: &dyn Driver,
    (tenant, identity): (&str, &SessionIdentity),
    action: Action,
) -> Result<Vec<Write>> {
    match identity.scope() {
        Some(ChatHistoryStorage::PREFIX) => {
            let memory = identity.with_scope(memory::SCOPE)?;
            let mut writes = vec![action.on(Space::of(tenant, &memory))];
            if let Some(row) = row_of(ambit, &memory)
                .await?
                .filter(|_| action == Action::Remove)
            {
                writes.push(Write::Untrack {
                    tenant: tenant.to_owned(),
                    id: row.id,
                });
            }
            Ok(writes)
        }
        Some(UsageStorage::PREFIX) => {
            carried_over(ambit, driver, &Space::of(tenant, identity)).await
        }
        _ => Ok(Vec::new()),
    }
}

impl Action {
    pub(super) fn on(self, space: Space) -> Write {
        match self {
            Self::Clear => Write::Clear { space },
            Self::Remove => Write::Remove { space },
        }
    }
}

/// Takes the records' amounts out of the rows of sums that name user and chat, and keeps them in rows that do not.
async fn carried_over(ambit: &Ambit, driver: &dyn Driver, space: &Space) -> Result<Vec<Write>> {
    let mut rows: BTreeMap<String, (Labels, BTreeMap<String, i64>)> = BTreeMap::new();
    let mut next = 1;
    loop {
        let page = driver
            .read(&space.log(ITEMS), Range::from(next, CHUNK))
            .await?;
        let Some(last) = page.entries.last() else {
            break;
        };
        next = last.seq + 1;
        for entry in &page.entries {
            let record: UsageRecord = entry.body.to()?;
            let labels = Labels::of(&record);
            let (_, sums) = rows
                .entry(labels.name()?)
                .or_insert_with(|| (labels, BTreeMap::new()));
            record_sums(&record)
                .into_iter()
                .for_each(|(name, sum)| *sums.entry(name).or_default() += sum);
        }
    }
    let keeps = ambit.settings().usage.on_remove == OnRemove::Keep;
    let mut writes = Vec::new();
    for (name, (labels, sums)) in rows {
        let key = Space::usage_sums(&space.tenant).key(name);
        writes.push(Write::Apply {
            key,
            op: Op::Del,
            life: None,
        });
        if keeps {
            let nameless = Labels {
                user: None,
                chat: None,
                identity: None,
                ..labels
            };
            writes.push(tally(&space.tenant, &nameless, sums)?);
        }
    }
    Ok(writes)
}
