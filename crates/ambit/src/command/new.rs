//! `ambit new`

use super::{CommandOutcome, schema, types};
use crate::command_error::{CommandError, Result};
use crate::output::{Output, one_line};
use ambit::app_files;
use ambit_runtime::ctx::declarations;
use clap::Args;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct NewAppArguments {
    /// The folder to make; one that is there must be empty
    folder: PathBuf,
}

/// What a new app's name is in the template.
const NAME: &str = "\"My app\"";

/// The files of a new app. A name with a leading dot is spelled without it in the template.
const FILES: &[(&str, &str)] = &[
    ("app.yao", include_str!("../../template/app.yao")),
    (".env", include_str!("../../template/env")),
    (".gitignore", include_str!("../../template/gitignore")),
    (
        "tsconfig.json",
        include_str!("../../template/tsconfig.json"),
    ),
    (
        "agent/agent.yml",
        include_str!("../../template/agent/agent.yml"),
    ),
    (
        "connectors/default.conn.yao",
        include_str!("../../template/connectors/default.conn.yao"),
    ),
    (
        "assistants/hello/package.yao",
        include_str!("../../template/assistants/hello/package.yao"),
    ),
    (
        "assistants/hello/prompts.yml",
        include_str!("../../template/assistants/hello/prompts.yml"),
    ),
    (
        "assistants/hello/src/index.ts",
        include_str!("../../template/assistants/hello/src/index.ts"),
    ),
];

/// Writes a small app to start from.
pub fn run(arguments: &NewAppArguments, out: &mut Output) -> Result<CommandOutcome> {
    let folder = &arguments.folder;
    check_is_empty(folder)?;
    for (path, text) in FILES {
        let text = text.replace(NAME, &name(folder));
        write(&folder.join(path), &text)?;
        writeln!(out, "{path}")?;
    }
    write(&folder.join(types::FILE), &declarations())?;
    writeln!(out, "{}", types::FILE)?;
    let settings = format!("{:#}\n", app_files::editor_settings());
    write(&folder.join(app_files::EDITOR_SETTINGS), &settings)?;
    writeln!(out, "{}", app_files::EDITOR_SETTINGS)?;
    let schemas = schema::write(&folder.join(app_files::SCHEMAS))?;
    writeln!(out, "{}/ ({} files)", app_files::SCHEMAS, schemas.len())?;
    let shown = one_line(&folder.display().to_string());
    writeln!(
        out,
        "\nan agent is ready:\n    ambit chat hello --app {shown}\n    ambit serve {shown}"
    )?;
    Ok(CommandOutcome::Done)
}

fn check_is_empty(folder: &Path) -> Result<()> {
    let refused = |why: &str| CommandError::Refused(format!("{} {why}", folder.display()));
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(refused("is not empty; name a folder that is, or a new one")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refused(&format!("cannot be used: {error}"))),
    }
}

/// The app's name as JSON: its folder's.
fn name(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy());
    serde_json::Value::from(name.as_deref().unwrap_or("My app")).to_string()
}

/// Writes a file, and the folders that it stands in.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text))
        .map_err(|error| CommandError::Refused(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::FILES;
    use std::path::{Path, PathBuf};

    fn below(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let nested = |path: PathBuf| match path.is_dir() {
            true => below(&path),
            false => vec![path],
        };
        paths.flat_map(nested).collect()
    }

    #[test]
    fn every_file_of_the_template_is_written() {
        let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("template");
        let mut texts: Vec<String> = below(&template)
            .iter()
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        let mut written: Vec<&str> = FILES.iter().map(|(_, text)| *text).collect();
        texts.sort();
        written.sort_unstable();
        assert_eq!(written, texts);
    }
}
