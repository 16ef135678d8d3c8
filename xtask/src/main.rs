//! The project's own commands: `cargo xtask test` and its parts, `cargo xtask bench` and `cargo xtask dist`.

mod bench;
mod browser;
mod clients;
mod console;
mod dist;
mod docs;
mod generate;
mod map;
mod packages;
mod pgo;
mod process;
mod servers;
mod test;
mod tidy;
mod types;

use process::Result;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test [ARGUMENTS]   format, lints, docs, all tests and the tidy checks;
                               with arguments only the tests that `cargo test ARGUMENTS` runs
cargo xtask tidy               the tidy checks alone
cargo xtask map [PATHS]        every source file with what its first line says of it
cargo xtask generate           writes what comes from tables: types/index.d.ts, docs/ctx.md, docs/app-files.md, docs/reference
cargo xtask docs               checks the links of all pages, and writes them as one site to target/docs
cargo xtask types              type-checks the declarations and the hooks of the examples
cargo xtask console            builds the console's files, which are committed
cargo xtask screenshots        takes the console's pictures, which are committed: the same as `console --images`
cargo xtask pgo                the profile that guides the compiler in what the next two build; it takes a build of its own
cargo xtask bench [OPTIONS]    the benchmarks; `cargo xtask bench --help` lists the options
cargo xtask dist [OPTIONS]     what a release consists of; `cargo xtask dist --help` lists the options";

/// One command: it gets its arguments and answers whether all is well.
type Run = fn(&[String]) -> Result<bool>;

const COMMANDS: &[(&str, Run)] = &[
    ("test", test::run),
    ("tidy", tidy::run),
    ("map", map::run),
    ("generate", generate::run),
    ("docs", docs::run),
    ("types", types::run),
    ("console", console::run),
    ("screenshots", console::screenshots),
    ("pgo", pgo::run),
    ("bench", bench::run),
    ("dist", dist::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let Some((_, run)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&arguments[1..]) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("cargo xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}
