//! What a server tells beside answers: that lists have changed, and how far calls have come. And that its connection has ended.

use super::progress::ProgressReports;
use super::request::McpListKind;
use crate::llm::Secrets;
use crate::lock::lock;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProtocolVersion,
    ServerCapabilities, SubscriptionFilter,
};
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, Peer, RoleClient};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

/// From one attempt to be told of changes to the next.
const AGAIN: Duration = Duration::from_secs(30);

/// What is known of a server beside its answers.
pub struct McpNotifications {
    name: String,
    secrets: Arc<Secrets>,
    /// How often each list has changed.
    changes: [AtomicU64; 3],
    /// The server cannot tell of changes at the moment, so that no list of it lasts.
    is_interrupted: AtomicBool,
    /// Messages that may have been seen by the server, where the transport counts them.
    sent: AtomicU64,
    end: Mutex<Option<String>>,
    progress: ProgressReports,
}

impl McpNotifications {
    /// For the connection to this server.
    pub fn new(name: &str, secrets: Arc<Secrets>) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            secrets,
            changes: Default::default(),
            is_interrupted: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            end: Mutex::default(),
            progress: ProgressReports::default(),
        })
    }

    /// The server's id.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The connection has ended. The first reason is the one.
    pub fn ended(&self, why: String) {
        let mut end = lock(&self.end);
        end.get_or_insert(why);
    }

    /// Why the connection has ended.
    pub fn end(&self) -> Option<String> {
        let end = lock(&self.end);
        end.clone()
    }

    /// The server may see a message.
    pub fn sends(&self) {
        self.sent.fetch_add(1, Ordering::SeqCst);
    }

    /// How many messages the server may have seen; 0 where nobody counts.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// Who is told of the progress of calls.
    pub fn progress(&self) -> &ProgressReports {
        &self.progress
    }

    /// What must not be told.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// How often a list has changed.
    pub fn change(&self, list: McpListKind) -> u64 {
        self.changes[list as usize].load(Ordering::SeqCst)
    }

    /// Whether the server cannot tell of changes at the moment.
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::SeqCst)
    }

    /// Notes that the server cannot tell of changes from now on, or can.
    pub fn set_interrupted(&self, is_interrupted: bool) {
        self.is_interrupted.store(is_interrupted, Ordering::SeqCst);
    }

    fn changed(&self, list: McpListKind) {
        self.changes[list as usize].fetch_add(1, Ordering::SeqCst);
    }

    fn all_changed(&self) {
        for count in &self.changes {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl ClientHandler for McpNotifications {
    fn get_info(&self) -> ClientConfig {
        let itself = Implementation::new("ambit", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), itself)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.take(told);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(McpListKind::Tools);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(McpListKind::Resources);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(McpListKind::Prompts);
    }
}

/// The changes that a server says it tells of.
pub fn changes(capabilities: &ServerCapabilities) -> Option<SubscriptionFilter> {
    let mut filter = SubscriptionFilter::new();
    let tools = capabilities.tools.as_ref();
    filter.tools_list_changed = tools.and_then(|it| it.list_changed).filter(|it| *it);
    let prompts = capabilities.prompts.as_ref();
    filter.prompts_list_changed = prompts.and_then(|it| it.list_changed).filter(|it| *it);
    let resources = capabilities.resources.as_ref();
    filter.resources_list_changed = resources.and_then(|it| it.list_changed).filter(|it| *it);
    (filter != SubscriptionFilter::new()).then_some(filter)
}

/// Takes in changes for as long as the connection lasts, and says when the server has first confirmed that it tells of them.
pub async fn listen(
    peer: Peer<RoleClient>,
    notifications: Arc<McpNotifications>,
    filter: SubscriptionFilter,
    confirm: oneshot::Sender<()>,
) {
    let mut confirm = Some(confirm);
    while !peer.is_transport_closed() {
        if let Ok(mut subscription) = peer.listen(filter.clone()).await {
            notifications.all_changed();
            notifications.set_interrupted(false);
            // Nobody waits any more where the server was slow.
            let _ = confirm.take().map(|confirm| confirm.send(()));
            while let Ok(Some(_)) = subscription.next().await {
                notifications.all_changed();
            }
            notifications.set_interrupted(true);
        }
        drop(confirm.take());
        tokio::time::sleep(AGAIN).await;
    }
}
