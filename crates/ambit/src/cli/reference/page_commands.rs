//! The commands of `ambit` that pages show in their blocks.

use std::path::{Path, PathBuf};

/// Blocks that hold commands; one without a language is none.
const LANGUAGES: [&str; 4] = ["sh", "bash", "shell", "console"];

/// The words of each command, and where it stands: in `README.md`, and in each page of `docs` but for decisions.
pub fn commands(root: &Path) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for path in pages(root) {
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, command) in lines(&text) {
            let place = format!("{}:{line}", path.display());
            found.extend(words(&command).map(|words| (place, words)));
        }
    }
    found
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.join("docs")];
    let mut pages = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("decisions") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The lines of blocks that may be commands, by their numbers: of blocks in one of the languages, and of those that are indented.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut language, mut is_continued) = (None, false);
    for (number, line) in text.lines().enumerate() {
        if let Some(opened) = line.trim_start().strip_prefix("```") {
            language = match language {
                Some(_) => None,
                None => Some(opened.trim()),
            };
            continue;
        }
        let is_command = match language {
            Some(language) => LANGUAGES.contains(&language),
            None => line.starts_with("    "),
        };
        if !is_command {
            continue;
        }
        let part = line.trim_end_matches('\\');
        match found.last_mut().filter(|_| is_continued) {
            Some((_, before)) => before.push_str(part),
            None => found.push((number + 1, part.to_owned())),
        }
        is_continued = part.len() < line.len();
    }
    found
}

/// The words of the command of `ambit` in a line, as a shell reads them; none where there is none, or a part is left out with `…`.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.trim_start().trim_start_matches("$ ");
    let (mut words, mut word) = (Vec::<String>::new(), None::<String>);
    let mut quote = None;
    for letter in line.chars() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            ('#', None) if word.is_none() => break,
            ('|' | ';' | '&' | '>' | '<', None) => {
                // The number of what is sent elsewhere is no argument.
                words.extend(word.take().filter(|word| word != "2"));
                if words.iter().any(|word| word == "ambit") {
                    break;
                }
                words.clear();
            }
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    // Who runs it, and with which variables, stands in front of it; a user or a container may have its name.
    let is_name = |word: &&String| *word == "ambit";
    let mut before = words.iter().take_while(|word| !is_name(word)).count();
    while words.get(before + 1).is_some_and(|word| word == "ambit") {
        before += 1;
    }
    let is_run = words.iter().take(before).all(|word| {
        word.contains('=') || ["sudo", "-u", "docker", "exec", "ambit"].contains(&word.as_str())
    });
    let words = words.split_off(before.min(words.len()));
    let is_whole = !words.iter().any(|word| word.contains('…'));
    (is_run && is_whole && words.len() > 1).then_some(words)
}

#[test]
fn commands_are_found_with_their_words() {
    let indented = "Say `ambit x`.\n\n    A=b sudo -u ambit ambit keys new --user 'a b' 2>&1 | head    # prints it\n";
    let fenced = "\n```sh\necho hello | ambit chat \\\n  hello\n```\n\n```text\nambit no\n```\n";
    let page = format!("{indented}{fenced}");
    let found: Vec<_> = lines(&page)
        .iter()
        .filter_map(|(_, line)| words(line))
        .collect();
    let expected = [
        vec!["ambit", "keys", "new", "--user", "a b"],
        vec!["ambit", "chat", "hello"],
    ];
    assert_eq!(found, expected);
    assert_eq!(words("ambit keys …"), None);
}
