//! What pages of `docs/` show is what happens. A page begins in an app that `ambit new` has made, and is written as
//! `support/page.rs` says.

use crate::page::{Shown, read};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The commands of a block with all that they print now.
fn ran(folder: &Path, block: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_ambit")).parent().unwrap();
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    let mut all = String::new();
    for command in commands {
        let mut shell = Command::new("sh");
        let script = format!("exec 2>&1\nPATH=\"$0:$PATH\"\n{command}");
        shell.args(["-c", &script]).arg(programs);
        let shell = shell.current_dir(folder).env_remove("AMBIT_STORE");
        let printed = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        all.push_str(&format!("$ {command}\n{printed}"));
    }
    all
}

/// Does what a page shows.
fn follow(page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    let shown = read(&std::fs::read_to_string(file).unwrap()).unwrap();
    let folder = TempDir::new().unwrap();
    let app = folder.path();
    ran(app, "$ ambit new .");
    let mut commands = 0;
    for step in shown {
        match step {
            Shown::File { name, text } => {
                let file = app.join(name);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            Shown::Commands(block) => {
                let now = ran(app, &block);
                assert!(
                    now == block,
                    "{page} shows\n{block}\nand this happens:\n{now}"
                );
                commands += 1;
            }
        }
    }
    assert!(commands > 0, "{page} runs nothing");
}

#[test]
fn what_the_page_about_a_first_agent_shows_happens() {
    follow("guides/first-agent.md");
}

#[test]
fn what_the_page_about_tools_shows_happens() {
    follow("tools.md");
}

#[test]
fn what_the_page_about_hooks_shows_happens() {
    follow("hooks.md");
}

#[test]
fn what_the_page_about_processes_shows_happens() {
    follow("processes.md");
}

#[test]
fn what_the_page_about_uses_shows_happens() {
    follow("uses.md");
}

#[test]
fn what_the_page_about_search_shows_happens() {
    follow("search.md");
}

#[test]
fn what_the_page_for_yao_shows_happens() {
    follow("from-yao.md");
}

#[test]
fn what_the_page_for_laragent_shows_happens() {
    follow("from-laragent.md");
}

#[test]
fn files_and_commands_are_found_and_nothing_else_may_stand_between() {
    let page = "Text with `code`.\n\n`a/b.ts`\n\n```ts\n1\n\n2\n```\n\n```console\n$ x\ny\n```\n";
    let file = Shown::File {
        name: "a/b.ts".to_owned(),
        text: "1\n\n2\n".to_owned(),
    };
    let commands = Shown::Commands("$ x\ny\n".to_owned());
    assert_eq!(read(page), Ok(vec![file, commands]));
    assert!(read("Text.\n\n```ts\n1\n```\n").is_err());
}
