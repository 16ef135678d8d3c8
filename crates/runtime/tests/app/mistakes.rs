//! Mistakes in files, and what is told of each, word for word.

use crate::support::{load, texts};

/// A file, its text, and all that is said about the app that has it.
pub struct Case(
    pub &'static str,
    pub &'static str,
    pub &'static [&'static str],
);

pub const CASES: &[Case] = &[
    Case(
        "assistants/a/package.yao",
        "{\n  \"name\": \"A\",\n  \"conector\": \"x\"\n}",
        &[
            "Warning assistants/a/package.yao:3:3: unknown key \"conector\"; did you mean \"connector\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\", \"options\": { \"temprature\": 1 } }",
        &[
            "Warning assistants/a/package.yao:1:29: unknown key \"options.temprature\"; did you mean \"temperature\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\", \"nothing_like_it\": 1 }",
        &["Warning assistants/a/package.yao:1:16: unknown key \"nothing_like_it\""],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\", \"options\": { \"temperature\": \"warm\" } }",
        &[
            "Error assistants/a/package.yao:1:44: \"options.temperature\" must be a number, not a string",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nname: B\n",
        &["Error assistants/a/package.yao:2:1: \"name\" is given twice, first on line 1"],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\", \"uses\": { \"web\": \"a\", \"web\": \"b\" } }",
        &["Error assistants/a/package.yao:1:38: \"web\" is given twice, first on line 1"],
    ),
    Case(
        "assistants/a/package.yao",
        "description: nameless\n",
        &["Error assistants/a/package.yao:1:1: \"name\" is missing"],
    ),
    Case(
        "assistants/a/package.yao",
        "",
        &["Error assistants/a/package.yao:1:1: \"name\" is missing"],
    ),
    Case(
        "assistants/a/package.yao",
        "- name: A\n",
        &["Error assistants/a/package.yao:1:1: the file must hold an object, not a list"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\ntype: asistant\n",
        &[
            "Error assistants/a/package.yao:2:7: \"type\" must be \"assistant\" or \"worker\"; did you mean \"assistant\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\ntags: [x, 1, ]\n",
        &["Error assistants/a/package.yao:2:11: \"tags[1]\" must be a string, not a number"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nmcp: { servers: [{ server_id: x, tool: [] }] }\n",
        &[
            "Error assistants/a/package.yao:2:34: unknown key \"mcp.servers[0].tool\"; did you mean \"tools\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nmcp: { servers: [{ x: { resource: [] } }] }\n",
        &[
            "Error assistants/a/package.yao:2:25: unknown key \"mcp.servers[0].x.resource\"; did you mean \"resources\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nruntime: { https: [] }\n",
        &[
            "Error assistants/a/package.yao:2:12: unknown key \"runtime.https\"; did you mean \"http\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nruntme: { http: [] }\n",
        &["Error assistants/a/package.yao:2:1: unknown key \"runtme\"; did you mean \"runtime\"?"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nmcp: { servers: [{ x: tool }] }\n",
        &[
            "Error assistants/a/package.yao:2:23: \"mcp.servers[0].x\" must be a list or an object, not a string",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nmcp: { options: { timeout: soon } }\n",
        &[
            "Error assistants/a/package.yao:2:28: \"mcp.options.timeout\" is no duration: \"30s\" would be one; units are ms, s, m, h and d",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nruntime: { limits: { heap: 64 megs, cpus: 1 } }\n",
        &[
            "Error assistants/a/package.yao:2:28: \"runtime.limits.heap\" is no size: \"64MiB\" would be one; units are B, kB, MB, GB, KiB, MiB and GiB",
            "Warning assistants/a/package.yao:2:37: unknown key \"runtime.limits.cpus\"; did you mean \"cpu\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\" \"type\": \"worker\" }",
        &["Error assistants/a/package.yao:1:14: expected comma"],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": 'A' }",
        &["Error assistants/a/package.yao:1:11: single-quoted strings are not allowed"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: [A\n",
        &["Error assistants/a/package.yao:1:7: unclosed bracket '['"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\n\tsort: 1\n",
        &["Error assistants/a/package.yao:1:7: while scanning a plain scalar, found a tab"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\ndb: [a, b]\nkb: docs\nsearch: true\n",
        &[
            "Warning assistants/a/package.yao:2:5: \"db\" must be an object, not a list: it is left out",
            "Warning assistants/a/package.yao:3:5: \"kb\" must be an object, not a string: it is left out",
            "Warning assistants/a/package.yao:4:9: \"search\" must be an object, not a boolean: it is left out",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\ndb: { models: orders }\n",
        &["Error assistants/a/package.yao:2:15: \"db.models\" must be a list, not a string"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\noptions: { seed: 1e999 }\n",
        &["Error assistants/a/package.yao:2:18: the number is out of range"],
    ),
    Case(
        "connectors/c.conn.yao",
        "{ \"type\": \"openai\", \"options\": { \"modle\": \"x\" } }",
        &[
            "Warning connectors/c.conn.yao:1:34: unknown key \"options.modle\"; did you mean \"model\"?",
        ],
    ),
    Case(
        "connectors/c.conn.yao",
        "{ \"options\": {} }",
        &["Error connectors/c.conn.yao:1:1: \"type\" is missing"],
    ),
    Case(
        "connectors/c.conn.yao",
        "{ \"type\": \"opnai\" }",
        &[
            "Warning connectors/c.conn.yao:1:11: nothing can use this connector: its type is none of openai, anthropic, gemini, \
         ollama, scripted, redis, sqlite3, postgres; did you mean \"openai\"?",
        ],
    ),
    Case(
        "connectors/c.conn.yao",
        "type: scripted\noptions: { rules: [{ match: { last_user: \"(\" } }] }\n",
        &[
            "Error connectors/c.conn.yao:2:42: \"options.rules[0].match.last_user\" is no regular expression: unclosed group",
        ],
    ),
    Case(
        "connectors/c.conn.yao",
        "type: scripted\noptions: { rules: [{ match: { lastuser: x }, zzz: x }] }\n",
        &[
            "Warning connectors/c.conn.yao:2:31: unknown key \"options.rules[0].match.lastuser\"; did you mean \"last_user\"?",
            "Warning connectors/c.conn.yao:2:46: unknown key \"options.rules[0].zzz\"",
        ],
    ),
    Case(
        "connectors/c.conn.yao",
        "type: scripted\noptions: { rules: [{ delay: soon, tool_calls: [{ arguments: {} }] }] }\n",
        &[
            "Error connectors/c.conn.yao:2:29: \"options.rules[0].delay\" is no duration: \"30s\" would be one; units are ms, s, m, h and d",
            "Error connectors/c.conn.yao:2:48: \"options.rules[0].tool_calls[0].name\" is missing",
        ],
    ),
    Case(
        "connectors/c.conn.yao",
        "type: openai\noptions: { timeout: soon }\n",
        &[
            "Error connectors/c.conn.yao:2:21: \"options.timeout\" is no duration: \"30s\" would be one; units are ms, s, m, h and d",
        ],
    ),
    Case(
        "connectors/c.yao",
        "type: openai\n",
        &["Notice connectors/c.yao: the file is not read: nothing of this name has a meaning here"],
    ),
    Case(
        "stores/s.lru.yao",
        "{ \"option\": { \"size\": -1 } }",
        &[
            "Error stores/s.lru.yao:1:23: \"option.size\" must be a whole number from 0 on, not a number",
        ],
    ),
    Case(
        "stores/s.lru.yao",
        "{ \"optoin\": {} }",
        &["Warning stores/s.lru.yao:1:3: unknown key \"optoin\"; did you mean \"option\"?"],
    ),
    Case(
        "stores/s.xun.yao",
        "name: S\nconnector: cache\n",
        &["Error stores/s.xun.yao:2:12: there is no connector \"cache\""],
    ),
    Case(
        "stores/s.redis.yao",
        "{}",
        &["Error stores/s.redis.yao:1:1: a store in Redis needs \"connector\""],
    ),
    Case(
        "stores/s.lru.yao",
        "{ \"connector\": \"c\" }",
        &[
            "Error stores/s.lru.yao:1:16: a store in memory has no connector: leave \"connector\" or the kind \"lru\" out",
        ],
    ),
    Case(
        "stores/__yao/session.lru.yao",
        "{}",
        &[
            "Error stores/__yao/session.lru.yao:1:1: names that begin with \"__yao.\" are not the app's; rename the file",
        ],
    ),
    Case(
        "mcps/m.mcp.yao",
        "transport: pipe\n",
        &[
            "Error mcps/m.mcp.yao:1:12: \"transport\" must be \"process\", \"stdio\", \"http\" or \"sse\"",
        ],
    ),
    Case(
        "agent/agent.yml",
        "usess: {}\n",
        &["Warning agent/agent.yml:1:1: unknown key \"usess\"; did you mean \"uses\"?"],
    ),
    Case(
        "agent/agent.yaml",
        "uses: {}\n",
        &["Notice agent/agent.yaml: the file is not read: nothing of this name has a meaning here"],
    ),
    Case(
        "agent/prompts.yml",
        "- role: sistem\n  content: x\n- content: y\n",
        &[
            "Error agent/prompts.yml:1:9: \"[0].role\" must be \"system\", \"developer\", \"user\" or \"assistant\"; \
         did you mean \"system\"?",
            "Error agent/prompts.yml:3:3: \"[1].role\" is missing",
        ],
    ),
    Case(
        "agent/prompts.yml",
        "- role: system\n  content: See @assets/rules.md.\n",
        &[
            "Error agent/prompts.yml:2:12: @assets/rules.md is not there: agent/assets has no such file",
        ],
    ),
    Case(
        "agent/prompts.yml",
        "- role: system\n  content: See @assets/../agent.yml\n",
        &[
            "Error agent/prompts.yml:2:12: @assets/../agent.yml is not there: agent/assets/.. has no such file",
        ],
    ),
    Case(
        "agent/prompts.yml",
        "- role: system\n  content: See @assets/rules.pdf, @assets/.\n",
        &[
            "Error agent/prompts.yml:2:12: @assets/rules.pdf cannot be put into a prompt: its name must end in md, yml, yaml, json or txt",
        ],
    ),
    Case(
        "agent/agent.yml",
        "system:\n  default: gone\n  light: $ENV.LIGHT\n",
        &[
            "Warning agent/agent.yml:2:12: \"system.default\": the app has no connector \"gone\"",
            "Warning agent/agent.yml:3:10: $ENV.LIGHT is not set and counts as \"\"",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nconnector_options: { optional: true, connectors: [gone, use::x] }\n",
        &[
            "Warning assistants/a/package.yao:2:51: \"connector_options.connectors[0]\": the app has no connector \"gone\"",
        ],
    ),
    Case(
        "agent/search.yml",
        "web: { provider: tavli, api_key_env: $ENV.NOT_SET }\n",
        &[
            "Warning agent/search.yml:1:18: \"web.provider\": no provider \"tavli\" searches the web; did you mean \"tavily\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nsearch: { web: { provider: custom-provider } }\n",
        &[
            "Warning assistants/a/package.yao:2:28: \"search.web.provider\": no provider \"custom-provider\" searches the web",
        ],
    ),
    Case(
        "agent/search.yml",
        "web: { provider: http, http: { method: PUT } }\n",
        &[
            "Error agent/search.yml:1:40: \"web.http.method\" must be \"GET\" or \"POST\"; did you mean \"POST\"?",
        ],
    ),
    Case(
        "connectors/c.conn.yao",
        "type: openai\noptions: { model: m, price: { input: 1, ouput: 2 } }\n",
        &[
            "Warning connectors/c.conn.yao:2:41: unknown key \"options.price.ouput\"; did you mean \"output\"?",
        ],
    ),
    Case(
        "app.yao",
        "name: A\nambit: { limits: { memory_list: 7 } }\n",
        &[
            "Notice app.yao:2:20: \"ambit.limits.memory_list\" has no effect: a list of memory has at most 100000 items",
        ],
    ),
    Case(
        "agent/locales/en-us.yml",
        "- a\n",
        &["Error agent/locales/en-us.yml:1:1: the file must hold an object, not a list"],
    ),
    Case(
        ".env",
        "A=1\nno value\n2B=1\nC=\"open\n",
        &[
            "Error .env:2: a line must be NAME=value, a comment or empty",
            "Error .env:3: the name before = must be letters, digits and _",
            "Error .env:4: the quotes around the value are not closed",
        ],
    ),
    Case(
        "assistants/ambit/conversations/package.yao",
        "name: A\n",
        &[
            "Error assistants/ambit/conversations/package.yao: the id \"ambit.conversations\" is that of conversations without an agent; rename the folder",
        ],
    ),
    Case(
        "asistants/a/package.yao",
        "name: A\n",
        &["Notice asistants: the folder is not read; did you mean \"assistants\"?"],
    ),
];

#[test]
fn g146_a_wrong_file_is_told_with_its_place_and_the_nearest_known_key() {
    let mut wrong = Vec::new();
    for Case(file, text, expected) in CASES {
        let told = texts(&load(&[(file, text)]).problems);
        if told != *expected {
            wrong.push(format!(
                "{file}: {text}\n  told: {told:#?}\n  expected: {expected:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
