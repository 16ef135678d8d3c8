//! An embedder that knows which words mean the same, and refuses to be asked twice for a text of a job.

use crate::bed::Bed;
use crate::chats::ALL;
use ambit_knowledge::{Embedder, EmbeddingFailure, EmbeddingRequest, EmbeddingTokens, Embeddings};
use ambit_runtime::chats::ChatFilter;
use ambit_runtime::index_vectors::{IndexEmbedding, VectorBooking, VectorPayer};
use ambit_runtime::memory_search::{MemorySearch, embed_values};
use ambit_runtime::recall::{self, RecallSettings, SessionSearch};
use ambit_runtime::{Authorized, Result};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::memory::Memory;
use ambit_storage::pattern::Pattern;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Words of one line mean the same.
const MEANINGS: [&[&str]; 3] = [
    &["couch", "sofa", "settee"],
    &["car", "automobile"],
    &["doctor", "physician"],
];

type Meanwhile = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Makes vectors by the meanings of words.
pub struct MeaningEmbedder {
    pub is_down: AtomicBool,
    pub model: Mutex<&'static str>,
    /// How often a job has asked for each text.
    pub texts: Mutex<BTreeMap<String, usize>>,
    /// Happens while a job waits for vectors.
    pub meanwhile: Mutex<Option<Meanwhile>>,
    /// Texts with these letters are refused.
    pub refused: Mutex<Option<&'static str>>,
}

impl Default for MeaningEmbedder {
    fn default() -> Self {
        Self {
            is_down: AtomicBool::new(false),
            model: Mutex::new("m1"),
            texts: Mutex::default(),
            meanwhile: Mutex::default(),
            refused: Mutex::default(),
        }
    }
}

fn vector_of(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; MEANINGS.len() + 1];
    for word in text.split(|sign: char| !sign.is_alphabetic()) {
        for (at, words) in MEANINGS.iter().enumerate() {
            if words.contains(&word) {
                vector[at] += 1.0;
            }
        }
    }
    if vector.iter().all(|it| *it == 0.0) {
        vector[MEANINGS.len()] = 1.0;
    }
    vector
}

impl Embedder for MeaningEmbedder {
    fn embed<'a>(
        &'a self,
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, std::result::Result<Embeddings, EmbeddingFailure>> {
        Box::pin(async move {
            let meanwhile = self.meanwhile.lock().unwrap().take();
            if let Some(meanwhile) = meanwhile {
                meanwhile().await;
            }
            if self.is_down.load(Ordering::SeqCst) {
                return Err(EmbeddingFailure::Unavailable("it is down".to_owned()));
            }
            let refused = *self.refused.lock().unwrap();
            let is_refused = |text: &String| refused.is_some_and(|letters| text.contains(letters));
            if request.texts.iter().any(is_refused) {
                return Err(EmbeddingFailure::Refused("too long".to_owned()));
            }
            let mut texts = self.texts.lock().unwrap();
            for text in &request.texts {
                *texts.entry(text.clone()).or_default() += 1;
            }
            Ok(Embeddings {
                model: (*self.model.lock().unwrap()).to_owned(),
                vectors: request.texts.iter().map(|text| vector_of(text)).collect(),
                tokens: request.texts.len() as u64,
            })
        })
    }
}

/// What was booked, and on whom.
pub type Booked = Arc<Mutex<Vec<(VectorPayer, EmbeddingTokens)>>>;

/// An installation that finds by meaning.
pub struct Meaning {
    pub embedder: Arc<MeaningEmbedder>,
    pub settings: RecallSettings,
    pub booked: Booked,
}

impl Meaning {
    pub fn new() -> Self {
        Self::by("e5", Arc::default())
    }

    /// By another connector.
    pub fn by(connector: &str, embedder: Arc<MeaningEmbedder>) -> Self {
        let embedding = IndexEmbedding {
            connector: connector.to_owned(),
            embedder: embedder.clone(),
            queries: Arc::default(),
            book: Arc::new(|_, _| {}),
        };
        let settings = RecallSettings {
            embedding: Some(embedding),
            ..RecallSettings::default()
        };
        Self {
            embedder,
            settings,
            booked: Arc::default(),
        }
    }

    pub fn embedding(&self) -> &IndexEmbedding {
        self.settings.embedding.as_ref().unwrap()
    }

    fn booking(&self) -> VectorBooking {
        let booked = self.booked.clone();
        Arc::new(move |payer, used| {
            booked.lock().unwrap().push((payer, used));
            Box::pin(async {})
        })
    }

    /// The names of the chats that are found.
    pub async fn chats(&self, bed: &Bed, who: &Authorized, text: &str) -> Vec<String> {
        let search = SessionSearch {
            text,
            filter: &ChatFilter::default(),
            window: ALL,
        };
        let found = recall::search_sessions(&bed.ambit, who, &self.settings, search).await;
        let found = found.unwrap();
        assert_eq!(found.total, found.items.len() as u64);
        let items = found.items.into_iter();
        items.map(|found| found.chat.chat_id).collect()
    }

    /// The keys that are found.
    pub async fn keys(&self, memory: &Memory, text: &str) -> Vec<String> {
        let search = MemorySearch::new(text).embedding(Some(self.embedding().clone()));
        let found = search.of(memory).await.unwrap();
        found.into_iter().map(|found| found.key).collect()
    }

    pub async fn try_embed_messages(&self, bed: &Bed) -> Result<()> {
        recall::embed_messages(&bed.ambit, &self.settings, &self.booking()).await
    }

    pub async fn embed_messages(&self, bed: &Bed) {
        self.try_embed_messages(bed).await.unwrap();
    }

    pub async fn embed_values(&self, bed: &Bed) {
        let (stores, book) = (bed.ambit.stores(), self.booking());
        embed_values(stores, self.embedding(), &book).await.unwrap();
    }

    /// The texts that were embedded more than once.
    pub fn repeated(&self) -> Vec<String> {
        let texts = self.embedder.texts.lock().unwrap();
        let repeated = texts.iter().filter(|(_, count)| **count > 1);
        repeated.map(|(text, _)| text.clone()).collect()
    }

    /// How often this text was embedded.
    pub fn count(&self, text: &str) -> usize {
        let texts = self.embedder.texts.lock().unwrap();
        texts.get(text).copied().unwrap_or(0)
    }
}

/// The contents of the notes of which indexes get vectors.
pub async fn notes(bed: &Bed) -> Vec<String> {
    let (space, driver) = (Space::recall_indexes(), bed.driver.as_ref());
    let mut pages = ValuePages::of(driver, &space, Pattern::all(), ValuePart::Whole);
    let mut notes = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        let page = page.into_iter();
        notes.extend(page.map(|(_, entry)| entry.value.as_str().to_owned()));
    }
    notes
}
