//! Where a conversation is kept, and that it is the one that is meant.

use super::{AgentError, JournalError, SqliteJournal};
use crate::harness::conversation::Conversation;
use crate::harness::journal::Resumed;
use crate::harness::message::Message;
use crate::harness::state::State;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Opens the session of that name, or in that file, and tells what was interrupted in it.
pub(super) fn open(name: &str, system: &str) -> Result<(SqliteJournal, State), AgentError> {
    let file = file(name, &|variable| std::env::var_os(variable).map(PathBuf::from))?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|source| AgentError::File { file: folder.display().to_string(), source })?;
    }
    let (journal, resumed) = SqliteJournal::open(&file)?;
    tell(&resumed)?;
    Ok((journal, begin(resumed, system)?))
}

/// A session that ends with the process.
pub(super) fn in_memory(system: &str) -> Result<(SqliteJournal, State), AgentError> {
    let (journal, resumed) = SqliteJournal::in_memory()?;
    Ok((journal, begin(resumed, system)?))
}

fn begin(resumed: Resumed, system: &str) -> Result<State, AgentError> {
    let mut state = resumed.state;
    if state.conversation.messages().is_empty() {
        state.conversation = Conversation::new(system);
        return Ok(state);
    }
    let its_own = match state.conversation.messages().first() {
        Some(Message::System { text }) => text.as_str(),
        _ => "",
    };
    if system.trim().is_empty() || system == its_own { Ok(state) } else { Err(AgentError::System) }
}

/// On stderr, so that no program that reads the replies stumbles over it.
fn tell(resumed: &Resumed) -> io::Result<()> {
    let mut err = io::stderr();
    for call in &resumed.unknown {
        writeln!(err, "interrupted during {}: its outcome is unknown, and the model is told so", call.name)?;
    }
    Ok(())
}

/// A path where it looks like one, else a name among the user's sessions.
fn file(name: &str, folder: &dyn Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, AgentError> {
    if name.contains(['/', '.']) {
        return Ok(PathBuf::from(name));
    }
    // What is empty is not set.
    let folder = |variable: &str| folder(variable).filter(|path| !path.as_os_str().is_empty());
    let state = folder("XDG_STATE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".local/state")))
        .ok_or_else(|| AgentError::NoFolder(name.to_owned()))?;
    Ok(Path::new(&state).join("nochmal").join("sessions").join(format!("{name}.db")))
}

impl From<JournalError> for io::Error {
    fn from(error: JournalError) -> io::Error {
        io::Error::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_file_among_the_users_sessions_and_a_path_is_a_path() {
        let home = |variable: &str| (variable == "HOME").then(|| PathBuf::from("/home/ada"));
        let at = |name: &str| file(name, &home).unwrap().display().to_string();
        assert_eq!(at("hotel"), "/home/ada/.local/state/nochmal/sessions/hotel.db");
        assert_eq!(at("./hotel"), "./hotel");
        assert_eq!(at("hotel.db"), "hotel.db");
        let empty = |_: &str| Some(PathBuf::new());
        assert!(file("hotel", &empty).unwrap_err().to_string().contains("./hotel.db"));
        assert!(file("hotel", &|_| None).unwrap_err().to_string().contains("./hotel.db"));
    }
}
