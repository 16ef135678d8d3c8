//! Expected outputs are files. `AMBIT_BLESS=1` rewrites them; what changed is then read in review.

use std::fs;
use std::path::Path;

/// Compares a text with the file that says what it must be, or rewrites the file.
pub fn check(path: &Path, actual: &str) {
    if std::env::var_os("AMBIT_BLESS").is_some() {
        fs::write(path, actual).unwrap();
        return;
    }
    let name = path.display();
    let expected = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{name}: {error}; AMBIT_BLESS=1 writes it"));
    if expected == actual {
        return;
    }
    let pairs = expected.lines().zip(actual.lines());
    let same = pairs
        .take_while(|(expected, actual)| expected == actual)
        .count();
    panic!(
        "{name}: line {} differs (AMBIT_BLESS=1 rewrites the file)\nexpected: {}\nactual:   {}",
        same + 1,
        expected.lines().nth(same).unwrap_or("(the end)"),
        actual.lines().nth(same).unwrap_or("(the end)"),
    );
}
