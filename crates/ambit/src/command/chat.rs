//! `ambit chat`: a conversation in the terminal, with an app that runs in this process or with a server.

mod citations;
mod local_peer;
mod remote_peer;
mod screen;

use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::settings::StoreOptions;
use clap::Args;
use futures::StreamExt;
use futures::stream::BoxStream;
use local_peer::LocalPeer;
use remote_peer::RemotePeer;
use screen::ChatScreen;
use serde_json::Value;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use tokio::sync::mpsc;

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
    /// The folder of the app that runs here
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = ".",
        conflicts_with = "url"
    )]
    app: PathBuf,
    /// A server to talk to instead; the variable AMBIT_TOKEN holds the token or API key for it
    #[arg(long)]
    url: Option<String>,
}

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
    let outcome = talk(&peer, arguments.chat.clone()).await;
    let closed = peer.close().await;
    let outcome = outcome?;
    closed?;
    Ok(outcome)
}

async fn talk(peer: &ChatPeer, mut chat: Option<String>) -> Result<CommandOutcome> {
    let mut lines = lines();
    let mut screen = ChatScreen::new();
    let mut outcome = CommandOutcome::Done;
    loop {
        screen.ask_for_line()?;
        let line = tokio::select! {
            line = lines.recv() => line,
            stop = tokio::signal::ctrl_c() => stop.map(|()| None)?,
        };
        let Some(line) = line else {
            screen.end(chat.as_deref())?;
            return Ok(outcome);
        };
        let text = line?;
        if text.trim().is_empty() {
            continue;
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
    loop {
        let chunk = tokio::select! {
            chunk = answer.chunks.next() => chunk,
            stop = tokio::signal::ctrl_c() => {
                stop?;
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

/// The input's lines. The thread that reads them waits for a person and cannot be called off; it ends with the input or the
/// program.
fn lines() -> mpsc::Receiver<std::io::Result<String>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Whether a person sits before the program.
fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}
