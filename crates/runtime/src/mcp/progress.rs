//! Calls of tools whose servers say how far they have come.

use super::notifications::McpNotifications;
use super::session::McpClient;
use crate::lock::lock;
use crate::tool::{ProgressListener, ToolProgress};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CancelledNotificationParam,
    ClientRequest, ProgressNotificationParam, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleClient, ServiceError};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// Reports that are kept until whoever asked knows by which token they are told.
const EARLY: usize = 16;

/// Who is told of the progress of which call.
#[derive(Default)]
pub struct ProgressReports(Mutex<ProgressListeners>);

#[derive(Default)]
struct ProgressListeners {
    by_token: HashMap<ProgressToken, ProgressListener>,
    /// The latest reports that nobody listened to.
    early: VecDeque<(ProgressToken, ToolProgress)>,
}

impl ProgressReports {
    /// Takes in what a server says.
    pub fn take(&self, told: ProgressNotificationParam) {
        let progress = ToolProgress {
            progress: told.progress,
            total: told.total,
            message: told.message,
        };
        let mut listeners = lock(&self.0);
        if let Some(listener) = listeners.by_token.get(&told.progress_token) {
            return listener.report(progress);
        }
        listeners.early.truncate(EARLY - 1);
        listeners.early.push_front((told.progress_token, progress));
    }

    fn listen(&self, token: ProgressToken, listener: &ProgressListener) {
        let mut listeners = lock(&self.0);
        let known = listeners.early.iter().find(|(early, _)| *early == token);
        if let Some((_, progress)) = known {
            listener.report(progress.clone());
        }
        listeners.by_token.insert(token, listener.clone());
    }

    fn forget(&self, token: &ProgressToken) {
        lock(&self.0).by_token.remove(token);
    }
}

/// Calls a tool, and tells the listener how far it has come. Dropping the future tells the server that nobody waits any more.
pub async fn call_tool(
    client: &McpClient,
    notifications: &Arc<McpNotifications>,
    params: CallToolRequestParams,
    listener: &ProgressListener,
) -> Result<CallToolResponse, ServiceError> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let options = PeerRequestOptions::no_options();
    let peer = client.peer();
    let handle = peer.send_cancellable_request(request, options).await?;
    let token = handle.progress_token.clone();
    notifications.progress().listen(token.clone(), listener);
    let mut call = ReportedCall {
        peer: peer.clone(),
        notifications: notifications.clone(),
        token,
        unanswered: Some(handle.id.clone()),
    };
    let result = handle.await_response().await;
    call.unanswered = None;
    match result? {
        ServerResult::CallToolResult(result) => Ok(CallToolResponse::Complete(result)),
        ServerResult::InputRequiredResult(result) => Ok(CallToolResponse::InputRequired(result)),
        ServerResult::CreateTaskResult(result) => Ok(CallToolResponse::Task(result)),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// A call that is listened to. Dropped before its answer, it is called off.
struct ReportedCall {
    peer: Peer<RoleClient>,
    notifications: Arc<McpNotifications>,
    token: ProgressToken,
    unanswered: Option<RequestId>,
}

impl Drop for ReportedCall {
    fn drop(&mut self) {
        self.notifications.progress().forget(&self.token);
        let Some(id) = self.unanswered.take() else {
            return;
        };
        let why = "request abandoned by the caller".to_owned();
        let params = CancelledNotificationParam::new(Some(id), Some(why));
        let peer = self.peer.clone();
        // It ends when the connection has taken the message, or is closed.
        tokio::spawn(async move {
            let _ = peer.notify_cancelled(params).await;
        });
    }
}
