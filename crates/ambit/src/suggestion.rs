//! Offering a name in the place of one that is not there.

use ambit_storage::suggestion;

/// The sentence that offers the nearest candidate, or all of them, or nothing where there are none.
pub fn offer<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match suggestion::nearest(name, candidates.clone()) {
        Some(found) => format!("; did you mean \"{found}\"?"),
        None => {
            let all: Vec<&str> = candidates.into_iter().take(20).collect();
            if all.is_empty() {
                return String::new();
            }
            format!("; there are {}", all.join(", "))
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
    use super::offer_all;

    #[test]
    fn all_names_are_offered_behind_the_nearest_one() {
        let known = ["reader", "writer"];
        let near = offer_all("raeder", known);
        assert_eq!(near, "; did you mean \"reader\"? There are reader, writer");
        assert_eq!(offer_all("boss", known), "; there are reader, writer");
        assert_eq!(offer_all("boss", []), "");
    }
}
