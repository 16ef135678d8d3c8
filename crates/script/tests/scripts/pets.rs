//! A host for tests: it answers at once or late, fails, panics and calls back.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use crate::support::hosted;
use ambit_script::{
    Host, HostApi, HostCall, HostClass, HostError, HostMethod, HostObject, HostValue,
};
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};
use tokio::sync::Semaphore;

/// A host that shows what can be done.
pub struct Pets {
    /// How many have been let go that wait.
    gate: Semaphore,
}

impl Pets {
    pub fn new() -> Self {
        let gate = Semaphore::new(0);
        Self { gate }
    }
}

/// What it offers.
pub fn surface() -> HostApi {
    let class = |name: &str, methods: &[&str]| HostClass {
        name: name.to_owned(),
        methods: methods.iter().map(|name| HostMethod::new(name)).collect(),
    };
    let globals = [
        "echo",
        "fail",
        "failAsException",
        "late",
        "panic",
        "panicLate",
        "each",
        "eachAtOnce",
        "Store",
        "http.Get",
        "gone",
        "absent",
    ]
    .map(HostMethod::new);
    let promised =
        ["later", "laterFail", "eachLater", "waits", "lets", "never"].map(HostMethod::promise);
    HostApi {
        classes: vec![
            class("Context", &["Send"]),
            class("Memory", &["Get", "Set", "Same"]),
        ],
        globals: globals
            .into_iter()
            .chain(promised)
            .chain([HostMethod::new("lenient").lenient()])
            .collect(),
        unavailable: vec!["FS".to_owned()],
    }
}

fn memory(owner: &str) -> HostValue {
    HostValue::Object(HostObject {
        class: "Memory".to_owned(),
        handle: json!(owner),
        members: vec![("space".to_owned(), json!(owner).into())],
    })
}

fn ctx() -> HostValue {
    let spaces = ["user", "team"].map(|owner| (owner.to_owned(), memory(owner)));
    HostValue::Object(HostObject {
        class: "Context".to_owned(),
        handle: json!({"turn": 7}),
        members: vec![
            ("chat_id".to_owned(), json!("c1").into()),
            ("memory".to_owned(), HostValue::Map(spaces.into())),
        ],
    })
}

impl Host for Pets {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            let first = call.arguments.first().cloned().unwrap_or_default();
            match call.method.as_str() {
                "late" | "later" => tokio::task::yield_now().await,
                "waits" => self.gate.acquire().await.unwrap().forget(),
                "lets" => self.gate.add_permits(1),
                "fail" | "laterFail" => {
                    let mut error = HostError::new("not_found", "no such pet");
                    error.status = Some(404.0);
                    return Err(error);
                }
                "failAsException" => {
                    return Err(HostError {
                        message: "closed".to_owned(),
                        status: Some(423.0),
                        name: Some("Exception"),
                        ..HostError::default()
                    });
                }
                "never" => std::future::pending().await,
                "panic" => panic!("a bug of the host"),
                "panicLate" => {
                    tokio::task::yield_now().await;
                    panic!("a late bug of the host")
                }
                "each" | "eachLater" => return each(&call).await,
                "eachAtOnce" => return each_at_once(&call).await,
                "Store" => return Ok(memory(first.as_str().unwrap())),
                "gone" => return Ok(HostValue::Undefined),
                "Same" => return Ok(HostValue::Receiver),
                "absent" => return Ok(json!(call.undefined).into()),
                _ => {}
            }
            Ok(HostValue::Json(
                json!({"class": call.class, "handle": call.handle, "method": call.method, "arguments": call.arguments}),
            ))
        })
    }
}

/// Calls the function it was given for each item.
async fn each(call: &HostCall) -> Result<HostValue, HostError> {
    let mut answers = Vec::new();
    for item in call.arguments[0].as_array().unwrap() {
        tokio::task::yield_now().await;
        match call.callbacks[0]
            .call(vec![item.clone(), json!(call.callbacks[0].path)])
            .await
        {
            Ok(answer) => answers.push(answer),
            Err(thrown) if thrown.message == "carry on" => answers.push(json!(thrown.to_string())),
            Err(_) => {
                return Err(HostError {
                    from_callback: true,
                    ..HostError::default()
                });
            }
        }
    }
    Ok(Json::Array(answers).into())
}

/// Calls the function for all items at the same time.
async fn each_at_once(call: &HostCall) -> Result<HostValue, HostError> {
    let items = call.arguments[0].as_array().unwrap();
    let answers = items
        .iter()
        .map(|item| call.callbacks[0].call(vec![item.clone()]));
    let answers = futures::future::try_join_all(answers).await;
    Ok(Json::Array(answers.unwrap()).into())
}

/// What `Create` of this file returns.
pub async fn pets(text: &str) -> Json {
    hosted(surface(), Pets::new(), text, vec![ctx()])
        .await
        .unwrap()
        .value
        .unwrap_or_default()
}
