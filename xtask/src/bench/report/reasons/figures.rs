//! Figures of Ambit's rows in the text of a reason, so that they are those of the run that the page is of.

use crate::bench::report::line::ResultLine;
use crate::bench::report::table::{Measured, Table};

/// The text with a figure for each name in braces; none where a row is not there.
///
/// A name is that of a work: `{W8 syncs}` is what it is at the row's store, place and size. `{redis|W2 load}` is another store's,
/// `{W8 turns@tmpfs}` of another place, `{W13 written#1000}` of another size.
pub fn filled(text: &str, table: &Table, line: &ResultLine) -> Option<String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}')?;
        filled += before;
        filled += &named(name, table, line)?.figure();
        rest = behind;
    }
    Some(filled + rest)
}

fn named<'a>(name: &str, table: &'a Table, line: &ResultLine) -> Option<&'a Measured> {
    let (store, name) = name
        .split_once('|')
        .unwrap_or((line.backend.as_str(), name));
    let (name, place) = name.split_once('@').unwrap_or((name, line.place.as_str()));
    let (work, size) = match name.split_once('#') {
        Some((work, size)) => (work, size.parse().ok()?),
        None => (name, line.p),
    };
    let is_wanted = |row: &&Measured| {
        let other = &row.line;
        row.is_ours() && other.work == work && other.backend == store && other.place == place
    };
    let mut rows = table.0.iter().filter(is_wanted);
    let first = rows.clone().next()?;
    // What is measured at one size alone, as syncs are, stands for all.
    let is_single = work != line.work && rows.clone().all(|row| row.line.p == first.line.p);
    rows.find(|row| row.line.p == size)
        .or(is_single.then_some(first))
}

#[cfg(test)]
mod tests {
    use super::filled;
    use crate::bench::report::line;
    use crate::bench::report::table::Table;

    #[test]
    fn a_name_is_a_figure_of_the_same_place_and_size_where_it_says_nothing_else() {
        let row = |work: &str, backend: &str, place: &str, p: u64, v: f64| {
            format!(
                r#"{{"place":"{place}","peer":"ambit","backend":"{backend}","work":"{work}","p":{p},"v":{v},"unit":"ms"}}"#
            )
        };
        let lines = [
            row("W2 load", "redis Context", "disk", 100, 4.0),
            row("W2 load", "redis", "disk", 100, 1.0),
            row("W2 load", "redis", "disk", 1000, 2.0),
            row("W8 turns", "redis Context", "disk", 16, 5.0),
            row("W8 turns", "redis Context", "disk", 64, 6.0),
            row("W8 turns", "redis Context", "tmpfs", 16, 7.0),
            row("W8 syncs", "redis Context", "disk", 1, 3.0),
        ];
        let lines = line::all(&lines.join("\n"));
        let first = lines.results[0].clone();
        let table = Table::of(lines.results.into_iter());
        for (text, expected) in [
            ("no name", Some("no name")),
            ("{redis|W2 load}, or so", Some("1 ms, or so")),
            ("{redis|W2 load#1000}", Some("2 ms")),
            ("{W8 syncs} of {W2 load}", Some("3 ms of 4 ms")),
            ("{W8 turns#64}", Some("6 ms")),
            ("{W8 turns@tmpfs}", Some("7 ms")),
            // Of several sizes none is that of the row.
            ("{W8 turns}", None),
            ("{W2 load@tmpfs}", None),
            ("{W9 rows}", None),
        ] {
            let found = filled(text, &table, &first);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
