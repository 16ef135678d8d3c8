//! Documents that hold up whoever reads them.

use crate::world::{World, file, settings};
use ambit_knowledge::{DocumentStatus, KnowledgeBase, KnowledgeSettings, NewDocument};
use std::path::Path;
use std::time::Duration;

/// What a test says is too long.
const TIME: Duration = Duration::from_millis(100);

pub async fn g207_a_document_whose_reader_hangs_fails_with_the_limit_and_others_go_on(
    world: World,
) {
    let endless = "../extract/tests/children/endless.sh";
    let base = KnowledgeBase::open(KnowledgeSettings {
        extract_program: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join(endless)),
        extract_time: TIME,
        ..settings(world.driver.clone())
    });
    world.collection("c").await;
    for (id, name, bytes) in [
        ("a", "a.pdf", &b"%PDF-1.7"[..]),
        ("b", "b.md", b"The heron stands."),
        ("c", "c.html", b"<p>A stork."),
    ] {
        let new = NewDocument {
            id: Some(id.to_owned()),
            ..NewDocument::of(file(name, bytes))
        };
        base.add_document(&world.ann, "c", new).await.unwrap();
    }
    base.work().await.unwrap();
    for id in ["a", "c"] {
        let document = world.document(id).await;
        let told = (document.status, document.error.as_deref());
        let expected = (DocumentStatus::Failed, Some("stopped at a limit: 0.1 s"));
        assert_eq!(told, expected, "{id}");
    }
    assert_eq!(world.found("c", "heron").await.len(), 1);
}
