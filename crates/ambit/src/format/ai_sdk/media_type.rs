//! Media types of the files that messages show.

/// The types of messages that show files.
pub const KINDS: [&str; 3] = ["image", "audio", "video"];

/// Media types by the endings of names.
const ENDINGS: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("gif", "image/gif"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("webp", "image/webp"),
    ("aac", "audio/aac"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("mp3", "audio/mpeg"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("wav", "audio/wav"),
    ("mov", "video/quicktime"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
];

/// Returns what a file is by its address: a data URL says it, else the ending of its name; else any of its kind, `image/*`.
pub fn of_url(kind: &str, url: &str) -> String {
    if let Some(data) = url.strip_prefix("data:") {
        let named = data.split([';', ',']).next().unwrap_or_default();
        if !named.is_empty() {
            return named.to_owned();
        }
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    let known = ending.and_then(|ending| {
        let mut known = ENDINGS.iter();
        known.find(|(name, _)| name.eq_ignore_ascii_case(ending))
    });
    known.map_or_else(|| format!("{kind}/*"), |(_, media)| (*media).to_owned())
}

#[cfg(test)]
mod tests {
    use super::of_url;

    #[test]
    fn an_address_tells_what_a_file_is() {
        for (url, expected) in [
            ("https://a/b.PNG?size=1.jpg", "image/png"),
            ("data:image/webp;base64,AA", "image/webp"),
            ("https://a/b", "image/*"),
            ("data:,x", "image/*"),
        ] {
            assert_eq!(of_url("image", url), expected, "{url}");
        }
    }
}
