//! What is said in a run: the suite's templates with the run's values.

use super::names::Names;
use super::shared::{Shared, TrialError, missing};
use crate::agent;
use crate::judge::patches;
use crate::suite::{self, Suite, Trial, When};

/// What is said in a run, rendered.
pub(super) struct Prompts {
    /// The system prompt with the patch.
    pub system: String,
    pub user: String,
    pub turns: Vec<agent::Turn>,
}

impl Prompts {
    pub fn render(
        shared: &Shared,
        trial: &Trial,
        names: &Names,
        patch: Option<&str>,
    ) -> Result<Prompts, TrialError> {
        let suite = &shared.loaded.suite;
        let key = &trial.cell.key;
        let prompt = suite.prompts.get(&key.prompt).ok_or_else(|| missing("prompt", &key.prompt))?;
        let render =
            |what, text: &str| names.render(text).map_err(|source| TrialError::Template { what, source });
        let own = prompt.system.as_deref().map(|text| render("the system prompt", text)).transpose()?;
        let system: Vec<String> = own.into_iter().chain(patch.map(str::to_owned)).collect();
        let conversation = suite
            .conversations
            .get(&key.conversation)
            .ok_or_else(|| missing("conversation", &key.conversation))?;
        let turn = |turn: &suite::Turn| {
            let when = match &turn.when {
                When::Always => agent::When::Always,
                When::Confirmed => agent::When::Confirmed,
                When::NotConfirmed => agent::When::NotConfirmed,
                When::Matches(pattern) => agent::When::Matches(pattern.0.clone()),
            };
            Ok::<_, TrialError>(agent::Turn {
                say: render("what the user says", &turn.say)?,
                when,
                after: turn.after,
            })
        };
        Ok(Prompts {
            system: system.join("\n\n"),
            user: render("the prompt", &prompt.user)?,
            turns: conversation.turns.iter().map(turn).collect::<Result<_, _>>()?,
        })
    }
}

/// The text of a patch that is known before any run: of a file, or one that comes with the program.
pub(super) fn known_patch(suite: &Suite, name: &str) -> Option<String> {
    let built_in = || patches::text(name, patches::Lang::En).map(str::to_owned);
    suite.patch_files.get(name).cloned().or_else(built_in)
}
