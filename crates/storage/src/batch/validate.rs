//! What no store takes of a batch.

use super::{Batch, BatchWrite, MAX_COPIED, MirrorWrite, SizeLimits};
use crate::address::Space;
use crate::{Error, Result};

impl Batch {
    /// Refuses what no store takes. Every driver calls this first, so that nothing is written of a bad batch.
    pub fn validate(&self, limits: &SizeLimits) -> Result<()> {
        let mut count = self.writes.len();
        for write in &self.writes {
            write.check_texts()?;
            match write {
                BatchWrite::Append { log, entries } => {
                    count += entries.len();
                    named("log name", &log.name, limits)?;
                    for entry in entries {
                        named("entry id", &entry.id, limits)?;
                        sized("entry bytes", entry.body.as_str().len(), limits.value)?;
                    }
                }
                BatchWrite::Apply { key, op, .. } => {
                    sized_name("key", &key.name, limits)?;
                    sized("value bytes", op.size(), limits.value)?;
                }
                BatchWrite::Mirror(mirror) => mirror.check_number()?,
                _ => {}
            }
        }
        sized("batch entries", count, limits.batch)
    }
}

impl MirrorWrite {
    /// Refuses numbers that no store comes to by counting: taken over, they would leave none to give out.
    fn check_number(&self) -> Result<()> {
        let (what, number) = match self {
            Self::Log { log, head, .. } => (format!("the log {log}"), head.generation),
            Self::Value { key, entry } => (
                format!("the value {key}"),
                entry.as_ref().map_or(0, |entry| entry.version),
            ),
            Self::Row(row) => (format!("the index row {}", row.id), row.ordinal),
        };
        if number > MAX_COPIED {
            let reason = format!("its number {number} is beyond {MAX_COPIED}; it is not copied");
            return Err(Error::corrupt(what, reason));
        }
        Ok(())
    }
}

impl BatchWrite {
    /// Refuses texts that name an owner or stand in an index row and that not every store can keep.
    fn check_texts(&self) -> Result<()> {
        match self {
            Self::Append { log, .. } | Self::Redact { log, .. } | Self::Drop { log } => {
                owned(&log.space)
            }
            Self::Mirror(MirrorWrite::Log { log, .. }) => owned(&log.space),
            Self::Apply { key, .. } | Self::Mirror(MirrorWrite::Value { key, .. }) => {
                owned(&key.space)
            }
            Self::Wipe { space, .. } | Self::Clear { space } | Self::Remove { space } => {
                owned(space)
            }
            Self::Untrack { tenant, id } => {
                without_nul("tenant", tenant)?;
                without_nul("id", id)
            }
            Self::Track(track) => {
                without_nul("agent", &track.agent)?;
                let made_by = [&track.created_by, &track.team];
                row_texts(&track.id, &track.tenant, &track.placement, made_by)
            }
            Self::Mirror(MirrorWrite::Row(row)) => {
                for touch in &row.touches {
                    without_nul("agent", &touch.agent)?;
                }
                let made_by = [&row.created_by, &row.team];
                row_texts(&row.id, &row.tenant, &row.placement, made_by)
            }
        }
    }
}

fn row_texts(
    id: &str,
    tenant: &str,
    placement: &[String],
    [created_by, team]: [&Option<String>; 2],
) -> Result<()> {
    without_nul("id", id)?;
    without_nul("tenant", tenant)?;
    without_nul("created_by", created_by.as_deref().unwrap_or_default())?;
    without_nul("team", team.as_deref().unwrap_or_default())?;
    let mut names = placement.iter();
    names.try_for_each(|name| without_nul("drivers", name))
}

fn owned(space: &Space) -> Result<()> {
    without_nul("tenant", &space.tenant)?;
    without_nul("space", &space.path)
}

fn without_nul(field: &str, text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::invalid(field, "contains U+0000"));
    }
    Ok(())
}

fn named(field: &str, name: &str, limits: &SizeLimits) -> Result<()> {
    without_nul(field, name)?;
    sized_name(field, name, limits)
}

fn sized_name(field: &str, name: &str, limits: &SizeLimits) -> Result<()> {
    if name.is_empty() {
        return Err(Error::invalid(field, "must be a non-empty string"));
    }
    if name.len() > limits.name {
        return Err(Error::invalid(
            field,
            format!("exceeds {} bytes", limits.name),
        ));
    }
    Ok(())
}

fn sized(what: &str, actual: usize, limit: usize) -> Result<()> {
    if actual > limit {
        return Err(Error::limited(what, actual as u64, limit as u64));
    }
    Ok(())
}
