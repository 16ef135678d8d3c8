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
