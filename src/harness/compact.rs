//! Making room in the model's window, in the order that costs the least: [`super::context`] says
//! what is possible, this asks the model for a summary.

use super::context::summary;
use super::turn::{Turn, room};
use super::watch::{Compaction, Event};

/// A summary is asked for with at most this part of the window, in characters for each of its
/// units: a request for a summary must not be too long itself.
const CHARACTERS: u64 = 2;

impl Turn<'_, '_> {
    /// Makes the history fit, where it does not. What cannot be done is left to the endpoint to
    /// refuse.
    pub(super) async fn make_room(&mut self) {
        if !self.is_full() {
            return;
        }
        self.agent.watch.event(Event::CompactionBegins { size: self.size() });
        let mut how = Compaction::default();
        let messages = self.state.conversation.messages();
        how.cut = self.state.context.cut_results(room(self.agent, messages));
        if self.is_full() {
            let upto = self.state.context.to_summarise(room(self.agent, self.state.conversation.messages()));
            if let Some(upto) = upto {
                how.summarised = self.summarise(upto).await;
                if !how.summarised && self.is_full() {
                    let text = summary::without_a_model(&self.state.conversation.messages()[..upto]);
                    how.degraded = self.replace(upto, &text);
                }
            }
        }
        if self.is_full() {
            let before = self.state.context.longest;
            self.state.context.squeeze(room(self.agent, self.state.conversation.messages()));
            how.squeezed = self.state.context.longest != before;
        }
        self.agent.watch.event(Event::CompactionEnds { size: self.size(), how });
    }

    /// False where the model gave no summary, or none that is shorter.
    async fn summarise(&mut self, upto: usize) -> bool {
        let before = self.state.context.summary.clone();
        let longest = usize::try_from(self.size().saturating_mul(CHARACTERS)).unwrap_or(usize::MAX);
        let request = summary::request(
            &self.state.conversation.messages()[..upto],
            before.as_ref().map(|summary| (summary.text.as_str(), summary.upto)),
            longest,
        );
        match self.request(&request, false).await {
            Ok(answer) => {
                self.count(answer.usage);
                !answer.text.trim().is_empty() && self.replace(upto, &answer.text)
            }
            Err(error) => {
                tracing::warn!(%error, "no summary");
                false
            }
        }
    }

    fn replace(&mut self, upto: usize, text: &str) -> bool {
        let tools = self.agent.tools;
        let room = room(self.agent, self.state.conversation.messages());
        self.state.context.replace(room, upto, text, &|name| tools.class(name))
    }

    fn is_full(&self) -> bool {
        self.state.context.is_full(room(self.agent, self.state.conversation.messages()))
    }

    fn size(&self) -> u64 {
        self.state.context.size(room(self.agent, self.state.conversation.messages()))
    }
}
