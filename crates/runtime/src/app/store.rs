//! `stores/**.yao`: named stores of the app.

use super::Store;
use super::loader::Loader;
use super::problem::Problem;
use super::read::{Field, Kind};
use std::collections::BTreeMap;
use std::sync::Arc;

const TABLE: Kind = Kind::Object(&[
    Field::new("name", Kind::Text),
    Field::new("description", Kind::Text),
    Field::new("label", Kind::Text),
    Field::new("type", Kind::OneOf(&["lru", "xun"])),
    Field::new("connector", Kind::Text),
    Field::new(
        "option",
        Kind::Object(&[
            Field::new("size", Kind::Count),
            Field::new("ttl", Kind::Duration),
        ]),
    ),
]);

/// Reads all stores. The last part of a file's name says its kind, as in `cache.lru.yao`.
pub fn load(loader: &mut Loader) -> BTreeMap<String, Result<Arc<Store>, Problem>> {
    let files = loader.items(
        "stores",
        &[".lru.yao", ".xun.yao", ".redis.yao", ".store.yao"],
    );
    let stores = files.into_iter().map(|(id, file)| {
        let store = file.and_then(|file| one(loader, &id, &file));
        (id, store.map(Arc::new))
    });
    stores.collect()
}

fn one(loader: &mut Loader, id: &str, file: &str) -> Result<Store, Problem> {
    let fields = loader.fields(file, &TABLE)?;
    let is_named_lru = file.ends_with(".lru.yao");
    let option = fields.object("option");
    Ok(Store {
        id: id.to_owned(),
        name: fields.text("name"),
        description: fields.text("description"),
        is_lru: fields
            .optional("type")
            .map_or(is_named_lru, |kind| kind == "lru"),
        connector: fields.optional("connector"),
        size: option.count("size"),
        ttl: option.seconds("ttl"),
    })
}
