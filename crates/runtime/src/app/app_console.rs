//! `ambit.console` of `app.yao`: the web console.

use crate::config;

config! {
    /// The web console, `/console/`.
    pub struct AppConsole {
        /// Whether it is served.
        enabled: bool = true,
        /// The origins that pictures, sounds and films in messages may come from, each after a click: `https://images.example.com`.
        images: Vec<String>,
    }
}

impl AppConsole {
    /// The origins of pictures; a text that is no origin is left out.
    pub fn image_origins(&self) -> impl Iterator<Item = &str> {
        let images = self.images.iter().map(String::as_str);
        images.filter(|text| is_web_origin(text))
    }
}

/// Whether a text is a scheme of the web, a host and perhaps a port, and nothing else.
pub fn is_web_origin(text: &str) -> bool {
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let is_part = |letter: u8| letter.is_ascii_alphanumeric() || b".-:[]".contains(&letter);
    host.is_some_and(|host| !host.is_empty() && host.bytes().all(is_part))
}

#[cfg(test)]
mod tests {
    use super::is_web_origin;

    #[test]
    fn an_origin_is_a_scheme_and_a_host() {
        for text in [
            "https://a.test",
            "http://127.0.0.1:80",
            "https://[::1]:8443",
        ] {
            assert!(is_web_origin(text), "{text}");
        }
        for text in [
            "",
            "a.test",
            "https://",
            "ftp://a.test",
            "https://a.test/",
            "https://a.test; script-src *",
            "https://*.a.test",
        ] {
            assert!(!is_web_origin(text), "{text}");
        }
    }
}
