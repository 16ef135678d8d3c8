//! Offering a name in the place of one that is not there.

use ambit_storage::suggestion;

/// So many names are offered at most.
const MOST: usize = 20;

/// The sentence that offers the nearest candidate, or all of them, or nothing where there are none.
pub fn offer<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match suggestion::nearest(name, candidates.clone()) {
        Some(found) => format!("; did you mean \"{found}\"?"),
        None => {
            let all: Vec<&str> = candidates.into_iter().collect();
            let (shown, left) = all.split_at(MOST.min(all.len()));
            let more = match left.len() {
                0 => String::new(),
                left => format!(" and {left} more"),
            };
            match shown {
                [] => String::new(),
                shown => format!("; there are {}{more}", shown.join(", ")),
            }
        }
    }
}

/// The same with all candidates behind the nearest one.
pub fn offer_all<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let all: Vec<&str> = candidates.clone().into_iter().collect();
    let list = all.join(", ");
    match suggestion::nearest(name, candidates) {
        Some(found) => format!("; did you mean \"{found}\"? There are {list}"),
        None if all.is_empty() => String::new(),
        None => format!("; there are {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, offer, offer_all};

    #[test]
    fn all_names_are_offered_behind_the_nearest_one() {
        let known = ["reader", "writer"];
        let near = offer_all("raeder", known);
        assert_eq!(near, "; did you mean \"reader\"? There are reader, writer");
        assert_eq!(offer_all("boss", known), "; there are reader, writer");
        assert_eq!(offer_all("boss", []), "");
    }

    #[test]
    fn of_many_names_the_number_of_those_that_are_left_out_is_told() {
        let known = ["reader"; MOST + 2];
        let told = offer("boss", known);
        assert!(told.ends_with("reader and 2 more"), "{told}");
        let told = offer("boss", ["reader"; MOST]);
        assert!(told.ends_with(", reader"), "{told}");
    }
}
