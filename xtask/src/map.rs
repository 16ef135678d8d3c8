//! `cargo xtask map`: every source file with what its first line says of it.

use crate::process::{Result, root};
use crate::tidy::read;

/// Prints the files of all crates, or of those whose path begins with one of the arguments.
pub fn run(arguments: &[String]) -> Result<bool> {
    let mut folder = String::new();
    for source in read(&root(), "crates", "rs")? {
        let wanted = arguments.is_empty() || arguments.iter().any(|it| source.path.starts_with(it));
        let Some((place, name)) = source.path.rsplit_once('/') else {
            continue;
        };
        if !wanted || !source.path.contains("/src/") {
            continue;
        }
        if place != folder {
            println!("\n{place}");
            place.clone_into(&mut folder);
        }
        println!("  {name:<28} {}", first_line(&source.text));
    }
    Ok(true)
}

/// What a file's documentation begins with.
fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("//! ")
        .unwrap_or("(says nothing of itself)")
}

#[cfg(test)]
mod tests {
    use super::first_line;

    #[test]
    fn a_file_is_described_by_its_first_line() {
        assert_eq!(first_line("//! What it is.\n//! More.\n"), "What it is.");
        assert_eq!(first_line("use a::b;\n"), "(says nothing of itself)");
    }
}
