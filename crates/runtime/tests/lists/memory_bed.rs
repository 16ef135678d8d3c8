//! Large memories, and what their indexes hold.

use crate::bed::Bed;
use crate::memory::which;
use ambit_runtime::memory_search::{MemoryMatch, MemorySearch};
use ambit_runtime::{Authorized, Result, inspect};
use ambit_storage::Json;
use ambit_storage::address::Space;
use ambit_storage::batch::BatchWrite;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::memory::Memory;
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::{Value, json};

/// The write that puts a value.
pub fn put(space: &Space, key: &str, value: &Value) -> BatchWrite {
    let set = Operation::Set(Json::of(value).unwrap().into());
    BatchWrite::apply(space.key(key), set, None)
}

/// The text with a word of its own for each `#` and number.
pub fn words(text: &str) -> String {
    // Without vowels no language has a stem of it.
    let letter = |sign: char| match sign.to_digit(10) {
        Some(digit) => char::from(b"bcdfghjklm"[digit as usize]),
        None => 'x',
    };
    let words = text.split(' ').map(|word| match word.starts_with('#') {
        true => word.chars().map(letter).collect(),
        false => word.to_owned(),
    });
    words.collect::<Vec<String>>().join(" ")
}

pub fn search_for(text: &str) -> MemorySearch {
    MemorySearch::new(words(text))
}

/// The values of a large memory.
pub fn numbered(numbers: std::ops::Range<usize>) -> impl Iterator<Item = (String, Value)> {
    numbers.map(|at| {
        let group = if at % 2 == 0 { "even" } else { "odd" };
        let text = words(&format!("#{at} of many {}", "words ".repeat(at % 7)));
        let value = json!({"text": text, "n": at, "group": group});
        (format!("{group}/k{at:05}"), value)
    })
}

pub async fn user_memory(bed: &Bed, who: &Authorized) -> Memory {
    let open = inspect::memory::open(&bed.ambit, who, which("user", None));
    open.await.unwrap().memory
}

/// A person's memory with so many values.
pub async fn large(bed: &Bed, who: &Authorized, values: usize) -> Memory {
    let memory = user_memory(bed, who).await;
    fill(bed, &memory, values).await;
    memory
}

pub async fn fill(bed: &Bed, memory: &Memory, values: usize) {
    let space = memory.location().unwrap().space;
    let writes = numbered(0..values).map(|(key, value)| put(&space, &key, &value));
    bed.commit(writes).await;
}

pub async fn try_search(memory: &Memory, search: MemorySearch) -> Result<Vec<MemoryMatch>> {
    search.limit(100).unwrap().of(memory).await
}

/// The keys that are found, the best first.
pub async fn keys_with(memory: &Memory, text: &str) -> Vec<String> {
    let found = try_search(memory, search_for(text)).await.unwrap();
    found.into_iter().map(|found| found.key).collect()
}

/// All that the index of a memory has, names and pages, as text.
pub async fn index_of(bed: &Bed, memory: &Memory) -> String {
    let location = memory.location().unwrap();
    let driver = bed.driver.as_ref();
    let mut all = String::new();
    for space in [location.index(), Space::memory_indexes()] {
        let mut pages = ValuePages::of(driver, &space, Pattern::all(), ValuePart::Whole);
        while let Some(page) = pages.next().await.unwrap() {
            for (name, entry) in page {
                let text = entry.value.as_str();
                let decoded = STANDARD_NO_PAD.decode(text.trim_matches('"'));
                let bytes = decoded.unwrap_or_else(|_| text.as_bytes().to_vec());
                all += &format!("{name} {}\n", String::from_utf8_lossy(&bytes));
            }
        }
    }
    all
}
