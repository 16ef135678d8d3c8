//! The version of the AI SDK that a client has, as far as its stream depends on it.

/// A version of the npm package `ai`: its major, its minor and its patch number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AiSdkVersion([u32; 3]);

impl AiSdkVersion {
    /// The first that knows why a message was aborted, and ids of thinking.
    const SEVEN: Self = Self([7, 0, 0]);
    /// The first that knows `reset-step`.
    const RESET_STEP: Self = Self([7, 0, 91]);
    /// The first that knows `steering-message`.
    const STEERING_MESSAGE: Self = Self([7, 0, 163]);

    /// Reads a version: `7.0.91`, or `7` for the newest of its kind. Any other text stands for an early one.
    pub fn read(text: &str) -> Self {
        let mut version = [u32::MAX; 3];
        let mut given = text.split('.').map(str::parse);
        for (number, given) in version.iter_mut().zip(&mut given) {
            let Ok(given) = given else {
                return Self::default();
            };
            *number = given;
        }
        match given.next() {
            None => Self(version),
            Some(_) => Self::default(),
        }
    }

    /// Whether the client knows the keys of version 7.
    pub fn has_keys_of_7(self) -> bool {
        self >= Self::SEVEN
    }

    /// Whether the client knows that a step begins anew.
    pub fn has_reset_step(self) -> bool {
        self >= Self::RESET_STEP
    }

    /// Whether the client knows messages that come in meanwhile.
    pub fn has_steering_message(self) -> bool {
        self >= Self::STEERING_MESSAGE
    }
}

#[cfg(test)]
mod tests {
    use super::AiSdkVersion;

    #[test]
    fn what_a_client_knows_follows_from_its_version() {
        let knows = |text: &str| {
            let version = AiSdkVersion::read(text);
            (
                version.has_keys_of_7(),
                version.has_reset_step(),
                version.has_steering_message(),
            )
        };
        for early in ["", "6", "6.0.326", "seven", "7.", "7.0.91.1", "7.0.91-beta"] {
            assert_eq!(knows(early), (false, false, false), "{early}");
        }
        assert_eq!(knows("7.0.0"), (true, false, false));
        assert_eq!(knows("7.0.162"), (true, true, false));
        for new in ["7", "7.0", "7.0.163", "7.1.0", "8"] {
            assert_eq!(knows(new), (true, true, true), "{new}");
        }
    }
}
