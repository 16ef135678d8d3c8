//! Whatever is written in a file, loading the app ends with problems and not with a panic.

use crate::support::{fixture, folder, write};
use ambit_runtime::app::{App, Severity};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const CASES: usize = 10_000;

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    /// A number below this one.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap()
    }
}

/// Pieces that mean something to one parser or another.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "'",
    "#",
    "//",
    "/*",
    "*/",
    "&a ",
    "*a",
    "<<: *a",
    "!!binary ",
    "!x ",
    "---\n",
    "...\n",
    "|\n",
    ">-\n",
    "? ",
    "- ",
    "\t",
    "\n",
    "\r",
    "\\",
    "\\u",
    "\\ud800",
    "\\x",
    "null",
    "~",
    "true",
    "1e999",
    "-0",
    "0x1F",
    ".inf",
    ".nan",
    "99999999999999999999",
    "$ENV.",
    "$ENV.X",
    "@assets/x.md",
    "{{ $CTX.x }}",
    "%YAML 1.2\n",
    "\u{feff}",
    "é",
    "\u{0}",
    "\u{2028}",
    "😀",
    "name",
    "type",
];

fn mutate(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=dice.below(4) {
        let from = dice.below(text.len() + 1);
        let to = (from + dice.below(12)).min(text.len());
        match dice.below(6) {
            0 => drop(text.drain(from..to)),
            1 => text.truncate(from),
            2 => {
                let piece = PIECES[dice.below(PIECES.len())];
                text.splice(from..from, piece.bytes());
            }
            3 => {
                let piece = PIECES[dice.below(PIECES.len())];
                text.splice(from..to, piece.bytes());
            }
            4 => {
                let copy = text[from..to].to_vec();
                let at = dice.below(text.len() + 1);
                text.splice(at..at, copy);
            }
            _ => {
                let byte = u8::try_from(dice.below(256)).unwrap();
                text.splice(from..to, [byte]);
            }
        }
    }
    text
}

/// Files of the fixture, and where many of their kind may be; `*` is a number.
const MANY: &[(&str, &str)] = &[
    ("assistants/hello/package.yao", "assistants/p*/package.yao"),
    (
        "assistants/tests/create/package.yao",
        "assistants/y*/package.yao",
    ),
    ("assistants/hello/prompts.yml", "assistants/p*/prompts.yml"),
    (
        "assistants/hello/prompts/chat/friendly.yml",
        "assistants/p*/prompts/x.yml",
    ),
    ("connectors/gpt.conn.yao", "connectors/g*.conn.yao"),
    (
        "connectors/models/scripted.conn.yao",
        "connectors/s*.conn.yao",
    ),
    ("stores/cache.lru.yao", "stores/c*.lru.yao"),
    ("mcps/echo.mcp.yao", "mcps/e*.mcp.yao"),
    ("agent/locales/en-us.yml", "agent/locales/l*.yml"),
    ("openapi/openapi.yao", "openapi/scopes/o*.yao"),
    ("openapi/scopes/chat.yml", "openapi/scopes/c*.yml"),
];

/// Files of which there is one in an app.
const ONE: &[&str] = &[
    ".env",
    "app.yao",
    "agent/agent.yml",
    "agent/search.yml",
    "agent/prompts.yml",
];

/// Writes an app of mutated files and says how many there are.
fn mutated(root: &Path, dice: &mut Dice) -> usize {
    let mut count = 0;
    let mut put = |from: &str, to: &str, dice: &mut Dice| {
        let text = fs::read(fixture().join(from)).unwrap();
        write(root, to, mutate(&text, dice));
        count += 1;
    };
    for file in ONE {
        put(file, file, dice);
    }
    for number in 0..40 {
        for (from, to) in MANY {
            put(from, &to.replace('*', &number.to_string()), dice);
        }
    }
    count
}

#[test]
fn g154_no_file_of_an_app_makes_loading_panic() {
    let root = folder(&[]);
    let mut dice = Dice(0x5eed);
    let (mut cases, mut broken) = (0, 0);
    while cases < CASES {
        cases += mutated(root.path(), &mut dice);
        let problems = match App::load(root.path(), &BTreeMap::new()) {
            Ok(app) => app.problems,
            Err(problems) => problems,
        };
        // A key that is not known any more is a warning.
        let files = problems
            .iter()
            .filter(|problem| problem.severity > Severity::Notice);
        let files: BTreeSet<&str> = files.map(|problem| problem.file.as_str()).collect();
        broken += files.len();
    }
    assert!(
        broken > CASES / 3,
        "only {broken} of {cases} texts were broken"
    );
}
