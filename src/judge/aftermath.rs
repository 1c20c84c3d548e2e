//! A call arrives: does it follow what was refused for good (J27), or rely on an answer that broke
//! its contract (J28)?

use super::refresh::prepare;
use super::refusal::{Again, How, Refused, part};
use super::reliance::{Broken, Relied, Unfounded, unfounded};
use super::respelling::Relation;
use super::stamp::Stamp;
use super::state::Judge;

impl Judge {
    /// The agent was told that the operation is refused.
    pub(super) fn refused(&mut self, number: usize) {
        let Some(operation) = self.operations.get_mut(number) else { return };
        if operation.refused.is_some() {
            return;
        }
        let parted = part(&operation.canonical);
        let (arguments, coarse) = prepare(&parted.bare);
        if let Some(tool) = self.tools.get_mut(operation.tool) {
            tool.refused.insert(number, coarse);
            tool.any_refused = true;
        }
        operation.refused = Some(Refused { arguments, credentials: parted.credentials, again: Vec::new() });
    }

    /// An attempt arrived: is it one of an operation that was refused before?
    pub(super) fn compare_with_refused(&mut self, tool: usize, number: usize, call: usize) {
        let Some(found) = self.tools.get_mut(tool) else { return };
        if !found.any_refused {
            return;
        }
        let Some(canonical) = self.operations.get(number).map(|operation| operation.canonical.clone()) else {
            return;
        };
        let parted = part(&canonical);
        let (arguments, coarse) = prepare(&parted.bare);
        let mut candidates = found.refused.candidates(&coarse);
        candidates.push(number);
        candidates.sort_unstable();
        candidates.dedup();
        for candidate in candidates {
            let Some(refused) = self.operations.get_mut(candidate).and_then(|found| found.refused.as_mut())
            else {
                continue;
            };
            let how = if candidate == number {
                How::Same
            } else {
                let same_credentials = refused.credentials == parted.credentials;
                match (refused.arguments.relation(&arguments), same_credentials) {
                    (Relation::Same, _) => How::OtherCredentials,
                    (Relation::Respelled, true) => How::Reworded,
                    (Relation::Respelled, false) => How::OtherCredentialsReworded,
                    (Relation::Different, _) => continue,
                }
            };
            refused.again.push(Again { call, how });
            self.touch(candidate);
        }
    }

    /// The agent got an answer that breaks the contract.
    pub(super) fn broke(&mut self, number: usize, field: Option<String>, told: Stamp) {
        let Some(operation) = self.operations.get_mut(number) else { return };
        if operation.broken.is_none() {
            operation.broken = Some(Broken::new(told, field));
            self.broken.push(number);
        }
    }

    /// A write arrived: does it rely on an answer that broke its contract, with no successful read
    /// since?
    pub(super) fn compare_with_broken(&mut self, number: usize, call: usize) {
        let Some(write) = self.operations.get(number) else { return };
        let (arguments, tool) = (write.canonical.clone(), write.tool);
        for at in 0..self.broken.len() {
            let Some(candidate) = self.broken.get(at).copied().filter(|candidate| *candidate != number)
            else {
                continue;
            };
            let Some(operation) = self.operations.get_mut(candidate) else { continue };
            let same_tool = operation.tool == tool;
            let Some(broken) = operation.broken.as_mut().filter(|broken| broken.told.seq >= self.read_seen)
            else {
                continue;
            };
            let Some(found) = unfounded(&arguments, broken, &self.given) else { continue };
            if same_tool || !found.is_certain {
                broken.doubted = true;
            } else {
                let Unfounded { field, value, source, .. } = found;
                broken.relied.push(Relied { call, field, value, source });
            }
            self.touch(candidate);
        }
    }
}
