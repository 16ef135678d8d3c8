//! How long what is stored is kept, and what of it is over.

use crate::command_error::Result;
use crate::output::{Output, one_line};
use ambit::environment::environment;
use ambit_runtime::ExpiredTurnLogs;
use ambit_runtime::app::App;
use ambit_storage::Stores;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The units in which files of apps say how long, in seconds.
const UNITS: [(u64, &str); 3] = [(86_400, "d"), (3_600, "h"), (60, "m")];

/// Says so as the app of this folder has it; where none is there, as it is unless an app says otherwise.
pub async fn write(stores: &Stores, folder: &Path, out: &mut Output) -> Result<()> {
    let named = Some(folder).filter(|folder| !folder.as_os_str().is_empty());
    let folder = named.unwrap_or(Path::new("."));
    let app = match folder.join("app.yao").is_file() {
        true => App::load(folder, &environment()),
        false => Ok(App::default()),
    };
    let Ok(app) = app else {
        let folder = one_line(&folder.display().to_string());
        writeln!(
            out,
            "kept: for how long is not known, as the app in {folder} cannot be loaded; `ambit check` says why"
        )?;
        return Ok(());
    };
    let now = stores.options().clock.now();
    let mut over = ExpiredTurnLogs::default();
    for driver in stores.drivers().values() {
        let more = ExpiredTurnLogs::count(driver.as_ref(), now).await?;
        over.streams += more.streams;
        over.traces += more.traces;
    }
    let settings = &app.settings;
    for (what, time, name, count) in [
        ("streams", settings.stream.retention, "stream", over.streams),
        ("traces", settings.trace.retention, "trace", over.traces),
    ] {
        let time = written(time);
        writeln!(
            out,
            "kept: {what} of turns for {time} (ambit.{name}.retention); {count} are over, and go while a server runs"
        )?;
    }
    let time = written(settings.responses.retention);
    writeln!(
        out,
        "kept: chats of clients of OpenAI's Responses for {time} without use (ambit.responses.retention)"
    )?;
    match app.defaults.store.expiration {
        Some(time) => {
            let time = written(time);
            writeln!(
                out,
                "kept: other conversations for {time} without use (store.expiration)"
            )?;
        }
        None => writeln!(
            out,
            "kept: what was said and used until somebody removes it"
        )?,
    }
    Ok(())
}

/// A time as files of apps say it.
fn written(time: Duration) -> String {
    let seconds = time.as_secs();
    let mut units = UNITS.iter();
    let unit = units.find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or(&(1, "s"));
    format!("{}{name}", seconds / unit)
}
