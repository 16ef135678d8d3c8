//! Reads a page of `docs/` that a test follows. A name between backticks alone on its line, with a block below it, is a file; a
//! block `console` has commands, each behind `$ ` with all that it prints. A page may have no other blocks.

/// What a page shows, in its order.
#[derive(Debug, PartialEq, Eq)]
pub enum Shown {
    File { name: String, text: String },
    Commands(String),
}

/// What a page shows; `Err` is a block of another kind.
pub fn read(page: &str) -> Result<Vec<Shown>, String> {
    let (mut shown, mut name) = (Vec::new(), None);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else {
            if !line.is_empty() {
                let quoted = line.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
                name = quoted.filter(|it| !it.contains('`'));
            }
            continue;
        };
        let block = lines.by_ref().take_while(|line| *line != "```");
        let text: String = block.map(|line| format!("{line}\n")).collect();
        shown.push(match (kind, name.take()) {
            ("console", None) => Shown::Commands(text),
            (_, Some(name)) => Shown::File {
                name: name.to_owned(),
                text,
            },
            (kind, None) => return Err(format!("neither a file nor commands: {kind}\n{text}")),
        });
    }
    Ok(shown)
}
