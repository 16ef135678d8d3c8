//! What the model calls tools: `<server>__<tool>` in letters that every provider takes.

use ambit_storage::address::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The longest name that every provider takes.
const LONGEST: usize = 64;
/// Letters of the hash that tells cut names apart.
const HASH: usize = 8;

/// The names of one request, so that no two tools get the same.
#[derive(Default)]
pub struct ToolNames(BTreeSet<String>);

impl ToolNames {
    /// A name for this tool that no other tool of the request has.
    pub fn take(&mut self, server: &str, tool: &str) -> String {
        self.name(&format!("{server}__{tool}"), &format!("{server}\0{tool}"))
    }

    /// A name for a tool that is known by this text alone.
    pub fn take_plain(&mut self, text: &str) -> String {
        self.name(text, text)
    }

    fn name(&mut self, text: &str, identity: &str) -> String {
        let plain: String = text.chars().map(letter).collect();
        if plain.len() <= LONGEST && self.0.insert(plain.clone()) {
            return plain;
        }
        let mut salt = 0_u32;
        loop {
            let digest = Sha256::digest(format!("{identity}\0{salt}"));
            let hash = hex(&digest[..HASH / 2]);
            let kept = plain.len().min(LONGEST - HASH - 1);
            let name = format!("{}_{hash}", &plain[..kept]);
            if self.0.insert(name.clone()) {
                return name;
            }
            salt += 1;
        }
    }
}

fn letter(letter: char) -> char {
    match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_letters_that_every_provider_takes() {
        let mut names = ToolNames::default();
        assert_eq!(names.take("web.search", "find-it"), "web_search__find-it");
        assert_eq!(names.take("größe", "a b"), "gr__e__a_b");
    }

    #[test]
    fn names_that_would_be_the_same_differ_by_a_hash_that_never_changes() {
        let mut names = ToolNames::default();
        assert_eq!(names.take("a.b", "c"), "a_b__c");
        assert_eq!(names.take("a_b", "c"), "a_b__c_baef76bb");
        assert_eq!(names.take("a.b", "c"), "a_b__c_c5fadf81");
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let mut names = ToolNames::default();
        let one = names.take("server", &"x".repeat(80));
        let other = names.take("server", &"x".repeat(81));
        assert_eq!((one.len(), other.len()), (64, 64));
        assert!(one.starts_with("server__xxx") && one != other);
        let fits = names.take("s", &"y".repeat(61));
        assert_eq!(fits, format!("s__{}", "y".repeat(61)));
    }
}
