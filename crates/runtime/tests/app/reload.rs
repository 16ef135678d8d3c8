//! A loaded app and what becomes of its files.

use crate::support::{folder, write};
use ambit_runtime::app::App;
use std::collections::BTreeMap;

#[test]
fn g122_a_loaded_app_stays_as_it_was_and_a_broken_one_says_so() {
    let root = folder(&[
        ("assistants/a/package.yao", "name: Before"),
        (
            "assistants/a/prompts.yml",
            "- { role: system, content: See @assets/a.md }",
        ),
        ("assistants/a/assets/a.md", "before"),
    ]);
    let load = || App::load(root.path(), &BTreeMap::new());
    let before = load().unwrap();
    assert_eq!(before.errors().count(), 0, "a reload takes this one");

    write(
        root.path(),
        "assistants/a/package.yao",
        "name: Broken\nconnector: [x]",
    );
    write(root.path(), "assistants/a/assets/a.md", "after");
    let broken = load().unwrap();
    assert_eq!(
        broken.errors().count(),
        1,
        "a reload refuses this one as a whole"
    );

    write(root.path(), "assistants/a/package.yao", "name: After");
    let after = load().unwrap();
    assert_eq!(after.errors().count(), 0);
    let told = |app: &App| {
        let agent = app.agent("a").unwrap();
        (
            agent.package.name.clone(),
            agent.prompts[0].assets["a.md"].to_string(),
        )
    };
    assert_eq!(told(&before), ("Before".to_owned(), "before".to_owned()));
    assert_eq!(told(&after), ("After".to_owned(), "after".to_owned()));
}
