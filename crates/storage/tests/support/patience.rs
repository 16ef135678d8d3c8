//! Addresses for tests in which many processes wait for each other.

/// The address as one of many processes opens it: the more there are, the longer one of them may wait for a lock.
pub fn patient(url: &str) -> String {
    match url.starts_with("sqlite:") {
        true => format!("{url}?busy_ms=60000"),
        false => url.to_owned(),
    }
}
