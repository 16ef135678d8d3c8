//! What is removed leaves no byte in the files of a store.

use crate::world::World;
use ambit_knowledge::NewDocument;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::fs;
use std::path::Path;

/// How many files of a store that is a file hold a text, as it is or as uploads are kept.
fn files_with(world: &World, text: &str) -> usize {
    let Some(file) = world.fresh.place.url.strip_prefix("sqlite:") else {
        return 0;
    };
    let (plain, upload) = (text.as_bytes(), STANDARD_NO_PAD.encode(text));
    let holds = |bytes: &[u8], word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    let names = fs::read_dir(Path::new(file).parent().unwrap()).unwrap();
    let files = names.map(|name| fs::read(name.unwrap().path()).unwrap());
    let with_it = files.filter(|bytes| holds(bytes, plain) || holds(bytes, upload.as_bytes()));
    with_it.count()
}

pub async fn g204_no_file_holds_a_byte_of_a_removed_document(world: World) {
    let text = "The zebracanary sings.";
    world.collection("c").await;
    world.add("c", "stays", "A heron stands there.").await;
    world.add("c", "d", text).await;
    assert_eq!(files_with(&world, text) > 0, world.store.name == "sqlite");
    let removed = world.base.remove_document(&world.ann, "d").await;
    removed.unwrap();
    world.base.work().await.unwrap();
    assert_eq!(files_with(&world, text), 0);
}

pub async fn g204_no_file_holds_a_byte_of_a_replaced_text(world: World) {
    let text = "The zebracanary sings.";
    world.collection("c").await;
    world.add("c", "d", text).await;
    world.replace("d", "A heron stands there.").await;
    assert_eq!(files_with(&world, text) > 0, world.store.name == "sqlite");
    world.base.work().await.unwrap();
    assert_eq!(files_with(&world, text), 0);
}

pub async fn g204_no_file_holds_a_byte_of_a_text_that_was_replaced_before_it_was_read(
    world: World,
) {
    let text = "The zebracanary sings.";
    world.collection("c").await;
    let new = NewDocument {
        id: Some("d".to_owned()),
        ..NewDocument::text("d.md", text)
    };
    let added = world.base.add_document(&world.ann, "c", new).await;
    added.unwrap();
    world.replace("d", "A heron stands there.").await;
    assert_eq!(files_with(&world, text) > 0, world.store.name == "sqlite");
    world.base.work().await.unwrap();
    assert_eq!(files_with(&world, text), 0);
}
