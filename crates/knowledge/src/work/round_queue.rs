//! Which collections are worked on, and which wait for others.

use crate::names::CollectionPlace;
use crate::records::WorkRecord;
use std::collections::VecDeque;

/// So many collections are worked on at once.
const COLLECTIONS: usize = 4;
/// And so many of one tenant.
const OF_TENANT: usize = 2;

/// Collections with something to be done, first come, first served.
#[derive(Default)]
pub(super) struct RoundQueue {
    waiting: VecDeque<WorkRecord>,
    running: Vec<CollectionPlace>,
}

impl RoundQueue {
    /// Adds those that are not there yet.
    pub fn add(&mut self, work: Vec<WorkRecord>) {
        for work in work {
            let is_waiting = self.waiting.iter().any(|it| it.place == work.place);
            if !is_waiting && !self.running.contains(&work.place) {
                self.waiting.push_back(work);
            }
        }
    }

    /// The next one to be worked on from now on.
    pub fn next(&mut self) -> Option<WorkRecord> {
        if self.running.len() == COLLECTIONS {
            return None;
        }
        let place = self.waiting.iter().position(|work| {
            let tenant = &work.place.tenant;
            let of_tenant = self.running.iter().filter(|it| it.tenant == *tenant);
            of_tenant.count() < OF_TENANT
        })?;
        let work = self.waiting.remove(place)?;
        self.running.push(work.place.clone());
        Some(work)
    }

    /// That a collection is not worked on any more.
    pub fn end(&mut self, place: &CollectionPlace) {
        self.running.retain(|it| it != place);
    }
}

#[cfg(test)]
mod tests {
    use super::RoundQueue;
    use crate::names::CollectionPlace;
    use crate::records::WorkRecord;

    fn work(tenant: &str, id: &str) -> WorkRecord {
        WorkRecord {
            place: CollectionPlace {
                tenant: Some(tenant.to_owned()),
                id: id.to_owned(),
                key: id.to_owned(),
            },
            removal: None,
        }
    }

    #[test]
    fn two_collections_of_a_tenant_run_and_four_of_all() {
        let mut queue = RoundQueue::default();
        let all = || {
            [
                ("a", "a1"),
                ("a", "a2"),
                ("a", "a3"),
                ("b", "b1"),
                ("c", "c1"),
            ]
        };
        queue.add(all().map(|(tenant, id)| work(tenant, id)).to_vec());
        queue.add(vec![work("a", "a1")]);
        let mut next = || queue.next().map(|work| work.place.id);
        assert_eq!(next().as_deref(), Some("a1"));
        assert_eq!(next().as_deref(), Some("a2"));
        assert_eq!(next().as_deref(), Some("b1"));
        assert_eq!(next().as_deref(), Some("c1"));
        assert_eq!(next(), None);
        queue.end(&work("b", "b1").place);
        assert!(queue.next().is_none());
        queue.end(&work("a", "a1").place);
        assert_eq!(
            queue.next().map(|work| work.place.id).as_deref(),
            Some("a3")
        );
    }
}
