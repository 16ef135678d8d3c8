//! The page of commands, `docs/reference/cli.md`, and the commands that other pages show. `cargo xtask generate` writes the page.

mod page_commands;

use super::Cli;
use ambit::reference::cell;
use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};

const ABOUT: &str = "\
# Command line

<!-- Written by `cargo xtask generate`. -->

What follows `ambit`. A command ends with 0 where all is well, with 1 where it could not be done, and with 2 where some of it could not;
what else its numbers mean is said with it. `ambit help COMMAND` tells the same in the terminal.

What no option says is read from the environment: `AMBIT_STORE`, `AMBIT_MODELS`, `AMBIT_APP`, `AMBIT_LISTEN`, `AMBIT_TLS_CERT`,
`AMBIT_TLS_KEY`, `AMBIT_PUBLIC_METRICS`, `AMBIT_GRACE`, `AMBIT_DRAIN`, `AMBIT_LOG`, `AMBIT_LOG_FORMAT`. `AMBIT_TOKEN` is the key or token of
`ambit chat --url`, `AMBIT_MODEL_KEY` the secret of columns with `crypt: AES`, and `AMBIT_MODEL_KEY_NEW` the one that `ambit models rekey`
puts in its place. `OTEL_EXPORTER_OTLP_ENDPOINT` and the other variables of OpenTelemetry say where traces go
([telemetry](../telemetry.md)).
";

/// Examples of commands, by the commands' names.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "serve",
        "ambit serve shop --listen 0.0.0.0:8080 --store postgres://db.example.com/ambit",
    ),
    ("health", "ambit health http://127.0.0.1:8080"),
    (
        "keys new",
        "ambit keys new --user ann --role admin --days 90 --app shop",
    ),
    ("keys ls", "ambit keys ls --app shop"),
    ("keys revoke", "ambit keys revoke KEY_ID --app shop"),
    (
        "access explain",
        "ambit access explain user 'GET /chat/sessions'",
    ),
    ("new", "ambit new shop"),
    ("check", "ambit check shop --strict"),
    ("types", "ambit types shop"),
    ("schema", "ambit schema"),
    ("chat", "ambit chat hello --app shop --user ann"),
    ("chats ls", "ambit chats ls --user ann --app shop"),
    ("chats show", "ambit chats show CHAT_ID --app shop"),
    ("kb add", "ambit kb add books manuals --wait"),
    ("kb ls", "ambit kb ls books"),
    ("kb rm", "ambit kb rm books returns"),
    (
        "kb search",
        "ambit kb search books 'When are goods taken back?'",
    ),
    ("kb reindex", "ambit kb reindex books"),
    ("kb eval", "ambit kb eval books questions.jsonl"),
    (
        "search",
        "ambit search support 'orders of Ann' --types kb,db",
    ),
    ("context ls", "ambit context ls support --user ann --json"),
    ("context show", "ambit context show CONTEXT_ID"),
    (
        "context messages",
        "ambit context messages CONTEXT_ID --limit 20",
    ),
    (
        "context clear",
        "ambit context clear support --user ann --dry-run",
    ),
    (
        "context remove",
        "ambit context remove support --active-before 2026-01-01 --yes",
    ),
    ("context move", "ambit context move CONTEXT_ID --to old"),
    ("usage", "ambit usage --by model --date-from 2026-11-01"),
    ("why", "ambit why REQUEST_ID --app shop"),
    ("doctor", "ambit doctor --repair --data /var/lib/ambit"),
    ("backup", "ambit backup /backups/monday --app shop"),
    ("restore", "ambit restore /backups/monday --app shop"),
    ("models rekey", "ambit models rekey --app shop"),
    ("completions", "ambit completions bash"),
    ("man", "ambit man context ls"),
    ("demo", "ambit demo"),
];

/// What an argument or a command says of itself, in a cell of a table.
fn help_cell(help: Option<&StyledStr>) -> String {
    cell(&help.map(ToString::to_string).unwrap_or_default())
}

/// How an argument is written.
fn written(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let value = names.join(" ");
    let takes_value = argument.get_action().takes_values();
    match argument.get_long() {
        Some(long) if takes_value => format!("--{long} <{value}>"),
        Some(long) => format!("--{long}"),
        None if argument.is_required_set() => format!("<{value}>"),
        None => format!("[{value}]"),
    }
}

fn row(argument: &Arg) -> String {
    let values = argument.get_possible_values();
    let values = values.iter().filter(|value| !value.is_hide_set());
    let values: Vec<String> = values
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let means = help_cell(argument.get_help());
    let means = match values.is_empty() {
        true => means,
        false => format!("{means}: {}", values.join(", ")),
    };
    let defaults = argument.get_default_values().iter();
    let defaults: Vec<String> = defaults
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    format!(
        "| `{}` | {} | {means} |\n",
        written(argument),
        defaults.join(", ")
    )
}

/// The table of a command's own arguments.
fn table(command: &Command) -> String {
    let arguments = command.get_arguments().filter(|it| !it.is_hide_set());
    let mut arguments: Vec<&Arg> = arguments.collect();
    arguments.sort_by_key(|it| (!it.is_positional(), it.get_help_heading().is_some()));
    let rows: String = arguments.into_iter().map(row).collect();
    match rows.is_empty() {
        true => rows,
        false => format!("\n| argument | default | means |\n|---|---|---|\n{rows}"),
    }
}

/// The section of a command, and those of its own commands.
fn section(command: &Command, above: &str, page: &mut String) {
    let name = format!("{above}{}", command.get_name());
    let aliases = command.get_visible_aliases();
    let aliases: String = aliases.map(|alias| format!(", also `{alias}`")).collect();
    *page += &format!(
        "\n## ambit {name}\n\n{}{aliases}.\n",
        help_cell(command.get_about())
    );
    *page += &table(command);
    let example = EXAMPLES.iter().find(|(known, _)| *known == name);
    if let Some((_, example)) = example {
        *page += &format!("\n```sh\n{example}\n```\n");
    }
    for inner in command.get_subcommands() {
        section(inner, &format!("{name} "), page);
    }
}

fn page() -> String {
    let command = Cli::command();
    let mut page = ABOUT.to_owned();
    page += "\n## Where the data is\n\nOptions of every command, before it or behind it.\n";
    page += &table(&command);
    for command in command.get_subcommands() {
        section(command, "", &mut page);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{Cli, page, page_commands};
    use clap::Parser;
    use std::path::{Path, PathBuf};

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn the_page_of_commands_equals_what_they_are() {
        let path = repository().join("docs/reference/cli.md");
        let page = page();
        if std::env::var_os("AMBIT_BLESS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == page, "run `cargo xtask generate`");
    }

    #[test]
    fn each_command_that_pages_show_can_be_given() {
        let mut count = 0;
        for (place, command) in page_commands::commands(&repository()) {
            let parsed = Cli::try_parse_from(&command);
            if let Err(refused) = parsed {
                assert!(!refused.use_stderr(), "{place}: {command:?}\n{refused}");
            }
            count += 1;
        }
        assert!(count > 50, "{count} commands were found");
    }
}
