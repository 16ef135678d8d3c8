//! Every file beside a table of implementations is in the table.

use super::{Finding, Source};

/// A folder beside the file that holds its table, and the function by which its files say that they belong there.
const TABLES: &[(&str, &str)] = &[
    ("crates/storage/src/driver/", "open"),
    ("crates/ambit/src/format/", "open"),
];

/// Every implementation without its row.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, function) in TABLES {
        let table = format!("{}.rs", folder.trim_end_matches('/'));
        let Some(table) = sources.iter().find(|source| source.path == table) else {
            findings.push(Finding::new(table, "the table is not there"));
            continue;
        };
        for source in sources {
            let Some(name) = module(&source.path, folder) else {
                continue;
            };
            let row = format!("{name}::{function}");
            if exports(&source.text, function) && !table.text.contains(&row) {
                let what = format!(
                    "exports {function}, but {row} is in no row of {}",
                    table.path
                );
                findings.push(Finding::new(&source.path, what));
            }
        }
    }
    findings
}

/// The module directly in `folder` that this file is.
fn module<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let name = path.strip_prefix(folder)?.strip_suffix(".rs")?;
    (!name.contains('/')).then_some(name)
}

fn exports(text: &str, function: &str) -> bool {
    let defined = [
        format!("pub fn {function}("),
        format!("pub async fn {function}("),
    ];
    let passed_on = format!("::{function};");
    text.lines().any(|line| {
        defined.iter().any(|start| line.starts_with(start))
            || (line.starts_with("pub use ") && line.ends_with(&passed_on))
    })
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::{TABLES, check};

    const TABLE: &str = "pub const DRIVERS: &[(&str, Open)] = &[(\"memory\", memory::open)];";

    fn findings(path: &str, text: &str) -> usize {
        let table = source("crates/storage/src/driver.rs", TABLE);
        let formats = source("crates/ambit/src/format.rs", "");
        check(&[table, formats, source(path, text)]).len()
    }

    #[test]
    fn a_driver_without_a_row_is_a_finding() {
        let text = "pub fn open(address: String) {}";
        assert_eq!(findings("crates/storage/src/driver/memory.rs", text), 0);
        assert_eq!(findings("crates/storage/src/driver/tape.rs", text), 1);
        assert_eq!(
            findings("crates/storage/src/driver/tape.rs", "pub use reel::open;"),
            1
        );
    }

    #[test]
    fn parts_of_a_driver_need_no_row() {
        assert_eq!(
            findings("crates/storage/src/driver/tape/reel.rs", "pub fn open() {}"),
            0
        );
        assert_eq!(
            findings("crates/storage/src/driver/watch.rs", "pub struct Watch;"),
            0
        );
        assert_eq!(
            findings(
                "crates/storage/src/driver/watch.rs",
                "    pub fn open(&self) {}"
            ),
            0
        );
    }

    #[test]
    fn a_missing_table_is_a_finding() {
        assert_eq!(check(&[]).len(), TABLES.len());
    }
}
