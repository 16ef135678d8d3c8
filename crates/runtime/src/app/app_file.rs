//! `app.yao`: the app's name and Ambit's settings.

use super::Visibility;
use super::app_console::AppConsole;
use super::app_mcp_server::AppMcpServer;
use super::app_search::AppSearch;
use super::limits::LimitSettings;
use crate::config;
use crate::net::AllowedHost;
use ambit_telemetry::otlp::conventions::ConventionVersion;
use std::time::Duration;

config! {
    /// `app.yao`: the app's name and Ambit's settings.
    pub struct AppFile {
        /// What people call the app.
        name: String,
        /// The app's version.
        version: String,
        /// What the app is for.
        description: String,
        /// What is Ambit's.
        ambit: AppSettings,
        open "Other keys belong to Yao and are not looked at."
    }

    /// Ambit's settings of an app.
    pub struct AppSettings {
        /// What scripts may use.
        limits: LimitSettings,
        /// What scripts and prompts reach.
        #[guard]
        capabilities: AppCapabilities,
        /// Streams of turns.
        stream: StreamSettings,
        /// The feed of events.
        events: EventSettings,
        /// Memory.
        memory: MemorySettings,
        /// Traces of turns.
        trace: TracingSettings,
        /// What leaves in telemetry.
        telemetry: TelemetrySettings,
        /// Chats that clients of OpenAI's Responses have begun.
        responses: ResponsesSettings,
        /// Searches.
        search: AppSearch,
        /// The app as a tool server.
        mcp_server: AppMcpServer,
        /// The web console.
        console: AppConsole,
        /// The address that clients know the server by, such as `https://ambit.example.com`.
        public_url: Option<String>,
        /// Who sees agents that do not say it themselves: `private` unless the server runs without sign-in.
        #[guard]
        visibility: Option<DefaultVisibility>,
    }

    /// What scripts and prompts reach.
    pub struct AppCapabilities {
        /// The hosts that scripts and messages may reach: `api.example.com`, `*.example.com`, `https://host:port`, or an object.
        http: Vec<AllowedHost>,
        /// The processes that scripts may call; `*` stands for any characters.
        #[guard]
        process: Vec<String> = ["models.*", "scripts.*", "agents.*", "stores.*", "utils.*", "agent.Call", "kb.*"],
        /// The variables that prompts may show.
        prompt_env: Vec<String>,
    }

    /// Streams of turns.
    pub struct StreamSettings {
        /// How long a stream can be read again behind its turn's end.
        retention: Duration = "24h",
    }

    /// The feed of events.
    pub struct EventSettings {
        /// Whether the feed tells what messages, calls and answers say.
        content: bool,
    }

    /// Memory.
    pub struct MemorySettings {
        /// How long values live that are set without a time of their own.
        default_ttl: MemoryLife,
    }

    /// How long values of memory live, by namespace; 0 says nothing.
    pub struct MemoryLife {
        /// In `ctx.memory.user`.
        user: Option<Duration>,
        /// In `ctx.memory.team`.
        team: Option<Duration>,
        /// In `ctx.memory.chat`.
        chat: Option<Duration>,
        /// In `ctx.memory.context`.
        context: Option<Duration>,
    }

    /// Traces of turns.
    pub struct TracingSettings {
        /// Whether traces are written.
        enabled: bool = true,
        /// How long a trace is kept behind its turn's end.
        retention: Duration = "30d",
    }

    /// What leaves in telemetry, where the environment names a collector of OpenTelemetry.
    pub struct TelemetrySettings {
        /// Whether spans hold what was said: messages, instructions, what tools were called with and gave.
        content: TelemetryContent = "none",
        /// How spans name users and tenants.
        user: TelemetryUser = "hashed",
        /// The version of OpenTelemetry's conventions for generative AI that names follow.
        semconv: TelemetryConventions = "1.41",
        /// The share of traces that is sent, from 0 to 1; what a caller's `traceparent` says counts before that.
        sample: f64 = 1.0,
        /// The hosts that models, scripts and tools tell of the trace that a request is part of: `api.example.com`, `*.example.com` or `https://host:port`.
        propagate: Vec<AllowedHost>,
    }

    /// Whether spans hold what was said.
    pub enum TelemetryContent {
        /// They do not.
        None = "none",
        /// They do.
        Full = "full",
    }

    /// How spans name users and tenants.
    pub enum TelemetryUser {
        /// By a digest.
        Hashed = "hashed",
        /// As they are.
        Plain = "plain",
        /// Not at all.
        None = "none",
    }

    /// Versions of OpenTelemetry's conventions for generative AI.
    pub enum TelemetryConventions {
        /// The last one of the common conventions.
        V141 = "1.41",
        /// What has come of it since.
        Latest = "latest",
    }

    /// Chats that clients of OpenAI's Responses have begun.
    pub struct ResponsesSettings {
        /// How long such a chat is kept without use.
        retention: Duration = "30d",
    }

    /// Who sees agents that do not say it themselves.
    pub enum DefaultVisibility {
        /// Their owners.
        Private = "private",
        /// Everybody.
        Public = "public",
    }
}

impl From<TelemetryConventions> for ConventionVersion {
    fn from(conventions: TelemetryConventions) -> Self {
        match conventions {
            TelemetryConventions::V141 => Self::V1_41,
            TelemetryConventions::Latest => Self::Latest,
        }
    }
}

impl MemoryLife {
    /// In the namespace of this name.
    pub fn of(&self, namespace: &str) -> Option<Duration> {
        match namespace {
            "user" => self.user,
            "team" => self.team,
            "chat" => self.chat,
            "context" => self.context,
            _ => None,
        }
    }
}

impl From<DefaultVisibility> for Visibility {
    fn from(default: DefaultVisibility) -> Self {
        match default {
            DefaultVisibility::Private => Self::Private,
            DefaultVisibility::Public => Self::Public,
        }
    }
}
