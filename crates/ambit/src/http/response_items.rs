//! Items of OpenAI's Responses and Conversations: what clients send, and what is stored of a conversation.

mod content;
mod encrypted;
mod input;
mod listed;
mod page;

pub use input::{InputItem, InputItems};
pub use listed::{ItemReader, ListedItem, StoredListedItem};
pub use page::{ItemList, ItemListQuery, item_page};
