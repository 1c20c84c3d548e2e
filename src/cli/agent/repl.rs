//! A conversation with a person at a terminal.

use super::screen::Screen;
use super::{AgentError, Signals, stdin_lines};
use crate::domain::words::clip;
use crate::harness::journal::Resumed;
use crate::harness::journal::sqlite::SqliteJournal;
use crate::harness::reply::{Reply, TurnError};
use crate::harness::session::Session;
use tokio_util::sync::CancellationToken;

/// What is shown of a tool's description or of a message, in characters.
const SHOWN: usize = 90;

const HELP: &str = "\
/tools      the tools and what they do
/continue   go on with a turn that was interrupted
/back N     go back to before your last N messages (1), on a new branch
/branches   the ways this conversation took; /branch N goes there
/quit       end (ctrl-D too); ctrl-C ends the running turn only";

type Kept<'a> = Session<'a, SqliteJournal>;

/// Speaks with a person until they have enough.
pub(super) async fn run(
    session: &mut Kept<'_>,
    screen: &Screen,
    signals: &Signals,
    cancel: &CancellationToken,
) -> Result<(), AgentError> {
    let mut lines = stdin_lines();
    let mut interrupts = signals.interrupts.clone();
    screen.line("/help lists what else there is besides speaking.");
    told_of_pending(session, screen);
    loop {
        screen.ask();
        let line = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(()),
            _ = interrupts.changed() => {
                screen.line("\n(ctrl-D or /quit ends)");
                continue;
            }
            line = lines.recv() => match line {
                Some(Ok(line)) => line,
                Some(Err(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                    screen.line(&format!("{error}; nothing was said."));
                    continue;
                }
                Some(Err(error)) => return Err(error.into()),
                None => {
                    screen.line("");
                    return Ok(());
                }
            },
        };
        let said = line.trim();
        if said.is_empty() {
            continue;
        }
        let Some(command) = said.strip_prefix('/') else {
            let turn = CancellationToken::new();
            let done = guarded(session.say(said, &turn), &turn, &mut interrupts, cancel).await;
            show(screen, &done);
            continue;
        };
        let (word, argument) = command.split_once(' ').unwrap_or((command, ""));
        match word {
            "quit" | "exit" => return Ok(()),
            "help" => screen.line(HELP),
            "tools" => tools(session, screen),
            "continue" => {
                let turn = CancellationToken::new();
                match guarded(session.go_on(&turn), &turn, &mut interrupts, cancel).await {
                    Some(done) => show(screen, &done),
                    None => screen.line("There is no turn to go on with."),
                }
            }
            "back" => match number(argument, 1) {
                Some(turns) => {
                    let went = session.journal.back(usize::try_from(turns).unwrap_or(usize::MAX));
                    arrive(session, screen, went);
                }
                None => screen.line("/back takes a number of messages, such as /back 2."),
            },
            "branches" => branches(session, screen),
            "branch" => match number(argument, 0).filter(|id| *id > 0) {
                Some(id) => {
                    let went = session.journal.switch(id);
                    arrive(session, screen, went);
                }
                None => screen.line("/branch takes the number of a branch; /branches lists them."),
            },
            _ => screen.line(&format!(
                "There is no /{word}; /help lists what there is. To say it, put a space before it."
            )),
        }
    }
}

/// Lets something run that ctrl-C ends, and it alone.
async fn guarded<T>(
    running: impl Future<Output = T>,
    turn: &CancellationToken,
    interrupts: &mut tokio::sync::watch::Receiver<u64>,
    cancel: &CancellationToken,
) -> T {
    interrupts.mark_unchanged();
    tokio::pin!(running);
    loop {
        tokio::select! {
            biased;
            done = &mut running => return done,
            () = cancel.cancelled(), if !turn.is_cancelled() => turn.cancel(),
            Ok(()) = interrupts.changed() => turn.cancel(),
        }
    }
}

fn show(screen: &Screen, done: &Result<Reply, TurnError>) {
    match done {
        // The words were shown as they came.
        Ok(_) => {}
        Err(TurnError::Cancelled) => screen.line("(the turn is ended; the conversation goes on)"),
        Err(error) => screen.line(&format!("No reply: {error}")),
    }
}

fn told_of_pending(session: &Kept<'_>, screen: &Screen) {
    if session.is_pending() {
        screen.line("The last turn has no reply; /continue goes on with it.");
    }
}

fn tools(session: &Kept<'_>, screen: &Screen) {
    let tools = session.agent.tools;
    if tools.specs().is_empty() {
        screen.line("There are no tools; --mcp NAME=COMMAND LINE gives some.");
    }
    for tool in tools.specs() {
        let about = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
        screen.line(&format!("{}  ({})  {}", tool.name, tools.class(&tool.name), clip(&about, SHOWN)));
    }
}

fn branches(session: &Kept<'_>, screen: &Screen) {
    match session.journal.branches() {
        Ok(branches) => {
            for branch in branches {
                let mark = if branch.current { "*" } else { " " };
                let last = branch.last.split_whitespace().collect::<Vec<_>>().join(" ");
                screen.line(&format!(
                    "{mark} {}  {} messages  {}",
                    branch.id,
                    branch.said,
                    clip(&last, SHOWN)
                ));
            }
        }
        Err(error) => screen.line(&error.to_string()),
    }
}

fn arrive(
    session: &mut Kept<'_>,
    screen: &Screen,
    went: Result<Resumed, crate::harness::journal::JournalError>,
) {
    match went {
        Ok(resumed) => {
            session.state = resumed.state;
            let said = session.state.conversation.messages().iter().rev().find_map(|message| match message {
                crate::harness::message::Message::User { text } => Some(text.as_str()),
                _ => None,
            });
            screen.line(&match said {
                Some(said) => format!("Your last message is now: {}", clip(said, SHOWN)),
                None => "The conversation begins anew.".to_owned(),
            });
            screen.line("What the tools have done stays done.");
            told_of_pending(session, screen);
        }
        Err(error) => screen.line(&error.to_string()),
    }
}

fn number(text: &str, usual: i64) -> Option<i64> {
    match text.trim() {
        "" => Some(usual),
        text => text.parse().ok().filter(|number| *number > 0),
    }
}
