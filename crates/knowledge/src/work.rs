//! What is done in the background: documents are read and indexed, and what was removed is erased.

mod appearance;
mod document_job;
mod indexing;
mod place;
mod reading;
