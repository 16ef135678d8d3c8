//! What `ambit serve` prints when it listens: where the server is, and how to talk to it.

use crate::settings::serve::ServerAddress;
use ambit::auth::Authenticator;
use ambit_runtime::app::{App, AppAgent};
use ambit_runtime::{Authorized, DataConstraints};

/// A server as it is greeted with.
pub struct Greeting<'a> {
    /// The app.
    pub app: &'a App,
    /// Who may call.
    pub auth: &'a Authenticator,
    /// What paths begin with.
    pub base: &'a str,
    /// Where it listens.
    pub address: ServerAddress,
    /// Where its data is.
    pub data: &'a str,
    /// Where its console is, or why there is none.
    pub console: &'a str,
    /// The options with which `ambit keys` means its keys.
    pub keys_of: &'a str,
}

impl Greeting<'_> {
    /// Prints it; the last line is one to try.
    pub fn print(&self) {
        let Self { app, base, .. } = self;
        let is_development = self.auth.is_development();
        let usable = app.agents.values().filter_map(|agent| agent.as_ref().ok());
        let asked: Vec<_> = usable.filter(|agent| !agent.is_worker()).collect();
        let agents: Vec<&str> = asked.iter().map(|agent| agent.id.as_str()).collect();
        let url = self.address.url();
        println!("Ambit serves {} on {url}{base}", name(app));
        println!(
            "agents: {}",
            if agents.is_empty() {
                "none".to_owned()
            } else {
                agents.join(", ")
            }
        );
        if is_development {
            println!(
                "development mode: whoever reaches this address is the developer, so it is reached from this machine alone"
            );
        }
        println!("data: {}", self.data);
        let server = self.address.local_url();
        println!("routes: {server}/openapi.json");
        println!("console: {}", self.console);
        let public = asked.iter().find(|agent| self.is_public(agent));
        let config = self.auth.config();
        if !is_development && config.has_api_keys {
            let sees_all = !asked.is_empty() && config.rules.roles().any(|role| role == "admin");
            let role = match public.is_none() && sees_all {
                true => " --role admin",
                false => "",
            };
            println!("a key: ambit keys new --user ann{role}{}", self.keys_of);
        }
        let agent = public.or(asked.first());
        let agent = agent.map_or("AGENT", |agent| agent.id.as_str());
        let token = match is_development {
            true => "",
            false => " -H 'authorization: Bearer TOKEN'",
        };
        println!(
            "try: curl -N {server}{base}/chat/completions{token} -d '{{\"model\":\"{agent}\",\"stream\":true,\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'"
        );
    }

    /// Whether callers see an agent of whom nothing is known.
    fn is_public(&self, agent: &AppAgent) -> bool {
        let stranger = Authorized {
            constraints: DataConstraints::usual(&Authorized::default()),
            ..Authorized::default()
        };
        let is_development = self.auth.is_development();
        self.app.visible(agent, &stranger, is_development)
    }
}

fn name(app: &App) -> String {
    match app.name.is_empty() {
        true => app.root.display().to_string(),
        false => format!("\"{}\"", app.name),
    }
}
