//! Which values of memory the scripts of a turn have read, each once, in the order of their first use.

use crate::manifest::MemoryRead;

/// Values that are kept.
const MOST: usize = 50;
/// Bytes of their keys.
const BYTES: usize = 2 << 10;

impl MemoryRead {
    /// The namespace of the person who asks, whose keys are theirs alone.
    pub const USER: &'static str = "user";
}

/// Values that were read.
#[derive(Default)]
pub struct MemoryReads {
    all: Vec<MemoryRead>,
    bytes: usize,
}

impl MemoryReads {
    /// Notes that the script of a node has read a value, if it is new and there is room.
    pub fn add(&mut self, node: &str, space: &str, key: &str) {
        let mut known = self.all.iter();
        let is_known = known.any(|read| read.space == space && read.key == key);
        if is_known || self.all.len() == MOST || self.bytes + key.len() > BYTES {
            return;
        }
        self.bytes += key.len();
        self.all.push(MemoryRead {
            node_id: node.to_owned(),
            space: space.to_owned(),
            key: key.to_owned(),
        });
    }

    /// All of them.
    pub fn all(&self) -> &[MemoryRead] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_values_are_kept_as_have_room_each_once() {
        let mut reads = MemoryReads::default();
        let long = "x".repeat(BYTES);
        for key in ["name", "name", long.as_str()] {
            reads.add("n2", "user", key);
        }
        reads.add("n3", "team", "name");
        let found: Vec<[&str; 3]> = reads
            .all()
            .iter()
            .map(|read| [&read.node_id, &read.space, &read.key].map(String::as_str))
            .collect();
        assert_eq!(found, [["n2", "user", "name"], ["n3", "team", "name"]]);
        for n in 0..100 {
            reads.add("n4", "user", &format!("key {n}"));
        }
        assert_eq!(reads.all().len(), MOST);
    }
}
