//! Finding what somebody meant by a name that is not there.

/// The candidate that is nearest to the name, if one is near enough to be meant.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count() / 3 + 1;
    let near = candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate));
    let (steps, found) = near.min_by_key(|(steps, _)| *steps)?;
    (steps <= limit).then_some(found)
}

/// How many letters have to be added, dropped or changed, upper and lower case being one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (to, other) in b.iter().enumerate() {
            let change = before + usize::from(letter != *other);
            before = row[to + 1];
            row[to + 1] = change.min(before + 1).min(row[to] + 1);
        }
    }
    row[b.len()]
}

/// The sentence that offers the nearest candidate, or all of them, or nothing where there are none.
pub fn offer<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(name, candidates.clone()) {
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

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let agents = ["SupportAgent", "SalesAgent"];
        assert_eq!(nearest("supportagnet", agents), Some("SupportAgent"));
        assert_eq!(nearest("Billing", agents), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn a_distance_counts_letters() {
        let cases = [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3)];
        for (a, b, steps) in cases {
            assert_eq!(distance(a, b), steps, "{a} {b}");
        }
    }
}
