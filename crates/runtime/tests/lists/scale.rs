//! First pages over few conversations and over many: the store is asked as much for both.

use crate::bed::{Bed, chief, over, person};
use crate::chats::tracked;
use crate::counting::{Counting, ReadCounts};
use ambit_runtime::Authorized;
use ambit_runtime::chats::{self, ChatFilter, ChatSource, PageWindow};
use ambit_runtime::inspect::contexts::ContextRowFilter;
use ambit_runtime::inspect::turns::TurnFilter;
use ambit_storage::{Ambit, ids};
use futures::FutureExt;
use std::sync::Arc;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[(
    "g194_first_pages_cost_the_same_over_few_and_many_conversations",
    |bed| first_pages(bed).boxed(),
)];

/// Two tenants, and how many conversations each has.
const TENANTS: [(&str, u64); 2] = [("few", 500), ("many", 10_000)];
/// Of so many conversations one was begun by a client of OpenAI's Responses.
const OF_RESPONSES: u64 = 100;
/// Conversations made in the same moment.
const AT_ONCE: usize = 100;
/// Conversations whose turns are known.
const TALKS: u64 = 10;
/// Items of a page.
const LIMIT: usize = 50;
/// What else a store does in the meantime is in few of so many readings.
const READINGS: usize = 5;

/// The lists with which the views of a console begin, as the routes ask for them.
#[derive(Clone, Copy, Debug)]
enum FirstPage {
    Chats,
    ChatsOfResponses,
    Contexts,
    Turns,
}

/// What was asked of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PageCost {
    asked: ReadCounts,
    /// SQL statements, where they are counted.
    statements: u64,
}

impl FirstPage {
    /// How many items the page has, and how many there are where it says so.
    async fn read(self, ambit: &Ambit, who: &Authorized) -> (usize, Option<u64>) {
        let source = match self {
            Self::Chats => ChatSource::Chat,
            Self::ChatsOfResponses => ChatSource::Responses,
            Self::Contexts => {
                let filter = ContextRowFilter::default();
                let page = filter.list(ambit, who, None, LIMIT).await.unwrap();
                return (page.items.len(), None);
            }
            Self::Turns => {
                let filter = TurnFilter::default();
                let page = filter.list(ambit, who, None, LIMIT).await.unwrap();
                return (page.items.len(), None);
            }
        };
        let filter = ChatFilter {
            source: Some(source),
            ..ChatFilter::default()
        };
        let window = PageWindow {
            skip: 0,
            limit: LIMIT,
        };
        let part = chats::list(ambit, who, &filter, window).await.unwrap();
        (part.items.len(), Some(part.total))
    }

    /// The same of a tenant with so many conversations.
    fn expected(self, conversations: u64) -> (usize, Option<u64>) {
        let of_responses = conversations / OF_RESPONSES;
        match self {
            Self::Chats => (LIMIT, Some(conversations - of_responses + TALKS)),
            Self::ChatsOfResponses => {
                let shown = usize::try_from(of_responses).unwrap().min(LIMIT);
                (shown, Some(of_responses))
            }
            Self::Contexts => (LIMIT, None),
            Self::Turns => (usize::try_from(TALKS).unwrap(), None),
        }
    }
}

/// Ann of team red, whose all conversations are.
fn owner(tenant: &str) -> Authorized {
    person(tenant, "ann", Some("red"))
}

async fn first_pages(bed: Bed) {
    for (tenant, conversations) in TENANTS {
        fill(&bed, tenant, conversations).await;
    }
    // What is known of turns is gone by now; the conversations are not.
    bed.clock.advance(Duration::from_secs(31 * 24 * 3_600));
    for (tenant, _) in TENANTS {
        talk(&bed, tenant).await;
    }
    let callers: [fn(&str) -> Authorized; 2] = [owner, chief];
    for caller in callers {
        for page in [FirstPage::Chats, FirstPage::Contexts, FirstPage::Turns] {
            let mut costs = Vec::new();
            for (tenant, conversations) in TENANTS {
                costs.push(cost(&bed, &caller(tenant), page, conversations).await);
            }
            assert_eq!(costs[0], costs[1], "{page:?}");
        }
        // These pages differ: the smaller tenant does not fill one.
        for (tenant, conversations) in TENANTS {
            let page = FirstPage::ChatsOfResponses;
            let PageCost { asked, .. } = cost(&bed, &caller(tenant), page, conversations).await;
            assert_eq!(asked.pages, 1, "{asked:?}");
        }
    }
}

/// The least that reading the page takes, once it was read before.
async fn cost(bed: &Bed, who: &Authorized, page: FirstPage, conversations: u64) -> PageCost {
    let mut least = None;
    for reading in 0..READINGS {
        let counting = Arc::new(Counting::new(bed.driver.clone()));
        let ambit = over(counting.clone(), bed.options.clone());
        let before = bed.options.work.counts();
        let found = page.read(&ambit, who).await;
        assert_eq!(found, page.expected(conversations), "{page:?}");
        let cost = PageCost {
            asked: counting.counts(),
            statements: (bed.options.work.counts() - before).statements,
        };
        if reading > 0 {
            least = Some(least.map_or(cost, |least: PageCost| least.min(cost)));
        }
    }
    least.unwrap()
}

/// Conversations of Ann's, some every two seconds.
async fn fill(bed: &Bed, tenant: &str, conversations: u64) {
    let row = |number: &u64| {
        let prefix = match number % OF_RESPONSES {
            0 => "resp_",
            _ => "c",
        };
        tracked(tenant, &format!("{prefix}{number:05}"))
    };
    let numbers: Vec<u64> = (0..conversations).collect();
    for some in numbers.chunks(AT_ONCE) {
        bed.commit(some.iter().map(row)).await;
        bed.clock.advance(Duration::from_secs(2));
    }
}

/// Conversations of Ann's with a turn each.
async fn talk(bed: &Bed, tenant: &str) {
    let who = owner(tenant);
    for number in 0..TALKS {
        let name = format!("talk{number}");
        let live = chats::open(&bed.ambit, &who, "support", Some(name.as_str())).await;
        let request_id = ids::ordered(&bed.clock);
        bed.turn(&live.unwrap(), &request_id, "hello").await;
        bed.clock.advance(Duration::from_secs(2));
    }
}
