//! What a failure of the knowledge base means for whoever asked.

use crate::error::{Error, ErrorCode};
use ambit_knowledge::KnowledgeError;

impl From<KnowledgeError> for Error {
    fn from(error: KnowledgeError) -> Self {
        let message = error.to_string();
        match error {
            KnowledgeError::NotFound { .. } => Self::new(ErrorCode::NotFound, message),
            KnowledgeError::Invalid { field, .. } => Self::invalid(field, message),
            KnowledgeError::Denied { .. } => Self::new(ErrorCode::PermissionDenied, message),
            KnowledgeError::Conflict { .. } => Self::new(ErrorCode::Conflict, message),
            KnowledgeError::TooLarge { .. } => Self {
                status: Some(413),
                ..Self::new(ErrorCode::LimitExceeded, message)
            },
            KnowledgeError::LimitExceeded { .. } => Self {
                status: Some(429),
                ..Self::new(ErrorCode::LimitExceeded, message)
            },
            KnowledgeError::Store(error) => error.into(),
        }
    }
}
