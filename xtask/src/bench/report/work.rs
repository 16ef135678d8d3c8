//! What the name of a work says.

/// The number in the name of a work: 8 of `W8 turns`.
pub fn number(work: &str) -> u32 {
    let digits = group(work).trim_start_matches('W');
    digits.parse().unwrap_or(u32::MAX)
}

/// The name of a work without what is measured of it: `W8` of `W8 turns`, `W4` of `W4c counted`.
pub fn group(work: &str) -> &str {
    let name = work.split(' ').next().unwrap_or_default();
    name.trim_end_matches(|letter: char| letter.is_ascii_lowercase())
}

/// What a work is, without how a framework comes by it.
pub fn kind(work: &str) -> &str {
    if work.starts_with("W1 turn") || work.starts_with("W1 graph turn") {
        return "W1 turn";
    }
    if work.starts_with("W2 load") && !work.starts_with("W2 load last") {
        return "W2 load";
    }
    work.split(" (").next().unwrap_or(work)
}

/// How a framework comes by a work: `load all + append` of `W1 turn (load all + append)`.
pub fn way(work: &str) -> &str {
    let rest = work.strip_prefix(kind(work)).map_or_else(
        || work.split_once(' ').map_or("", |(_, rest)| rest),
        str::trim,
    );
    let inner = rest
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    inner.unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::way;

    #[test]
    fn a_way_is_what_differs_between_frameworks() {
        let works = [
            "W1 turn (load all + append)",
            "W1 graph turn, durability=exit",
            "W1 turn rows (Eloquent)",
            "W2 load graph turn",
            "W8 turns",
        ];
        let expected = [
            "load all + append",
            "graph turn, durability=exit",
            "rows (Eloquent)",
            "graph turn",
            "",
        ];
        assert_eq!(works.map(way), expected);
    }
}
