//! The large answers that users have not read yet on this node, by their bytes.

use ambit_runtime::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// How much is open, by whose it is.
#[derive(Clone, Default)]
pub(super) struct AnswerPlaces(Arc<Mutex<HashMap<String, u64>>>);

/// The place of something that is open, which is free again when this is dropped. The default is of something that nobody counts.
#[derive(Default)]
pub struct AnswerPlace {
    _counted: Option<HeldAnswer>,
}

struct HeldAnswer {
    places: AnswerPlaces,
    user: String,
    amount: u64,
}

impl AnswerPlaces {
    /// A place for so much more, if this user then has `most` at most.
    pub fn place(&self, user: String, amount: u64, most: u64) -> Option<AnswerPlace> {
        let mut open = self.open();
        let count = open.get(&user).copied().unwrap_or(0);
        if count.saturating_add(amount) > most {
            return None;
        }
        open.insert(user.clone(), count + amount);
        drop(open);
        let places = self.clone();
        Some(AnswerPlace {
            _counted: Some(HeldAnswer {
                places,
                user,
                amount,
            }),
        })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        lock(&self.0)
    }
}

impl Drop for HeldAnswer {
    fn drop(&mut self) {
        let mut open = self.places.open();
        if let Some(count) = open.get_mut(&self.user) {
            *count -= self.amount;
            if *count == 0 {
                open.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AnswerPlaces;

    #[test]
    fn a_place_is_free_again_when_it_is_dropped() {
        let places = AnswerPlaces::default();
        let place = |user: &str| places.place(user.to_owned(), 2, 3);
        let held = place("ann");
        assert!(held.is_some() && place("ann").is_none() && place("bob").is_some());
        drop(held);
        assert!(place("ann").is_some());
        assert!(places.open().is_empty());
    }
}
