//! Who approves the code of a new epoch.

/// Who says that an agent may use the code that answers now. An approval is bound to the epoch for which it
/// was given, and ends with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Approval {
    /// The code is approved as soon as the client has got its list of tools.
    #[default]
    Auto,
    /// Nobody: after the first replacement no call passes any more.
    Never,
    /// A command for `sh -c` is asked about every epoch, the first included.
    Command(String),
}

impl Approval {
    /// What [`Approval::from_text`] takes, for people.
    pub const FORMS: &str = "auto, never or command:CMD";

    /// The one that users write so.
    pub fn from_text(text: &str) -> Option<Approval> {
        match text.split_once(':') {
            None if text == "auto" => Some(Approval::Auto),
            None if text == "never" => Some(Approval::Never),
            Some(("command", command)) if !command.trim().is_empty() => {
                Some(Approval::Command(command.to_owned()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_means_something_is_read() {
        assert_eq!(Approval::from_text("auto"), Some(Approval::Auto));
        assert_eq!(Approval::from_text("never"), Some(Approval::Never));
        assert_eq!(Approval::from_text("command:a:b"), Some(Approval::Command("a:b".to_owned())));
        for text in ["", "Auto", "auto:", "never:x", "command", "command:", "command: ", "ask"] {
            assert_eq!(Approval::from_text(text), None, "{text}");
        }
    }
}
