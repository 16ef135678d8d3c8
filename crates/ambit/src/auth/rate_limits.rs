//! How much callers may do within a minute, and how many streams a user may have open: `limits` of `openapi.yao`.

mod minute_counts;
mod minute_use;
mod open_streams;
mod page_builds;

pub use open_streams::StreamPlace;
pub use page_builds::PageBuild;

use super::{SharedConfig, current};
use crate::open_counts::{OpenCount, OpenCounts};
use ambit_runtime::config;
use ambit_runtime::config::ByteSize;
use ambit_runtime::{Authorized, Result};
use ambit_storage::address;
use ambit_storage::driver::Driver;
use futures::future::BoxFuture;
use minute_counts::{LimitedUse, MinuteCounts};
use open_streams::OpenStreams;
use page_builds::PageBuilds;
use serde_json::Value;
use std::sync::Arc;

config! {
    /// How much callers may do; what is not given and has no default is not limited.
    pub struct RateLimitSettings {
        /// What is done with one API key, or by the program that a token names as `client_id`.
        key: MinuteLimits,
        /// What one user does.
        user: UserLimits,
        /// What all callers of one tenant do.
        tenant: MinuteLimits,
    }

    /// How much of it there may be within a minute.
    pub struct MinuteLimits {
        /// Requests.
        requests: Option<u64>,
        /// Turns that begin.
        turns: Option<u64>,
        /// Tokens of models, those of requests and of answers. Where they are used up no further turn begins; one that runs goes on.
        tokens: Option<u64>,
    }

    /// How much one user may do.
    pub struct UserLimits {
        /// Streams that are open at once.
        streams: Option<u64>,
        /// Bytes of large answers, of 256 KiB and more, that were not read yet, on each node; one of them is always sent.
        answers: ByteSize = "64MiB",
        include { minute: MinuteLimits }
    }
}

/// Whose doings are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedCaller {
    /// One API key's, or one program's.
    Key,
    /// One user's.
    User,
    /// One tenant's.
    Tenant,
}

impl LimitedCaller {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::User => "user",
            Self::Tenant => "tenant",
        }
    }
}

/// What of it is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedThing {
    /// Requests.
    Requests,
    /// Turns that begin.
    Turns,
    /// Tokens of models.
    Tokens,
    /// Streams that are open at once.
    Streams,
    /// Bytes of large answers that are being sent.
    Answers,
}

impl LimitedThing {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Turns => "turns",
            Self::Tokens => "tokens",
            Self::Streams => "streams",
            Self::Answers => "answers",
        }
    }

    /// How many of them are allowed.
    fn most(self, limits: &MinuteLimits) -> Option<u64> {
        match self {
            Self::Requests => limits.requests,
            Self::Turns => limits.turns,
            Self::Tokens => limits.tokens,
            Self::Streams | Self::Answers => None,
        }
    }
}

/// A limit that somebody has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedLimit {
    /// Whose.
    pub caller: LimitedCaller,
    /// Of what.
    pub thing: LimitedThing,
    /// How much is allowed.
    pub most: u64,
    /// Seconds until it is worth to come again.
    pub retry_after: u64,
}

/// Counts what callers do, as far as the app limits it.
pub struct RateLimiter {
    present: SharedConfig,
    counts: MinuteCounts,
    streams: Arc<OpenStreams>,
    /// The large answers that callers have not read yet, by their bytes.
    answers: OpenCounts,
    builds: PageBuilds,
}

/// The stores that nodes of several machines share.
const SHARED: [&str; 2] = ["postgres", "redis"];

impl RateLimiter {
    /// Nothing has been done so far; where nodes share this store, they share the counts.
    pub(super) fn new(present: SharedConfig, store: &Arc<dyn Driver>) -> Self {
        let shared = SHARED.contains(&store.kind()).then(|| store.clone());
        Self {
            present,
            counts: MinuteCounts::new(shared.clone()),
            streams: OpenStreams::new(shared),
            answers: OpenCounts::default(),
            builds: PageBuilds::default(),
        }
    }

    /// Counts a request, unless a limit is reached.
    pub async fn count_request(&self, who: &Authorized) -> Result<Option<ReachedLimit>> {
        let uses = self.uses(who, LimitedThing::Requests, 1);
        self.counts.count(&uses).await
    }

    /// Counts a turn that is to begin, unless a limit is reached, that of tokens too.
    pub async fn count_turn(&self, who: &Authorized) -> Result<Option<ReachedLimit>> {
        let mut uses = self.uses(who, LimitedThing::Turns, 1);
        uses.extend(self.uses(who, LimitedThing::Tokens, 0));
        self.counts.count(&uses).await
    }

    /// Counts tokens that were used; what is answered does so where it takes a store.
    pub fn count_tokens(
        self: &Arc<Self>,
        who: &Authorized,
        tokens: u64,
    ) -> Option<BoxFuture<'static, ()>> {
        let uses = self.uses(who, LimitedThing::Tokens, tokens);
        if uses.is_empty() || self.counts.add_in_memory(&uses) {
            return None;
        }
        let limiter = self.clone();
        Some(Box::pin(async move {
            if let Err(error) = limiter.counts.add_in_store(&uses).await {
                tracing::warn!(%error, "tokens are not counted to the limits of whoever used them");
            }
        }))
    }

    /// A place for one more stream of the caller's, unless all are taken.
    pub async fn stream_place(
        &self,
        who: &Authorized,
    ) -> Result<Result<StreamPlace, ReachedLimit>> {
        let most = current(&self.present).limits.user.streams;
        let ids = CallerIds::of(who);
        let (Some(most), Some(user)) = (most, ids.user) else {
            return Ok(Ok(StreamPlace::default()));
        };
        let user = address::digest(&[who.tenant(), &user]);
        let place = self.streams.place(user, most).await?;
        Ok(place.ok_or(ReachedLimit {
            caller: LimitedCaller::User,
            thing: LimitedThing::Streams,
            most,
            retry_after: 1,
        }))
    }

    /// Waits until one more page may be built for the caller.
    pub async fn page_build(&self, who: &Authorized) -> PageBuild {
        match LimitedReader::of(who) {
            Some(reader) => self.builds.begin(reader.name).await,
            None => PageBuild::default(),
        }
    }

    /// How many pages are built or waited for.
    #[cfg(test)]
    pub(crate) fn page_build_count(&self) -> usize {
        self.builds.count()
    }

    /// Refuses a caller whose answers that were not read are as many as the app allows.
    pub fn check_answers(&self, who: &Authorized) -> Result<(), ReachedLimit> {
        let most = self.most_answers();
        match LimitedReader::of(who) {
            Some(reader) if self.answers.get(&reader.name).unwrap_or(0) >= most => {
                Err(reader.reached(most))
            }
            _ => Ok(()),
        }
    }

    /// A place for a large answer of so many bytes, unless the caller has too many: there may be as many as the app allows, or one
    /// answer. `None` is the place of one that nobody counts.
    pub fn answer_place(
        &self,
        who: &Authorized,
        size: u64,
    ) -> Result<Option<OpenCount>, ReachedLimit> {
        let Some(reader) = LimitedReader::of(who) else {
            return Ok(None);
        };
        let most = self.most_answers();
        let place = self.answers.add(reader.name.clone(), size.min(most), most);
        place.map(Some).ok_or_else(|| reader.reached(most))
    }

    /// The place of a large answer that says what was done, which is sent however many there are.
    pub fn place_of_done(&self, who: &Authorized, size: u64) -> Option<OpenCount> {
        self.answers
            .add(LimitedReader::of(who)?.name, size, u64::MAX)
    }

    /// Without any an answer would take no room.
    fn most_answers(&self) -> u64 {
        current(&self.present).limits.user.answers.0.max(1) as u64
    }

    /// For whom it is limited that a caller does so much of something.
    fn uses(&self, who: &Authorized, thing: LimitedThing, amount: u64) -> Vec<LimitedUse> {
        let config = current(&self.present);
        let limits = &config.limits;
        let all = [&limits.key, &limits.user.minute, &limits.tenant];
        if all.iter().all(|limits| thing.most(limits).is_none()) {
            return Vec::new();
        }
        let (ids, tenant) = (CallerIds::of(who), who.tenant());
        let callers = [
            (LimitedCaller::Key, &limits.key, ids.key.as_deref()),
            (
                LimitedCaller::User,
                &limits.user.minute,
                ids.user.as_deref(),
            ),
            (LimitedCaller::Tenant, &limits.tenant, Some("")),
        ];
        let uses = callers.into_iter().filter_map(|(caller, limits, id)| {
            let most = thing.most(limits)?;
            Some(LimitedUse {
                name: address::digest(&[caller.name(), thing.name(), tenant, id?]),
                caller,
                thing,
                most,
                amount,
            })
        });
        uses.collect()
    }
}

/// Who reads answers: a user, or the program that calls.
struct LimitedReader {
    caller: LimitedCaller,
    name: String,
}

impl LimitedReader {
    fn of(who: &Authorized) -> Option<Self> {
        let ids = CallerIds::of(who);
        let (caller, id) = match ids.user {
            Some(user) => (LimitedCaller::User, user),
            None => (LimitedCaller::Key, ids.key?),
        };
        let name = address::digest(&[caller.name(), who.tenant(), &id]);
        Some(Self { caller, name })
    }

    fn reached(&self, most: u64) -> ReachedLimit {
        ReachedLimit {
            caller: self.caller,
            thing: LimitedThing::Answers,
            most,
            retry_after: 1,
        }
    }
}

/// Whose limits count: of somebody who acts as another their own.
struct CallerIds {
    user: Option<String>,
    key: Option<String>,
}

impl CallerIds {
    fn of(who: &Authorized) -> Self {
        match who.acted_by() {
            Some(actor) => Self {
                user: actor.user_id,
                key: actor.client_id,
            },
            None => Self {
                user: who.user_id.clone(),
                key: who
                    .claims
                    .get("client_id")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            },
        }
    }
}
