//! The table of processes.

use crate::place::place;
use ambit_runtime::app::App;
use ambit_runtime::ctx;
use ambit_runtime::process::store::OpenStores;
use ambit_runtime::process::{FAMILIES, ProcessRegistry};
use ambit_script::{Engine, EngineSettings, SourceFolder};
use ambit_storage::Stores;
use ambit_storage::driver::DriverOptions;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[tokio::test]
async fn every_family_has_the_names_that_it_tells_and_no_others() {
    let files = [
        ("scripts/a.ts", "export function F() {} function G() {}"),
        ("assistants/hello/src/b.ts", "export default { H() {} };"),
        ("stores/s.lru.yao", "{}"),
    ];
    let place = place(&files, "0").await;
    let app = Arc::new(App::load(place.app.path(), &BTreeMap::new()).unwrap());
    let engine = Engine::new(&EngineSettings::default(), ctx::surface()).unwrap();
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    let stores = Arc::new(OpenStores::new(Arc::new(stores)));
    let folder = SourceFolder::new(place.app.path()).unwrap();
    let catalogue = ProcessRegistry::load(&app, &engine, &folder, stores);
    let mut prefixes = BTreeSet::new();
    for family in FAMILIES {
        assert!(prefixes.insert(family.prefix), "{} twice", family.prefix);
        let names = (family.names)(&catalogue);
        assert!(!names.is_empty(), "{} tells no names", family.prefix);
        for name in names {
            assert_eq!(name.split('.').next(), Some(family.prefix));
            assert!(
                (family.has)(&catalogue, &name),
                "{name} is told but not there"
            );
            assert!(!(family.has)(&catalogue, &format!("{name}X")), "{name}X");
        }
        assert!(!(family.has)(&catalogue, family.prefix));
    }
}
