//! Who may see which agent.

use crate::support::load;
use ambit_runtime::Authorized;
use ambit_runtime::DataConstraints;
use ambit_runtime::app::App;

/// A caller with the default constraints of their kind.
fn caller(user: &str, team: &str) -> Authorized {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Authorized {
        user_id: given(user),
        team_id: given(team),
        constraints: DataConstraints {
            owner_only: team.is_empty(),
            team_only: !team.is_empty(),
            ..DataConstraints::default()
        },
        ..Authorized::default()
    }
}

fn app(visibility: &str) -> App {
    load(&[
        ("app.yao", &format!("{{\"ambit\": {{{visibility}}}}}")),
        ("assistants/open/package.yao", "name: x\npublic: true"),
        (
            "assistants/mine/package.yao",
            "name: x\nshare: private\n__yao_created_by: alice\n__yao_team_id: red",
        ),
        (
            "assistants/ours/package.yao",
            "name: x\nshare: team\n__yao_created_by: alice\n__yao_team_id: red",
        ),
        ("assistants/teamless/package.yao", "name: x\nshare: team"),
        ("assistants/silent/package.yao", "name: x"),
        ("assistants/closed/package.yao", "name: x\npublic: false"),
        (
            "assistants/foreign/package.yao",
            "name: x\npublic: true\n__yao_tenant_id: acme",
        ),
    ])
}

fn seen(app: &App, who: &Authorized, is_development: bool) -> Vec<String> {
    let agents = app.agents.values().flatten();
    let seen = agents.filter(|agent| app.visible(agent, who, is_development));
    seen.map(|agent| agent.id.clone()).collect()
}

#[test]
fn an_agent_is_seen_by_those_it_is_shared_with() {
    let app = app("");
    let who = |user, team| seen(&app, &caller(user, team), false);
    assert_eq!(who("alice", ""), ["mine", "open", "ours"]);
    assert_eq!(who("bob", "red"), ["open", "ours"]);
    assert_eq!(who("bob", "blue"), ["open"]);
}

#[test]
fn a_caller_without_constraints_sees_all_of_the_tenant() {
    let app = app("");
    let admin = Authorized {
        user_id: Some("root".to_owned()),
        ..Authorized::default()
    };
    assert_eq!(
        seen(&app, &admin, false),
        ["closed", "mine", "open", "ours", "silent", "teamless"]
    );
    let other = Authorized {
        tenant_id: Some("acme".to_owned()),
        ..admin
    };
    assert!(seen(&app, &other, false).contains(&"foreign".to_owned()));
}

#[test]
fn nobody_in_particular_sees_only_what_is_public() {
    assert_eq!(seen(&app(""), &Authorized::default(), false), ["open"]);
}

#[test]
fn an_agent_that_says_nothing_follows_the_app_and_development_mode() {
    let bob = caller("bob", "");
    assert_eq!(seen(&app(""), &bob, true), ["open", "silent"]);
    assert_eq!(
        seen(&app("\"visibility\": \"public\""), &bob, false),
        ["open", "silent"]
    );
    assert_eq!(
        seen(&app("\"visibility\": \"private\""), &bob, true),
        ["open"]
    );
}
