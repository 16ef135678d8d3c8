//! The store's counter, and the number of commits by which other processes see that something changed.

use super::folder::{COUNTER, ROWS, SPACES, StoreFolder};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitCounter {
    /// The last integer given out.
    pub last: u64,
    pub commits: u64,
}

impl CommitCounter {
    /// The counter as it is. A folder that holds data and no counter is `Corrupt`: numbers would be used twice.
    pub fn read(folder: &StoreFolder) -> Result<Self> {
        if let Some(text) = folder.read(COUNTER)? {
            return Self::parse(folder, &text);
        }
        for within in [SPACES, ROWS] {
            if folder.files(within)?.next().is_some() {
                let reason = format!("it is missing, and {within} holds data");
                return Err(Error::corrupt(folder.place(COUNTER), reason));
            }
        }
        Ok(Self::default())
    }

    /// The number of commits, for those who do not hold the lock: a first commit may be under way.
    pub fn commits(folder: &StoreFolder) -> Result<u64> {
        let text = folder.read(COUNTER)?;
        Ok(text
            .map_or(Ok(Self::default()), |text| Self::parse(folder, &text))?
            .commits)
    }

    fn parse(folder: &StoreFolder, text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::corrupt(folder.place(COUNTER), error))
    }

    pub fn text(&self) -> String {
        format!("{{\"last\":{},\"commits\":{}}}\n", self.last, self.commits)
    }
}
