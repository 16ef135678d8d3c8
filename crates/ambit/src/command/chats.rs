//! `ambit chats`: conversations as people know them, one row each.

use super::CommandOutcome;
use super::why::operator;
use crate::command_error::{CommandError, Result};
use crate::output::{
    Output, Table, escape_control, filled_or_dash, json_line, one_line, or_dash, print_field,
};
use crate::settings::AppOption;
use crate::timestamp;
use ambit_runtime::chats::{
    self, ChatFilter, ChatInfo, ChatMessagePage, ChatMessageView, ChatName, ChatStatus,
    MessageFilter, NAMELESS, PageWindow, USER_INPUT,
};
use ambit_runtime::{Authorized, DataConstraints, Error, ErrorCode};
use ambit_storage::Ambit;
use ambit_storage::directory::IndexRow;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;

/// Whose chats, and what about them.
#[derive(Args, Debug)]
pub struct ChatsArguments {
    #[command(flatten)]
    pub app: AppOption,
    /// Who is asking: chats are those that this person sees; without it all of the tenant
    #[arg(long, global = true)]
    user: Option<String>,
    /// The team that this person acts in
    #[arg(long, global = true)]
    team: Option<String>,
    #[command(subcommand)]
    command: ChatsCommand,
}

/// What is done with chats.
#[derive(Subcommand, Debug)]
pub enum ChatsCommand {
    /// Lists chats, the last active first; exits with 2 where some lie in a store that is not given
    Ls(ListChatsArguments),
    /// Shows a chat and its last messages
    Show(ShowChatArguments),
}

/// Which chats.
#[derive(Args, Debug)]
pub struct ListChatsArguments {
    /// Only those that this agent worked on
    #[arg(long)]
    agent: Option<String>,
    /// Only those whose title has all of these words
    #[arg(long, value_name = "WORDS")]
    title: Option<String>,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Which chat.
#[derive(Args, Debug)]
pub struct ShowChatArguments {
    /// The chat, by its name
    #[arg(required_unless_present = "context", conflicts_with = "context")]
    chat: Option<String>,
    /// The chat by the id of its context, as `chats ls --json` tells it
    #[arg(long, value_name = "ID")]
    context: Option<String>,
    /// The agent, where several have a chat of this name
    #[arg(long)]
    agent: Option<String>,
    /// Only messages before this sequence
    #[arg(long, value_name = "SEQUENCE")]
    before: Option<u64>,
    /// At most so many messages
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// One JSON object: the chat with its `messages`, and where earlier ones are, `next`
    #[arg(long)]
    json: bool,
}

/// Does it.
pub async fn run(
    ambit: &Ambit,
    arguments: &ChatsArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let who = caller(ambit, arguments)?;
    match &arguments.command {
        ChatsCommand::Ls(asked) => list(ambit, &who, asked, out).await,
        ChatsCommand::Show(asked) => show(ambit, &who, asked, out).await,
    }
}

/// The person with the limits that the rules usually set, else whoever may read the store.
fn caller(ambit: &Ambit, arguments: &ChatsArguments) -> Result<Authorized> {
    let operator = operator(ambit);
    match (&arguments.user, &arguments.team) {
        (Some(_), _) => {}
        (None, None) => return Ok(operator),
        (None, Some(_)) => {
            let reason = "needs the person who acts in it; name one with --user";
            return Err(CommandError::option("--team", reason));
        }
    }
    let person = Authorized {
        user_id: arguments.user.clone(),
        team_id: arguments.team.clone(),
        ..operator
    };
    Ok(Authorized {
        constraints: DataConstraints::usual(&person),
        ..person
    })
}

const HEADINGS: [&str; 6] = ["CHAT", "TITLE", "AGENT", "USER", "STATUS", "LAST ACTIVE"];

async fn list(
    ambit: &Ambit,
    who: &Authorized,
    asked: &ListChatsArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let filter = ChatFilter {
        assistant_id: asked.agent.clone(),
        keywords: asked.title.clone(),
        ..ChatFilter::default()
    };
    let window = PageWindow {
        skip: 0,
        limit: size(asked.limit),
    };
    let found = chats::list_readable(ambit, who, &filter, window).await?;
    let chats = &found.part.items;
    if asked.json {
        chats.iter().try_for_each(|chat| json_line(out, chat))?;
    } else {
        let rows: Vec<[String; 6]> = chats.iter().map(cells_of).collect();
        Table::new(HEADINGS).print(out, &rows)?;
    }
    out.flush()?;
    let left = found.part.total.saturating_sub(chats.len() as u64);
    match left {
        _ if asked.json => {}
        0 if chats.is_empty() && found.unreadable.is_empty() => eprintln!("no chat matches"),
        0 => {}
        left => eprintln!("{left} more; --limit shows more of them"),
    }
    tell_unreadable(ambit, &found.unreadable, window.limit)
}

/// Says of some chats what would let them be read, and how many more there are.
fn tell_unreadable(ambit: &Ambit, rows: &[IndexRow], most: usize) -> Result<CommandOutcome> {
    for row in rows.iter().take(most) {
        let chat = one_line(row.identity.chat_name().unwrap_or_default());
        let why = unreadable(ambit, row)?;
        eprintln!("ambit: chat \"{chat}\" (context {}) {why}", row.id);
    }
    if rows.len() > most {
        let more = rows.len() - most;
        eprintln!("ambit: {more} more chats lie in stores that are not given");
    }
    Ok(match rows.is_empty() {
        true => CommandOutcome::Done,
        false => CommandOutcome::SomeFailed,
    })
}

/// Why a chat cannot be read, and what would make it work.
fn unreadable(ambit: &Ambit, row: &IndexRow) -> Result<String> {
    let stores = ambit.stores();
    let missing = stores.missing(&row.placement);
    if missing.is_empty() {
        let why = stores.chain(&row.placement).err();
        let why = why.map_or_else(String::new, |error| format!(": {error}"));
        return Ok(format!("is not listed{}", one_line(&why)));
    }
    let index = stores.index()?;
    let given = index.names().iter().map(String::as_str);
    let all = given.chain(missing.iter().copied());
    let all: Vec<String> = all.map(|name| format!("--store {name}=URL")).collect();
    let quoted: Vec<String> = missing.iter().map(|name| format!("\"{name}\"")).collect();
    let place = one_line(&quoted.join(", "));
    Ok(format!(
        "is not listed: it lies in the store {place}, which is not given; name all stores, that of the index first: {}",
        one_line(&all.join(" "))
    ))
}

fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn cells_of(chat: &ChatInfo) -> [String; 6] {
    [
        filled_or_dash(&chat.chat_id),
        filled_or_dash(&chat.title),
        one_line(&chat.assistant_id),
        or_dash(chat.user_id.as_deref()),
        status(chat).to_owned(),
        timestamp::show(chat.last_message_at),
    ]
}

fn status(chat: &ChatInfo) -> &'static str {
    match (chat.status, &chat.running) {
        (_, Some(_)) => "running",
        (ChatStatus::Active, None) => "active",
        (ChatStatus::Archived, None) => "archived",
    }
}

/// A chat as it is printed as JSON.
#[derive(Serialize)]
struct ChatWithMessages<'a> {
    #[serde(flatten)]
    chat: &'a ChatInfo,
    messages: &'a [ChatMessageView],
    next: Option<u64>,
}

async fn show(
    ambit: &Ambit,
    who: &Authorized,
    asked: &ShowChatArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let name = ChatName {
        chat_id: asked.chat.as_deref().unwrap_or(NAMELESS),
        assistant_id: asked.agent.as_deref(),
        context: asked.context.as_deref(),
    };
    let filter = MessageFilter {
        before: asked.before,
        limit: size(asked.limit),
        ..MessageFilter::default()
    };
    let refused = |error: Error| named_as_options(&error, name);
    let chat = chats::get(ambit, who, name).await;
    let chat = chat.map_err(refused)?;
    let page = chats::messages(ambit, who, name, &filter).await;
    let page = page.map_err(refused)?;
    if !asked.json {
        print(&chat, &page, out)?;
        return Ok(CommandOutcome::Done);
    }
    let whole = ChatWithMessages {
        chat: &chat,
        messages: &page.items,
        next: page.next,
    };
    json_line(out, &whole)?;
    Ok(CommandOutcome::Done)
}

/// What the library calls a parameter is an option here, and a list is a command.
fn named_as_options(error: &Error, name: ChatName<'_>) -> CommandError {
    if error.code == ErrorCode::NotFound {
        return CommandError::NotFound {
            what: match name.context {
                Some(id) => format!("chat with the context \"{id}\""),
                None => format!("chat \"{}\"", name.chat_id),
            },
            advice: "`ambit chats ls` lists chats, a person's with --user",
        };
    }
    let message = error.to_string();
    let message = message.replace("assistant_id", "--agent");
    let message = message.replace("its id in /contexts", "its id with --context");
    CommandError::Refused(message)
}

fn print(chat: &ChatInfo, page: &ChatMessagePage, out: &mut Output) -> std::io::Result<()> {
    let fields = [
        ("chat", filled_or_dash(&chat.chat_id)),
        ("title", filled_or_dash(&chat.title)),
        ("agent", one_line(&chat.assistant_id)),
        ("user", or_dash(chat.user_id.as_deref())),
        ("team", or_dash(chat.team_id.as_deref())),
        ("status", status(chat).to_owned()),
        ("context", one_line(&chat.context)),
        ("created", timestamp::show(chat.created_at)),
        ("last active", timestamp::show(chat.last_message_at)),
    ];
    for (name, value) in fields {
        print_field(out, name, &value)?;
    }
    writeln!(out)?;
    for message in &page.items {
        let at = timestamp::show(message.created_at);
        writeln!(out, "{at}  {}: {}", message.role, text(message))?;
    }
    out.flush()?;
    if let Some(next) = page.next {
        eprintln!("earlier messages: --before {next}");
    }
    Ok(())
}

/// A message in words; further lines of its text stand below its beginning.
fn text(message: &ChatMessageView) -> String {
    let text = match message.props.get("content") {
        Some(Value::String(text)) => escape_control(text).replace('\n', "\n      "),
        _ => one_line(&Value::Object(message.props.clone()).to_string()),
    };
    match message.kind.as_str() {
        "text" | USER_INPUT => text,
        kind => format!("({}) {text}", one_line(kind)),
    }
}
