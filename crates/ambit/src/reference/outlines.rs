//! Which reference pages there are about the files of an app, and what stands on them beside the tables.

use ambit_runtime::app::read::PageOutline;

/// What all of them have in common; the list of pages begins with it.
pub const HEAD: &str = "\
An app is a folder. `.yao` files are JSON with comments and trailing commas where they begin with `{` or `[`, else YAML; `.yml` files
are YAML. In place of a value, `$ENV.NAME` stands for a variable of the environment or of the file `.env`, but for prompts, which keep
their variables until a turn needs them. `null` is as good as not given. A key that is not listed is a warning and has no effect; in
`openapi/` it is an error, and elsewhere where it looks like `permission`, `crypt` or `ambit.visibility`.

A duration is a number of seconds or a text such as `\"30s\"`, with `ms`, `s`, `m`, `h` or `d`. A size is a number of bytes or a text
such as `\"64MiB\"`, with `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` or `GiB`. Keys of a nested object are written with dots; `[]` is each item of
a list and `<name>` each key of an object whose keys one chooses.

`ambit check` says what is wrong in an app, with file and line, and ends with 1 where that is an error; `ambit check --strict` also where it
is a warning. It warns of an agent with prompts or tools whose connector is that of a role that none has, and that nobody can choose another
for. `ambit schema`, called in the app's folder, writes JSON Schemas of these files to `.vscode/schemas`, where editors look for them
(`ambit schema FOLDER` to a folder of your choice, for schemas alone); `ambit new` puts them into a new app.

The examples of these pages are the files of one app, [reference/app](reference/app), which has most keys that there are. It is there to be
read: to serve it, set the variables that `ambit check docs/reference/app` names, and name a store as it does, with
`--store primary=sqlite:shop.db`.
";

/// The pages.
pub const PAGES: &[PageOutline] = &[
    PageOutline {
        name: "app",
        title: "The app",
        about: "One file makes a folder an app. What its values look like is said on the [list of files](../app-files.md).",
        kinds: &["app"],
    },
    PageOutline {
        name: "agent",
        title: "Agents",
        about: "An agent is a folder below `assistants/`. Its hooks are in its `src/index.ts`: [hooks](../hooks.md), [ctx](../ctx.md).",
        kinds: &["agents", "package"],
    },
    PageOutline {
        name: "prompts",
        title: "Prompts",
        about: "What a model is told before the conversation. Which variables there are is said in [hooks](../hooks.md).",
        kinds: &["prompts"],
    },
    PageOutline {
        name: "connectors",
        title: "Connectors",
        about: "A connector is a model of a provider, or a place that keeps the values of [stores](stores.md). Which options there are depends \
                on its `type`: `openai` (and whatever speaks as OpenAI does), `anthropic`, `gemini`, `ollama` and `scripted` are models; \
                `redis`, `sqlite3` and `postgres` are places.",
        kinds: &["connector"],
    },
    PageOutline {
        name: "tool-servers",
        title: "Tool servers and mappings",
        about: "Whose tools agents use, and how processes of the app become tools, resources and prompts. [Tools](../tools.md) tells how they \
                work together; what a tool takes is JSON Schema, in `mcps/mapping/<server>/schemes/<tool>.in.yao`.",
        kinds: &["server", "resource", "prompt"],
    },
    PageOutline {
        name: "models",
        title: "Models",
        about: "A model is a table. [Processes](../processes.md) tells how its rows are read and written.",
        kinds: &["model"],
    },
    PageOutline {
        name: "stores",
        title: "Stores",
        about: "A store keeps values by keys, for scripts: [processes](../processes.md).",
        kinds: &["store"],
    },
    PageOutline {
        name: "search",
        title: "Search and knowledge",
        about: "What is searched before a model is called, and collections whose documents are files of the app: [search](../search.md).",
        kinds: &["search", "collection"],
    },
    PageOutline {
        name: "access",
        title: "Access",
        about: "Who is calling, and what they may call: [who may do what](../access.md). Here a key that is not known is an error.",
        kinds: &["openapi", "roles", "scopes"],
    },
];
