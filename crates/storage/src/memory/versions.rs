//! Values with their versions: writes that change nothing where another one came between.

use super::{Memory, Ttl, unexpected};
use crate::Result;
use crate::batch::{BatchCheck, ValueEntry, WriteOutcome};
use crate::driver::ValuePart;
use crate::json::Json;
use crate::operation::Operation;

/// What a write expects to find; where it finds something else, it fails `Conflict` and changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// Whatever is there.
    #[default]
    Any,
    /// No value.
    Absent,
    /// The value with this version.
    Exactly(u64),
}

impl ExpectedVersion {
    /// Whether a value with this version, or none, is what is expected.
    pub fn is_met_by(self, found: Option<u64>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => found.is_none(),
            Self::Exactly(version) => found == Some(version),
        }
    }
}

/// How long a value that is written lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueLife {
    /// As long as the value that it replaces would have; a new one lives by the namespace's default.
    Keep,
    /// So long from now on; without a time by the namespace's default.
    Renew(Option<Ttl>),
}

impl Default for ValueLife {
    fn default() -> Self {
        Self::Renew(None)
    }
}

/// How a value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryWrite {
    /// What it expects to find.
    pub expect: ExpectedVersion,
    /// How long the value lives.
    pub life: ValueLife,
}

impl Memory {
    /// The value with its version and end; `None` where it is missing.
    pub async fn entry(&self, key: &str) -> Result<Option<ValueEntry>> {
        self.read(key, ValuePart::Whole).await
    }

    /// The version of the value; `None` where it is missing.
    pub async fn version(&self, key: &str) -> Result<Option<u64>> {
        let entry = self.read(key, ValuePart::Nothing).await?;
        Ok(entry.map(|entry| entry.version))
    }

    /// Replaces value and type where what is expected is there, and gives the new version.
    pub async fn put(&self, key: &str, value: &Json, write: MemoryWrite) -> Result<u64> {
        let (op, ttl) = match write.life {
            ValueLife::Keep => (Operation::Replace(value.clone().into()), None),
            ValueLife::Renew(ttl) => (Operation::Set(value.clone().into()), ttl),
        };
        let planned = self.plan(key, op, ttl)?;
        let checks = self.checks(key, write.expect)?;
        match self.commit_if(checks, planned).await? {
            WriteOutcome::Applied {
                version: Some(version),
                ..
            } => Ok(version),
            other => Err(unexpected(&other)),
        }
    }

    /// Deletes the value of exactly this name where what is expected is there.
    pub async fn del_if(&self, key: &str, expect: ExpectedVersion) -> Result<()> {
        let planned = self.plan(key, Operation::Del, None)?;
        let checks = self.checks(key, expect)?;
        self.commit_if(checks, planned).await.map(drop)
    }

    fn checks(&self, key: &str, expect: ExpectedVersion) -> Result<Vec<BatchCheck>> {
        let version = match expect {
            ExpectedVersion::Any => return Ok(Vec::new()),
            ExpectedVersion::Absent => None,
            ExpectedVersion::Exactly(version) => Some(version),
        };
        let key = self.owner()?.space.key(key);
        Ok(vec![BatchCheck::version(key, version)])
    }
}
