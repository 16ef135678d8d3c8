//! How much is open on this node, by whose it is.

use ambit_runtime::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// How much each has open.
#[derive(Clone, Default)]
pub struct OpenCounts(Arc<Mutex<HashMap<String, u64>>>);

/// What somebody has open. It counts until this is dropped.
pub struct OpenCount {
    counts: OpenCounts,
    owner: String,
    amount: u64,
}

impl OpenCounts {
    /// Counts so much more, if this owner then has `most` at most.
    pub fn add(&self, owner: String, amount: u64, most: u64) -> Option<OpenCount> {
        let mut open = lock(&self.0);
        let before = open.get(&owner).copied().unwrap_or(0);
        let count = before.saturating_add(amount);
        if count > most {
            return None;
        }
        open.insert(owner.clone(), count);
        Some(OpenCount {
            counts: self.clone(),
            owner,
            amount,
        })
    }

    /// All who have anything open.
    pub fn owners(&self) -> Vec<String> {
        lock(&self.0).keys().cloned().collect()
    }

    /// How much an owner has open; `None` where it is nothing.
    pub fn get(&self, owner: &str) -> Option<u64> {
        lock(&self.0).get(owner).copied()
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        let mut open = lock(&self.counts.0);
        if let Some(count) = open.get_mut(&self.owner) {
            *count -= self.amount;
            if *count == 0 {
                open.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OpenCounts;

    #[test]
    fn what_is_open_counts_until_it_is_dropped() {
        let counts = OpenCounts::default();
        let add = |owner: &str| counts.add(owner.to_owned(), 2, 3);
        let held = add("ann");
        assert!(held.is_some() && add("ann").is_none() && add("bob").is_some());
        assert_eq!(counts.get("ann"), Some(2));
        assert_eq!(counts.owners(), ["ann"]);
        drop(held);
        assert_eq!(counts.get("ann"), None);
        assert!(add("ann").is_some());
        assert!(counts.0.lock().unwrap().is_empty());
    }
}
