//! The app of `fixture/`, which has every kind of file.

use crate::support::{environment, fixture, texts};
use ambit_runtime::app::read::ByteSize;
use ambit_runtime::app::{
    AgentTools, App, AppCapabilities, AppSettings, ConnectorChoice, DefaultVisibility,
    EventSettings, HistoryPlacement, LimitSettings, MemoryLife, MemorySettings, SearchOptions,
    SearchSettings, StoreOptions, StreamSettings, ToolErrorPolicy, ToolOptions, TracingSettings,
    Visibility, WebSearchSettings,
};
use ambit_runtime::llm::capabilities::VisionFormat;
use ambit_runtime::llm::connector::{
    CapabilitySettings, CommonModelOptions, PriceSettings, ProviderOptions,
};
use ambit_runtime::net::{AllowedHost, HostEntry};
use ambit_runtime::tool::ServerSelection;
use ambit_script::ProgramSource;
use serde_json::{Value, json};
use std::time::Duration;

fn app() -> App {
    let given = [("MODEL_KEY", "given"), ("COMPANY", "given")];
    App::load(fixture(), &environment(&given)).unwrap()
}

fn source(file: &str, folder: &str) -> ProgramSource {
    ProgramSource {
        file: file.to_owned(),
        folder: folder.to_owned(),
    }
}

#[test]
fn everything_without_effect_is_told_once_and_nothing_else() {
    let expected = [
        "Warning agent/agent.yml:3:11: \"uses.vision\": the app has no agent \"seer\"",
        "Notice agent/agent.yml:10:1: \"cache\" has no effect in Ambit",
        "Warning agent/search.yml: \"web.results\": the provider \"scripted\" answers from here, and there is nothing",
        "Notice assistants/hello/package.yao:23:3: \"hooks\" has no effect: hooks are found in src/index.ts only",
        "Warning connectors/gpt.conn.yao:7:13: $ENV.MODEL_HOST is not set and counts as \"\"",
        "Notice connectors/old.conn.yao:1:11: nothing can use this connector: its type is none of openai, anthropic, gemini, \
         ollama, scripted, redis, sqlite3, postgres",
        "Notice flows: the folder is not read by Ambit",
    ];
    assert_eq!(texts(&app().problems), expected);
}

#[test]
fn settings_are_those_of_app_yao() {
    let app = app();
    assert_eq!(
        (
            app.name.as_str(),
            app.version.as_str(),
            app.description.as_str()
        ),
        ("Fixture", "1.2.3", "An app with every kind of file")
    );
    let expected = AppSettings {
        limits: LimitSettings {
            cpu: Duration::from_secs(2),
            heap: ByteSize(32 << 20),
            messages: 100,
            ..LimitSettings::default()
        },
        capabilities: AppCapabilities {
            http: vec![
                AllowedHost(HostEntry {
                    host: "api.example.com".to_owned(),
                    ..HostEntry::default()
                }),
                AllowedHost(HostEntry {
                    host: "localhost".to_owned(),
                    private: true,
                    messages: false,
                }),
            ],
            process: vec!["models.*".to_owned()],
            prompt_env: vec!["COMPANY".to_owned()],
        },
        stream: StreamSettings {
            retention: Duration::from_secs(3_600),
        },
        events: EventSettings { content: true },
        memory: MemorySettings {
            default_ttl: MemoryLife {
                chat: Some(Duration::from_secs(604_800)),
                context: Some(Duration::from_secs(90)),
                ..MemoryLife::default()
            },
        },
        trace: TracingSettings {
            enabled: false,
            retention: Duration::from_secs(172_800),
        },
        visibility: Some(DefaultVisibility::Public),
        ..AppSettings::default()
    };
    assert_eq!(app.settings, expected);
}

#[test]
fn defaults_are_those_of_the_agent_folder() {
    let app = app();
    assert_eq!(
        app.defaults.uses,
        environment(&[("default", "hello"), ("vision", "agent:seer")])
    );
    assert_eq!(
        app.defaults.roles,
        environment(&[("default", "models.scripted"), ("light", "gpt")])
    );
    assert_eq!(app.defaults.store.max_size, Some(30));
    assert_eq!(
        app.defaults.store.expiration,
        Some(Duration::from_secs(2_592_000))
    );
    let search = SearchSettings {
        web: WebSearchSettings {
            provider: "scripted".to_owned(),
            ..WebSearchSettings::default()
        },
        options: SearchOptions {
            timeout: Duration::from_secs(3),
            ..SearchOptions::default()
        },
        ..SearchSettings::default()
    };
    assert_eq!(app.search.whole(), search);
    assert_eq!(
        app.prompts[0].content,
        "You work for $ENV.COMPANY. {{ greeting }}"
    );
    assert_eq!(
        app.locales.0["en-us"],
        environment(&[
            ("greeting", "Hello"),
            ("nested.list.0", "first"),
            ("nested.list.1", "second")
        ])
    );
}

fn tools_of(server: &str, tool: &str) -> ServerSelection {
    ServerSelection::Parts {
        server_id: server.to_owned(),
        tools: Some(vec![tool.to_owned()]),
        resources: None,
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one comparison of the whole agent")]
fn an_agent_is_its_folder() {
    let agent = app().agent("hello").unwrap();
    assert_eq!(agent.folder, "assistants/hello");
    let package = &agent.package;
    assert_eq!(
        (package.name.as_str(), package.description.as_str()),
        ("{{ title }}", "Says hello")
    );
    assert_eq!(package.connector, "use::light");
    assert_eq!(
        package.connector_options,
        ConnectorChoice {
            optional: true,
            connectors: vec!["gpt".to_owned()],
            filters: vec!["vision".to_owned()],
        }
    );
    assert_eq!(
        json!(package.options.generation),
        json!({"temperature": 0.3, "stop": ["END"]})
    );
    assert_eq!(
        package.options.history_size,
        Some(12),
        "the variable is a number"
    );
    assert_eq!(package.modes, ["chat", "task"]);
    assert_eq!(package.default_mode, "chat");
    assert_eq!(
        (
            package.seen_by(),
            package.owner.as_deref(),
            package.team.as_deref(),
            package.tenant.as_deref()
        ),
        (Some(Visibility::Team), Some("alice"), Some("red"), None)
    );
    assert_eq!(
        package.mcp,
        AgentTools {
            servers: vec![
                ServerSelection::Whole("echo".to_owned()),
                tools_of("files", "read*"),
                tools_of("web", "get"),
            ],
            options: ToolOptions {
                max_turn: 3,
                tool_error: ToolErrorPolicy::Fail,
                timeout: Duration::from_secs(5),
                ..ToolOptions::default()
            },
        }
    );
    assert_eq!(package.uses, environment(&[("search", "builtin")]));
    assert_eq!(package.runtime.http, Some(vec![]));
    assert_eq!(package.context.group.as_deref(), Some("$CTX.TEAM_ID"));
    assert_eq!(
        package.context.history,
        HistoryPlacement {
            store_meta: true,
            ..HistoryPlacement::default()
        }
    );
    assert_eq!(package.client.roles, ["assistant"]);
    assert_eq!(
        Value::Object(package.display_only.clone()),
        json!({"tags": ["demo"], "sort": 10})
    );
}

#[test]
fn prompts_presets_and_translations_belong_to_the_agent() {
    let agent = app().agent("hello").unwrap();
    assert_eq!(agent.prompts.len(), 1);
    assert_eq!(
        agent.prompts[0].content,
        "You are $CTX.ASSISTANT_NAME. See @assets/rules.md\n"
    );
    assert_eq!(
        &*agent.prompts[0].assets["rules.md"],
        "Never show $CTX.USER_ID.\n"
    );
    let presets: Vec<&str> = agent.presets.keys().map(String::as_str).collect();
    assert_eq!(presets, ["chat.friendly", "chat.prompts"]);
    assert_eq!(
        agent.presets["chat.friendly"][0].name.as_deref(),
        Some("tone")
    );
    let titles: Vec<_> = agent
        .locales
        .0
        .iter()
        .map(|(tag, texts)| (tag.as_str(), texts["title"].as_str()))
        .collect();
    assert_eq!(titles, [("en-us", "Greeter (inline)"), ("zh-cn", "问候者")]);
}

#[test]
fn an_agent_in_yaml_with_inline_prompts_is_one_too() {
    let agent = app().agent("tests.create").unwrap();
    assert!(agent.is_worker());
    assert_eq!(agent.prompts[0].content, "Literally $ENV.COMPANY");
    assert_eq!(agent.package.client.roles, ["assistant", "tool"]);
    assert_eq!(
        agent.hooks.as_deref(),
        Some("assistants/tests/create/src/index.js")
    );
    assert_eq!(agent.package.mcp, AgentTools::default());
}

#[test]
fn scripts_are_found_by_what_they_are_for() {
    let app = app();
    let hello = "assistants/hello";
    let processes: Vec<(&str, &ProgramSource)> = app
        .processes
        .iter()
        .map(|(name, source)| (name.as_str(), source))
        .collect();
    assert_eq!(
        processes,
        [
            (
                "agents.hello.lib.words",
                &source("assistants/hello/src/lib/words.ts", hello)
            ),
            (
                "agents.hello.orders",
                &source("assistants/hello/src/orders.ts", hello)
            ),
            ("scripts.lib.sums", &source("scripts/lib/sums.ts", "")),
        ]
    );
    assert_eq!(
        app.entries(),
        [
            source("assistants/hello/src/index.ts", hello),
            source("assistants/hello/src/context.ts", hello),
            source("assistants/hello/src/events.ts", hello),
            source(
                "assistants/tests/create/src/index.js",
                "assistants/tests/create"
            ),
            source("assistants/hello/src/lib/words.ts", hello),
            source("assistants/hello/src/orders.ts", hello),
            source("scripts/lib/sums.ts", ""),
        ]
    );
}

#[test]
fn a_connector_has_its_variables_replaced() {
    let connector = app().connector("gpt").unwrap();
    assert_eq!(
        (connector.kind.as_str(), connector.label.as_str()),
        ("openai", "GPT")
    );
    let capabilities = CapabilitySettings {
        vision: Some(VisionFormat::OpenAi),
        tool_calls: Some(true),
        ..CapabilitySettings::default()
    };
    let expected = ProviderOptions {
        model: "gpt".to_owned(),
        key: "canary-of-the-env-file".to_owned(),
        timeout: Duration::from_secs(90),
        common: CommonModelOptions {
            capabilities,
            price: Some(PriceSettings {
                input: 1.5,
                output: 6.0,
                ..PriceSettings::default()
            }),
            ..CommonModelOptions::default()
        },
        ..ProviderOptions::default()
    };
    assert!(connector.options.provider == expected, "it holds secrets");
}

#[test]
fn stores_servers_and_access_rules_are_read() {
    let app = app();
    let store = app.store("cache").unwrap();
    assert_eq!(
        (store.is_lru, &store.file.option),
        (
            true,
            &StoreOptions {
                size: 100,
                ttl: Some(Duration::from_secs(60)),
            }
        )
    );
    let shared = app.store("shared").unwrap();
    assert_eq!(
        (shared.is_lru, shared.file.connector.as_deref()),
        (false, Some("cache"))
    );
    let servers: Vec<&str> = app.servers.keys().map(String::as_str).collect();
    assert_eq!(servers, ["agents.hello.notes", "echo", "files", "web"]);
    let notes = app.server("hello", "notes").unwrap();
    assert_eq!(
        notes.settings.connection.authorization_token,
        "canary-of-the-env-file"
    );
    let access: Vec<&str> = app.access.0.keys().map(String::as_str).collect();
    assert_eq!(
        access,
        [
            "openapi/openapi.yao",
            "openapi/roles.yml",
            "openapi/scopes/chat.yml"
        ]
    );
    assert_eq!(
        app.access.0["openapi/openapi.yao"]["auth"]["mode"],
        json!("token")
    );
}
