//! Agents of which nothing says who sees them: where callers sign in, most of these get `agent not found`.

use ambit_runtime::app::{App, AppAgent, FileProblem, Severity};

/// Warns of them. One with an owner is that person's, and a worker is called by other agents alone.
pub fn warnings(app: &App) -> Vec<FileProblem> {
    if app.settings.visibility.is_some() {
        return Vec::new();
    }
    let usable = app.agents.values().filter_map(|agent| agent.as_ref().ok());
    let unseen = usable.filter(|agent| is_unsaid(agent));
    let warnings = unseen.map(|agent| {
        let message = "nothing says who sees this agent, so only callers without limits on data do (role \"admin\"); \
             add \"public\": true here, or \"ambit\": { \"visibility\": \"public\" } to app.yao";
        let file = agent.package_file();
        FileProblem::new(Severity::Warning, &file, message)
    });
    warnings.collect()
}

fn is_unsaid(agent: &AppAgent) -> bool {
    let package = &agent.package;
    package.seen_by().is_none() && package.owner.is_none() && !agent.is_worker()
}
