//! Stored data stays data, whatever it looks like.

use crate::place::{ask, end, place, request};
use serde_json::{Map, Value, json};

/// Data that would become something else for whoever let data choose a type, a prototype or code.
fn lures() -> Value {
    json!({
        "$type": "Context", "__class": "Space", "class": "Space", "handle": {"context": 0}, "constructor": {"prototype": {"bad": true}},
        "lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "false"}, "!!js/function": "function () {}",
        "toJSON": "return 1", "then": "function (resolve) { resolve(1) }", "code": "export function Create() { throw 1 }",
        "template": "${globalThis} {{$ENV.HOME}} $ENV.HOME <script>1</script>",
    })
}

const HOOKS: &str = r#"
    function look(value: any) {
        return {
            same: JSON.stringify(value),
            plain: Object.getPrototypeOf(value) === Object.prototype,
            methods: Object.keys(value).filter(key => typeof value[key] === "function"),
            polluted: ({} as any).bad === undefined && ({} as any).polluted === undefined,
        };
    }
    export function Create(ctx: any, messages: any[]) {
        const text = messages[messages.length - 1].content;
        if (text === "store") {
            const data = { ...ctx.metadata.lures, ["__proto__"]: { polluted: true } };
            ctx.memory.user.Set("lure", data);
            ctx.memory.chat.Push("lures", data);
            ctx.Send({ type: "Context", props: data });
            return { messages };
        }
        const found = [ctx.memory.user.Get("lure"), ctx.memory.chat.ArrayGet("lures", 0), ctx.metadata.lures].map(look);
        return { metadata: { found, asked: messages.map(message => message.content) } };
    }
    export function Next(ctx: any) { return { data: { found: ctx.metadata.found, asked: ctx.metadata.asked } }; }
"#;

#[tokio::test]
async fn g073_what_is_stored_is_never_turned_into_code_or_a_type() {
    let package = (
        "assistants/pet/package.yao",
        r#"{"name": "Pet", "connector": "echo"}"#,
    );
    let place = place(&[package, ("assistants/pet/src/index.ts", HOOKS)]).await;
    let code = lures().to_string();
    let with = |text: &str| {
        let mut request = request("pet", text);
        request.metadata = Map::from_iter([("lures".to_owned(), lures())]);
        request
    };
    for text in ["store", &code, "look"] {
        let frames = ask(&place, with(text)).await;
        assert_eq!(end(&frames)["status"], "completed", "{}", end(&frames));
        if text != "look" {
            continue;
        }
        let next = end(&frames)["next"].clone();
        let data = next.get("data").cloned().unwrap_or(next);
        for found in data["found"].as_array().unwrap() {
            assert_eq!(found["plain"], true, "{found}");
            assert_eq!(found["polluted"], true, "{found}");
            assert_eq!(found["methods"], json!([]), "{found}");
            let mut same: Value = serde_json::from_str(found["same"].as_str().unwrap()).unwrap();
            // A member of that name is an ordinary one, or was never taken over.
            same.as_object_mut().unwrap().remove("__proto__");
            assert_eq!(same, lures());
        }
        assert_eq!(data["found"].as_array().unwrap().len(), 3);
        let asked = data["asked"].as_array().unwrap();
        assert!(asked.contains(&json!(code)), "{asked:?}");
    }
}
