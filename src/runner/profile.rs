//! A profile as the suite has it → a program as the agent room launches it.

use crate::agent::{self, First, Program};
use crate::suite::profile::{Mode, Step};
use crate::suite::{AgentProfile, output};

/// The profile without its file format.
pub(super) fn program(profile: &AgentProfile) -> Program {
    let output = &profile.output;
    Program {
        name: profile.name.clone(),
        install: profile.install.clone(),
        files: profile.files.clone(),
        first: match profile.mode {
            Mode::Once => First::Command(step(&profile.first)),
            Mode::Session => First::Session(profile.first.command.clone()),
        },
        next: profile.next.as_ref().map(step),
        output: agent::output::Spec {
            format: match output.format {
                output::Format::Text => agent::output::Format::Text,
                output::Format::Json => agent::output::Format::Json,
                output::Format::JsonLines => agent::output::Format::JsonLines,
            },
            reply: output.reply.as_ref().map(find),
            session: output.session.as_ref().map(find),
            error: output.error.as_ref().map(find),
            input_tokens: output.usage.input.as_ref().map(count),
            output_tokens: output.usage.output.as_ref().map(count),
            cost_usd: output.usage.cost_usd.as_ref().map(count),
        },
        output_file: output.file.clone(),
        pass: profile.env_pass.clone(),
        set: profile.env_set.clone(),
        own_home: profile.isolate_home,
        ok_exit: profile.ok_exit.clone(),
        model_errors: profile.model_errors.iter().map(|pattern| pattern.0.clone()).collect(),
    }
}

fn step(step: &Step) -> agent::Step {
    agent::Step { command: step.command.clone(), stdin: step.stdin.clone() }
}

fn count(selector: &output::UsageSelector) -> agent::output::Count {
    agent::output::Count {
        find: find(&selector.selector),
        plus: selector.plus.iter().map(find).collect(),
        cumulative: selector.cumulative,
    }
}

fn find(selector: &output::Selector) -> agent::output::Find {
    agent::output::Find {
        pointer: selector.get.clone(),
        matching: selector.conditions.clone(),
        take: match selector.take {
            output::Take::Last => agent::output::Take::Last,
            output::Take::First => agent::output::Take::First,
            output::Take::Join => agent::output::Take::Join,
            output::Take::Sum => agent::output::Take::Sum,
        },
    }
}
