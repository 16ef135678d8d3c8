//! Searches of conversations, as tests make them.

use crate::bed::{Bed, ann};
use crate::chats::{ALL, named};
use crate::messages::store;
use ambit_runtime::chats::{self, ChatFilter, MessageFilter};
use ambit_runtime::recall::{
    self, ChatMatches, ChatMessageMatch, MessageSearch, RecallSettings, SessionSearch,
};
use ambit_runtime::{Authorized, Result};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::Message;
use ambit_storage::{Ambit, LiveAgent};

pub async fn try_find(
    ambit: &Ambit,
    who: &Authorized,
    text: &str,
    filter: &ChatFilter,
) -> Result<ChatMatches> {
    let settings = RecallSettings::default();
    let search = SessionSearch {
        text,
        filter,
        window: ALL,
    };
    recall::search_sessions(ambit, who, &settings, search).await
}

pub async fn find(bed: &Bed, who: &Authorized, text: &str) -> ChatMatches {
    let found = try_find(&bed.ambit, who, text, &ChatFilter::default()).await;
    found.unwrap()
}

/// The names of the chats that are found.
pub async fn chats_with(bed: &Bed, who: &Authorized, text: &str) -> Vec<String> {
    let found = find(bed, who, text).await;
    assert_eq!(found.total, found.items.len() as u64);
    found
        .items
        .into_iter()
        .map(|found| found.chat.chat_id)
        .collect()
}

pub async fn messages_with(
    bed: &Bed,
    text: &str,
    filter: &MessageFilter,
) -> Result<Vec<ChatMessageMatch>> {
    let settings = RecallSettings::default();
    let search = MessageSearch {
        chat: named("c"),
        text,
        filter,
    };
    recall::search_messages(&bed.ambit, &ann(), &settings, search).await
}

/// A chat of many turns, so that its owner's index begins.
pub async fn long_chat(bed: &Bed, who: &Authorized, chat: &str, word: &str) -> LiveAgent {
    let opened = chats::open(&bed.ambit, who, "support", Some(chat)).await;
    let live = opened.unwrap();
    let said = (0..100).map(|at| Message::user(format!("{word} number{at} of many")));
    store(&live, &format!("r-{word}"), said).await;
    live
}

/// How many values the index of this person's conversations has.
pub async fn index_size(bed: &Bed, live: &LiveAgent) -> usize {
    let history = live.history();
    let space = Space::recall("t1", history.identity(), history.placement().names());
    let driver = bed.driver.as_ref();
    let mut pages = ValuePages::of(driver, &space, Pattern::all(), ValuePart::Nothing);
    let mut count = 0;
    while let Some(page) = pages.next().await.unwrap() {
        count += page.len();
    }
    count
}
