//! `ambit.search` of `app.yao`: where collections are kept, and how much of anything there may be.

use super::read::ByteSize;
use crate::config;
use crate::config::ValueKind;

config! {
    /// How searches are served.
    pub struct AppSearch {
        /// The store, by its name in `--store NAME=URL`, of collections made over HTTP and of all indexes; without it the app's primary one.
        store: Option<String>,
        /// The caches of a node.
        memory: ByteSize = "256MiB",
        /// Finding messages of conversations.
        recall: RecallOptions,
        /// Finding values of memory.
        values: ValueSearchOptions,
        /// How much of anything there may be.
        limits: SearchLimits,
    }

    /// Finding messages of conversations.
    pub struct RecallOptions {
        /// Whether messages can be found.
        enabled: bool = true,
        /// The roles of messages that can be found.
        roles: Vec<String> = ["user", "assistant"] as ValueKind::List(&ValueKind::OneOf(&["user", "assistant"])),
        /// The connector that makes vectors of them; without one words alone find.
        embedding: Option<String>,
    }

    /// Finding values of memory.
    pub struct ValueSearchOptions {
        /// The connector that makes vectors of them; without one words alone find.
        embedding: Option<String>,
    }

    /// How much of anything there may be.
    pub struct SearchLimits {
        /// The most collections of a tenant.
        collections: u64 = 1000,
        /// The text of all documents of a tenant.
        bytes: ByteSize = "10GiB",
        /// The most jobs of a tenant that wait.
        jobs: u64 = 10000,
        /// The most queries of a tenant in a second on a node, those of turns apart.
        queries: u32 = 50,
        /// The most documents of a collection.
        documents: u64 = 100000,
        /// The most chunks of a collection.
        chunks: u64 = 1000000,
        /// The file of a document.
        file: ByteSize = "64MiB",
        /// The most chunks of a document.
        document_chunks: u64 = 20000,
    }
}
