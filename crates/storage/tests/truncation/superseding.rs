//! Superseding the tail of a view, also of one that was truncated.

use crate::support::{Chat, names, said, simple, texts};
use crate::{Case, Place};
use ambit_storage::Error;
use ambit_storage::storage::{Message, OmittedMessages, SupersedableHistory};
use ambit_storage::truncation::{TruncationRequest, TruncationSettings};

pub const CASES: &[Case] = cases![
    g158_any_tail_gives_way_and_comes_back_and_the_archive_stays,
    g158_what_truncation_hides_is_shown_again_in_front_of_what_is_superseded,
    a_summary_goes_with_what_it_stands_for,
    a_removed_message_does_not_come_back_with_what_truncation_hid,
    g160_nothing_is_superseded_where_anything_has_changed,
    what_was_added_since_is_told_from_all_else,
    superseded_messages_are_erased_like_others,
    g167_what_was_erased_is_neither_counted_nor_told,
    the_end_of_a_history_tells_how_much_is_not_in_it,
];

/// Supersedes all from this visible message on, with another one in its place.
async fn supersede(chat: &Chat, at: usize, text: &str) -> Result<Message, Error> {
    let tail = chat.history().supersedable().await.unwrap();
    supersede_in(chat, tail, at, text).await
}

async fn supersede_in(
    chat: &Chat,
    tail: SupersedableHistory,
    at: usize,
    text: &str,
) -> Result<Message, Error> {
    let first = visible(&tail).await[at].0;
    tail.supersede(first, "turn-2").unwrap().stage();
    let added = chat.history().add_message(Message::user(text)).await;
    let saved = chat.agent.context().save().await;
    if saved.is_err() {
        chat.agent.context().discard();
    }
    saved.map(|_| added.unwrap())
}

/// The sequences and messages of all that can be superseded.
async fn visible(tail: &SupersedableHistory) -> Vec<(u64, Message)> {
    let mut all = Vec::new();
    while (all.len() as u64) < tail.count() {
        let mut page = tail.page_before(all.len() as u64).await.unwrap();
        page.reverse();
        all.extend(
            page.into_iter()
                .map(|found| (found.sequence, found.message)),
        );
    }
    all.reverse();
    all
}

fn keeping(keep: usize, threshold: u64) -> TruncationSettings {
    TruncationSettings {
        keep_messages: Some(keep),
        ..simple(threshold)
    }
}

fn roll(seed: &mut u64, sides: usize) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    usize::try_from(*seed >> 11).unwrap() % sides
}

/// A view as it was before an overlay was laid.
struct Before {
    view: Vec<Message>,
    visible: Vec<Message>,
    archived: usize,
}

/// What a conversation must be like, said plainly.
#[derive(Default)]
struct Plain {
    /// All that was ever said.
    all: Vec<Message>,
    /// What of it is neither superseded nor, as far as that goes, truncated.
    visible: Vec<Message>,
    overlays: Vec<Before>,
}

impl Plain {
    fn note_overlay(&mut self, view: &[Message]) {
        self.overlays.push(Before {
            view: view.to_vec(),
            visible: self.visible.clone(),
            archived: self.all.len(),
        });
    }

    /// Each step gives the view that it leads to.
    async fn say(&mut self, chat: &Chat, view: Vec<Message>) -> Vec<Message> {
        let new = chat.say(said("qa")).await;
        self.all.extend(new.clone());
        self.visible.extend(new.clone());
        view.into_iter().chain(new).collect()
    }

    async fn truncate(&mut self, chat: &Chat, view: Vec<Message>) -> Vec<Message> {
        let done = chat.truncate(&TruncationRequest::default()).await.unwrap();
        if done.overlay_id.is_some() {
            self.note_overlay(&view);
        }
        chat.view().await
    }

    async fn supersede(&mut self, chat: &Chat, view: Vec<Message>, at: usize) -> Vec<Message> {
        self.note_overlay(&view);
        let new = supersede(chat, at, "instead").await.unwrap();
        let shown = view.iter().position(|it| *it == self.visible[at]);
        self.visible.truncate(at);
        let left = shown.map_or(&self.visible[..], |shown| &view[..shown]);
        let expected = left.iter().cloned().chain([new.clone()]).collect();
        self.all.push(new.clone());
        self.visible.push(new);
        expected
    }

    async fn restore(&mut self, chat: &Chat, view: Vec<Message>) -> Vec<Message> {
        let Some(earlier) = self.overlays.pop() else {
            return view;
        };
        let id = chat.history().overlay_id().await.unwrap().unwrap();
        chat.history().restore(&id).await.unwrap();
        let since = self.all[earlier.archived..].to_vec();
        self.visible = earlier.visible;
        self.visible.extend(since.clone());
        earlier.view.into_iter().chain(since).collect()
    }
}

async fn g158_any_tail_gives_way_and_comes_back_and_the_archive_stays(place: Place) {
    for round in 0..place.rounds.div_ceil(6) {
        let mut seed = round * 2 + 1;
        let chat = Chat::new(&place, keeping(3, 50)).await;
        let mut plain = Plain::default();
        for _ in 0..16 {
            let view = chat.view().await;
            let count = plain.visible.len();
            let expected = match roll(&mut seed, 5) {
                0 | 1 => plain.say(&chat, view).await,
                2 => plain.truncate(&chat, view).await,
                3 if count > 0 => plain.supersede(&chat, view, roll(&mut seed, count)).await,
                _ => plain.restore(&chat, view).await,
            };
            assert_eq!(texts(&chat.view().await), texts(&expected), "round {round}");
            assert_eq!(chat.archive().await, plain.all);
            let tail = chat.history().supersedable().await.unwrap();
            let now = visible(&tail).await.into_iter().map(|(_, it)| it);
            let now: Vec<Message> = now.collect();
            assert_eq!(now, plain.visible, "round {round}");
        }
        chat.agent.context().remove().await.unwrap();
    }
}

async fn g158_what_truncation_hides_is_shown_again_in_front_of_what_is_superseded(place: Place) {
    let chat = Chat::new(&place, keeping(3, 50)).await;
    chat.say(said("qaqaqaq")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(names(&chat.texts().await), ["q4", "a5", "q6"]);
    supersede(&chat, 6, "q6 again").await.unwrap();
    assert_eq!(names(&chat.texts().await), ["q4", "a5", "q6 again"]);
    // Below the overlay of the first edit the truncation goes on hiding what the second one names.
    supersede(&chat, 2, "q2 again").await.unwrap();
    assert_eq!(names(&chat.texts().await), ["q0", "a1", "q2 again"]);
    let history = chat.history();
    for expected in [
        ["q4", "a5", "q6 again", "q2 again"].as_slice(),
        &["q4", "a5", "q6", "q6 again", "q2 again"],
    ] {
        let id = history.overlay_id().await.unwrap().unwrap();
        history.restore(&id).await.unwrap();
        assert_eq!(names(&chat.texts().await), expected);
    }
}

async fn a_summary_goes_with_what_it_stands_for(place: Place) {
    let summariser = crate::support::Scripted::says([]);
    let strategy = ambit_storage::truncation::SummaryTruncation::new(summariser);
    let settings = TruncationSettings {
        strategy: Some(std::sync::Arc::new(strategy)),
        ..keeping(3, 50)
    };
    let chat = Chat::new(&place, settings).await;
    chat.say(said("qaqaqaq")).await;
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(chat.texts().await.len(), 4);
    supersede(&chat, 6, "later").await.unwrap();
    assert_eq!(chat.texts().await.len(), 4);
    supersede(&chat, 3, "earlier").await.unwrap();
    assert_eq!(names(&chat.texts().await), ["q0", "a1", "q2", "earlier"]);
}

async fn a_removed_message_does_not_come_back_with_what_truncation_hid(place: Place) {
    let chat = Chat::new(&place, keeping(3, 50)).await;
    let all = chat.say(said("qaqaqaq")).await;
    assert!(chat.history().remove_message(&all[1].id).await.unwrap());
    chat.agent.context().save().await.unwrap();
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(names(&chat.texts().await), ["q4", "a5", "q6"]);
    supersede(&chat, 2, "a3 again").await.unwrap();
    assert_eq!(names(&chat.texts().await), ["q0", "q2", "a3 again"]);
}

async fn g160_nothing_is_superseded_where_anything_has_changed(place: Place) {
    let chat = Chat::new(&place, keeping(3, 50)).await;
    let all = chat.say(said("qaqaqa")).await;
    let other = Chat::new(&place, keeping(3, 50)).await;
    for change in 0..4 {
        let tail = chat.history().supersedable().await.unwrap();
        match change {
            0 => drop(other.say(said("q")).await),
            1 => drop(supersede(&other, 4, "first").await.unwrap()),
            2 => {
                let id = other.history().overlay_id().await.unwrap().unwrap();
                other.history().restore(&id).await.unwrap();
            }
            _ => drop(other.history().erase(&[&all[0].id]).await.unwrap()),
        }
        let (view, archive) = (chat.view().await, chat.archive().await);
        let refused = supersede_in(&chat, tail, 2, "second").await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{change}");
        assert_eq!((chat.view().await, chat.archive().await), (view, archive));
    }
    supersede(&chat, 2, "second").await.unwrap();
    assert_eq!(chat.texts().await.last().unwrap(), "second");
}

async fn what_was_added_since_is_told_from_all_else(place: Place) {
    let chat = Chat::new(&place, keeping(3, 50)).await;
    let before = chat.history().position().await.unwrap();
    let all = chat.say(said("qaqaqa")).await;
    let tail = chat.history().supersedable().await.unwrap();
    assert_eq!(tail.added_since(&before).await.unwrap(), Some(all));
    let before = chat.history().position().await.unwrap();
    assert_eq!(tail.added_since(&before).await.unwrap(), Some(Vec::new()));
    // A view that is only made shorter is the same conversation.
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    let tail = chat.history().supersedable().await.unwrap();
    assert_eq!(tail.added_since(&before).await.unwrap(), Some(Vec::new()));
    supersede(&chat, 5, "again").await.unwrap();
    let tail = chat.history().supersedable().await.unwrap();
    assert_eq!(tail.added_since(&before).await.unwrap(), None);
    let before = chat.history().position().await.unwrap();
    chat.agent.context().clear().await.unwrap();
    chat.agent.context().save().await.unwrap();
    let tail = chat.history().supersedable().await.unwrap();
    assert_eq!(tail.added_since(&before).await.unwrap(), None);
}

async fn superseded_messages_are_erased_like_others(place: Place) {
    let chat = Chat::new(&place, keeping(3, 50)).await;
    let all = chat.say(said("qaqa")).await;
    supersede(&chat, 2, "again").await.unwrap();
    assert_eq!(chat.history().erase(&[&all[3].id]).await.unwrap(), 1);
    assert_eq!(chat.archive().await[3].text(), "");
    chat.agent.context().clear().await.unwrap();
    chat.agent.context().save().await.unwrap();
    assert_eq!(chat.archive().await, []);
}

async fn g167_what_was_erased_is_neither_counted_nor_told(place: Place) {
    let chat = Chat::new(&place, keeping(9, 30)).await;
    let all = chat.say(said("qaqaq")).await;
    let erased = [all[1].id.as_str(), all[4].id.as_str()];
    assert_eq!(chat.history().erase(&erased).await.unwrap(), 2);
    let prepared = chat.truncate(&TruncationRequest::default()).await.unwrap();
    assert_eq!(names(&texts(&prepared.messages)), ["q0", "q2", "a3"]);
    assert_eq!((prepared.tokens, prepared.overlay_id), (30, None));
    let end = chat.history().end(2).await.unwrap();
    assert_eq!(end.messages, prepared.messages[1..]);
    assert_eq!(end.omitted.before, 2);
    let end = chat.history().end(3).await.unwrap().messages;
    assert_eq!(end, prepared.messages);
    let last = chat.history().last_message().await.unwrap();
    assert_eq!(last.as_ref(), end.last());
}

async fn the_end_of_a_history_tells_how_much_is_not_in_it(place: Place) {
    let chat = Chat::new(&place, keeping(3, 50)).await;
    chat.say(said("qaqaqa")).await;
    let end = chat.history().end(2).await.unwrap();
    assert_eq!(end.messages, chat.history().tail(2).await.unwrap());
    let expected = OmittedMessages {
        before: 4,
        ..OmittedMessages::default()
    };
    assert_eq!(end.omitted, expected);
    chat.truncate(&TruncationRequest::default()).await.unwrap();
    let shown = chat.view().await.len() as u64;
    let expected = OmittedMessages {
        before: shown - 2,
        truncated: 6 - shown,
        superseded: 0,
    };
    assert_ne!(expected.truncated, 0);
    assert_eq!(chat.history().end(2).await.unwrap().omitted, expected);
    let tail = chat.history().supersedable().await.unwrap();
    let first = visible(&tail).await[4].0;
    let left = tail.supersede(first, "turn-2").unwrap();
    let left = left.end(9).await.unwrap();
    let truncated = 4 - left.messages.len() as u64;
    let omitted = left.omitted;
    assert_eq!((omitted.truncated, omitted.superseded), (truncated, 2));
    supersede(&chat, 4, "again").await.unwrap();
    let omitted = chat.history().end(9).await.unwrap().omitted;
    assert_eq!((omitted.truncated, omitted.superseded), (truncated, 2));
}
