//! The known name that is closest to an unknown one, for messages that help.

/// A name may differ from the known one in so many letters.
const LETTERS: usize = 2;
/// Bytes of a name, at most: comparing takes as many steps as both lengths multiplied.
const LONGEST: usize = 256;

/// The known name that is closest, if one is close enough to be meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let name = plain(name);
    let near = known
        .into_iter()
        .map(|known| (difference(&name, &plain(known)), known))
        .filter(|((distance, _), known)| *distance <= LETTERS.min(known.len() / 2))
        .min();
    near.map(|(_, known)| known)
}

/// In how many letters two names differ; of those that differ in as many, who begins with the same one is nearer.
fn difference(name: &str, known: &str) -> (usize, bool) {
    let begins_otherwise = name.chars().next() != known.chars().next();
    (strsim::levenshtein(name, known), begins_otherwise)
}

/// Whether one name is the other but for upper and lower case, or for one letter behind the first that is changed, left out, exchanged with
/// the next or too many; a word that goes on behind the other is none.
pub fn is_slip(name: &str, known: &str) -> bool {
    let (name, known) = (name.to_lowercase(), known.to_lowercase());
    let is_near = name.len() <= LONGEST
        && name.chars().next() == known.chars().next()
        && strsim::osa_distance(&name, &known) <= 1;
    is_near && (name == known || !name.starts_with(&known))
}

/// `; did you mean "usage"?`, or nothing where no known name is close.
pub fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!("; did you mean \"{known}\"?"))
}

/// The same as an aside: ` (did you mean "usage"?)`.
pub fn aside<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(name, known);
    near.map_or_else(String::new, |known| format!(" (did you mean \"{known}\"?)"))
}

/// Spelling that people mix up does not count.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, hint, is_slip};

    #[test]
    fn the_nearest_name_is_hinted_at_and_no_distant_one() {
        let known = ["chatHistory", "usage", "memory"];
        for (name, nearest) in [
            ("chat_history", "chatHistory"),
            ("chatHistry", "chatHistory"),
            ("Usage", "usage"),
            ("memroy", "memory"),
        ] {
            let expected = format!("; did you mean \"{nearest}\"?");
            assert_eq!(hint(name, known), expected);
        }
        for name in ["", "us", "notes", "stories", "sausages"] {
            assert_eq!(hint(name, known), "");
        }
    }

    #[test]
    fn of_names_that_are_as_near_the_one_that_begins_alike_is_hinted_at() {
        assert_eq!(hint("Snd", ["End", "Send"]), "; did you mean \"Send\"?");
    }

    #[test]
    fn one_letter_behind_the_first_is_a_slip() {
        for name in ["Next", "next", "Nxt", "Netx", "Nexxt", "Nest"] {
            assert!(is_slip(name, "Next"), "{name}");
        }
        for name in ["", "Text", "_Next", "Nt", "Nset", "Notes", "Nexts"] {
            assert!(!is_slip(name, "Next"), "{name}");
        }
    }

    #[test]
    fn no_name_is_hinted_at_for_an_overlong_one() {
        for (length, is_hinted) in [(LONGEST, true), (LONGEST + 1, false)] {
            let name = "n".repeat(length);
            assert_eq!(!hint(&name, [&*name]).is_empty(), is_hinted, "{length}");
        }
    }
}
