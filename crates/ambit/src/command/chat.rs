//! `ambit chat`: a conversation in the terminal, with an app that runs in this process or with a server.

mod citations;
mod input;
mod local_peer;
mod remote_peer;
mod screen;

use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::settings::{StoreOptions, history_file};
use clap::Args;
use futures::StreamExt;
use futures::stream::BoxStream;
use input::ChatInput;
use local_peer::LocalPeer;
pub(super) use local_peer::agents;
use remote_peer::RemotePeer;
use screen::ChatScreen;
use serde_json::Value;
use std::io::IsTerminal;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Args, Debug)]
pub struct ChatArguments {
    /// The agent, by its id
    agent: String,
    /// The chat to go on with; a new one if not given
    #[arg(long)]
    chat: Option<String>,
    /// Who is talking, to an app that runs here; acts without limits on data, whatever the app's access rules say
    #[arg(long, default_value = "dev", conflicts_with = "url")]
    user: String,
    /// The folder of the app that runs here, else AMBIT_APP, else the one that the program is started in
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    app: Option<PathBuf>,
    /// A server to talk to instead; the variable AMBIT_TOKEN holds the token or API key for it
    #[arg(long)]
    url: Option<String>,
    /// Keeps nothing of what is typed; else the last lines are in `ambit/chat-history` below XDG_STATE_HOME or ~/.local/state
    #[arg(long)]
    no_history: bool,
}

/// What can be done besides saying something.
const HELP: &str = "\
/help    shows this
Ctrl-C   stops the answer that comes, else ends
Ctrl-D   ends; the chat is kept, and --chat goes on with it
Up Down  what was typed before; Ctrl-R looks for it
Anything else is said to the agent.
";

/// Whom this is a conversation with.
enum ChatPeer {
    Here(Box<LocalPeer>),
    There(RemotePeer),
}

/// One answer, on its way.
struct ChatAnswer {
    /// The turn.
    request_id: String,
    /// The chat, also where nobody named one.
    chat: String,
    /// Chunks of OpenAI's chat completions.
    chunks: BoxStream<'static, Result<String>>,
}

impl ChatPeer {
    async fn ask(&self, chat: Option<&str>, text: &str) -> Result<ChatAnswer> {
        match self {
            Self::Here(here) => here.ask(chat, text).await,
            Self::There(there) => there.ask(chat, text).await,
        }
    }

    async fn cancel(&self, request_id: &str) -> Result<()> {
        match self {
            Self::Here(here) => here.cancel(request_id).await,
            Self::There(there) => there.cancel(request_id).await,
        }
    }

    /// What the searches of a turn have found, as the route of references has it.
    async fn references(&self, request_id: &str) -> Result<Value> {
        match self {
            Self::Here(here) => here.references(request_id).await,
            Self::There(there) => there.references(request_id).await,
        }
    }

    async fn close(self) -> Result<()> {
        match self {
            Self::Here(here) => here.close().await,
            Self::There(_) => Ok(()),
        }
    }
}

/// Talks until the input ends or Ctrl-C is pressed while nothing runs.
pub async fn run(arguments: &ChatArguments, stores: &StoreOptions) -> Result<CommandOutcome> {
    let peer = match &arguments.url {
        Some(url) => ChatPeer::There(RemotePeer::new(url, &arguments.agent)?),
        None => ChatPeer::Here(Box::new(LocalPeer::open(arguments, stores).await?)),
    };
    let history = history_file().filter(|_| !arguments.no_history);
    let input = ChatInput::open(history);
    let outcome = talk(&peer, arguments.chat.clone(), input).await;
    let closed = peer.close().await;
    let outcome = outcome?;
    closed?;
    Ok(outcome)
}

async fn talk(
    peer: &ChatPeer,
    mut chat: Option<String>,
    mut input: ChatInput,
) -> Result<CommandOutcome> {
    // On a terminal the editor reads Ctrl-C, and has to put the terminal back.
    let is_piped = !is_terminal();
    let mut screen = ChatScreen::new();
    let mut outcome = CommandOutcome::Done;
    loop {
        let line = tokio::select! {
            line = input.line() => line?,
            stop = tokio::signal::ctrl_c(), if is_piped => stop.map(|()| None)?,
        };
        let Some(text) = line else {
            screen.end(chat.as_deref())?;
            return Ok(outcome);
        };
        match text.trim() {
            "" => continue,
            "/help" => {
                eprint!("{HELP}");
                continue;
            }
            _ => {}
        }
        let asked = match peer.ask(chat.as_deref(), &text).await {
            Ok(answer) => {
                chat = Some(answer.chat.clone());
                show(peer, answer, &mut screen).await
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = asked {
            screen.failure(&failure.to_string())?;
            outcome = CommandOutcome::SomeFailed;
        }
    }
}

/// Shows an answer as it comes. Ctrl-C cancels its turn, and its end is shown still.
async fn show(peer: &ChatPeer, mut answer: ChatAnswer, screen: &mut ChatScreen) -> Result<()> {
    let mut failed = None;
    // One for all of the answer: what comes while a part of it is written counts too.
    let mut interrupt = signal(SignalKind::interrupt())?;
    loop {
        let chunk = tokio::select! {
            chunk = answer.chunks.next() => chunk,
            _ = interrupt.recv() => {
                peer.cancel(&answer.request_id).await?;
                continue;
            }
        };
        let Some(chunk) = chunk else { break };
        if let Some(message) = screen.chunk(&chunk?)? {
            failed = Some(message);
        }
    }
    let cited = citations::cited(&screen.end_answer()?);
    if !cited.is_empty() {
        match peer.references(&answer.request_id).await {
            Ok(references) => screen.references(&citations::lines(&references, &cited))?,
            Err(error) => screen.failure(&format!("what is cited cannot be listed: {error}"))?,
        }
    }
    failed.map_or(Ok(()), |message| Err(CommandError::Refused(message)))
}

/// What is said where an agent is not there: which there are.
pub(super) fn unknown_agent(message: &str, agents: &[String]) -> CommandError {
    let list = agents.join(", ");
    CommandError::Refused(match (agents.is_empty(), message.ends_with('?')) {
        (true, _) => message.to_owned(),
        (false, true) => format!("{message} The agents are: {list}"),
        (false, false) => format!("{message}; the agents are: {list}"),
    })
}

/// Whether a person sits before the program.
fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}
