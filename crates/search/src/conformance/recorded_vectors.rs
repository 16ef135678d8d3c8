//! The vectors that all-MiniLM-L6-v2 has made of Cranfield: a model without the model, the same everywhere.

use crate::vectors::{EmbeddingSpace, QueryVector};
use std::collections::HashMap;

/// Numbers of 8 bits: the vectors of the documents in the order of their file, then those of the questions in that of theirs.
const RECORDED: &[u8] = include_bytes!("../../tests/cranfield/minilm.i8");
const DIMENSION: usize = 384;

/// Vectors by the ids of what they are of.
pub struct RecordedVectors {
    pub space: EmbeddingSpace,
    /// Each stands for all chunks of its document.
    pub documents: HashMap<String, Vec<f32>>,
    questions: HashMap<String, Vec<f32>>,
}

impl RecordedVectors {
    /// The vectors of these documents and questions, which are those of the files.
    pub fn of(documents: &[String], questions: &[String]) -> Self {
        let count = documents.len() + questions.len();
        assert_eq!(RECORDED.len(), count * DIMENSION);
        let (of_documents, of_questions) = RECORDED.split_at(documents.len() * DIMENSION);
        Self {
            space: EmbeddingSpace {
                connector: "recorded".to_owned(),
                model: "all-MiniLM-L6-v2".to_owned(),
                dimension: u32::try_from(DIMENSION).unwrap(),
            },
            documents: by_ids(documents, of_documents),
            questions: by_ids(questions, of_questions),
        }
    }

    /// What is looked for with a question.
    pub fn query(&self, question: &str) -> QueryVector {
        QueryVector {
            space: self.space.clone(),
            vector: self.questions[question].clone(),
        }
    }
}

fn by_ids(ids: &[String], bytes: &[u8]) -> HashMap<String, Vec<f32>> {
    let vectors = bytes.chunks_exact(DIMENSION).map(|vector| {
        let numbers = vector
            .iter()
            .map(|byte| f32::from(i8::from_le_bytes([*byte])));
        numbers.collect::<Vec<f32>>()
    });
    ids.iter().cloned().zip(vectors).collect()
}
