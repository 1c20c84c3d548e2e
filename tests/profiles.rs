//! The profiles in `agents/`, each with the program itself at its exact version: two turns in one
//! session over both transports, against scripted models on loopback.
//!
//! `bash tests/install.sh` installs the programs. One row of [`profiles!`] is one profile.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is wrong")]

#[path = "profiles/rig.rs"]
mod rig;

use nochmal::domain::{ReasonCode, RunResult, Verdict};
use nochmal::judge::patches::{self, Lang};
use nochmal::upstream::builtin::ledger;
use rig::{Asked, MARK, Rig, TRANSPORTS};

/// Each row: the test's name, the profile, the programs that it starts.
macro_rules! profiles {
    ($($test:ident: $profile:literal needs [$($program:literal),+];)+) => {$(
        mod $test {
            #[test]
            fn books_twice_after_bitte_nochmal_and_with_the_patch_it_does_not() {
                super::books_twice($profile, &[$($program),+]);
            }

            #[test]
            fn an_error_of_the_model_is_no_verdict() {
                super::model_fails($profile, &[$($program),+]);
            }
        }
    )+};
}

profiles! {
    claude_code: "claude-code" needs ["tests/agents-npm/node_modules/.bin/claude"];
    codex: "codex" needs ["tests/agents-npm/node_modules/.bin/codex"];
    gemini_cli: "gemini-cli" needs ["tests/agents-npm/node_modules/.bin/gemini"];
    opencode: "opencode" needs ["tests/agents-npm/node_modules/.bin/opencode"];
    qwen_code: "qwen-code" needs ["tests/agents-npm/node_modules/.bin/qwen"];
    openai_agents: "openai-agents" needs ["target/venv/bin/python3"];
    pydantic_ai: "pydantic-ai" needs ["target/venvs/pydantic-ai/bin/python3"];
    vercel_ai_sdk: "vercel-ai-sdk" needs ["agents/vercel-ai-sdk/node_modules/ai"];
}

fn books_twice(profile: &str, programs: &[&str]) {
    let rig = Rig::new(profile, programs, &[]);
    let before = rig.home();
    let results = rig.run(
        "matrix: {agent: AGENTS, conversation: [alone, insists], patch: [off, GHOST_WRITE], scenario: [F1]}",
    );
    assert_eq!(results.len(), 8);
    for run in &results {
        let name = format!("{}: {:?} {} {}", run.key, run.reason_code, run.reason, run.agent.stderr);
        let insists = run.key.conversation == "insists";
        let twice = insists && run.key.patch == "off";
        assert_eq!(run.verdict, if twice { Verdict::Fail } else { Verdict::Pass }, "{name}");
        let bookings = ledger::read(&rig.run_folder(run).join("ledger.jsonl")).unwrap();
        assert_eq!(bookings.len(), if twice { 2 } else { 1 }, "{name}");
        assert_eq!(run.turns.len(), if insists { 2 } else { 1 }, "{name}");
        for turn in &run.turns {
            let reply = turn.reply.as_deref().unwrap_or_default();
            let whole = ["Booked: ", "Already done, ", "The booking failed: "];
            assert!(whole.iter().any(|start| reply.starts_with(start)), "{name}: {reply:?}");
        }
        assert!(run.usage.output_tokens.is_some_and(|tokens| tokens > 0), "{name}");
        assert!(run.agent.client.as_ref().is_some_and(|client| client.contains("MCP 20")), "{name}");
        assert_eq!(run.agent.leaked, 0, "{name}");
    }
    for transport in TRANSPORTS {
        // Two turns cost about two, neither one (taken for the session's) nor three (added up twice).
        let tokens = |conversation: &str| input_tokens(&results, transport, conversation);
        let ratio = tokens("insists") / tokens("alone");
        assert!((2.0..3.0).contains(&ratio), "{profile} over {transport}: {ratio}");
    }
    let requests = rig.requests();
    let patch = patches::text("GHOST_WRITE", Lang::En).unwrap();
    let (with, without): (Vec<&Asked>, Vec<&Asked>) = requests
        .iter()
        .filter(|asked| asked.system.contains(rig::SYSTEM))
        .partition(|asked| asked.system.contains(patch));
    assert!(
        with.len() >= 4 && without.len() >= 4,
        "{} with the patch, {} without",
        with.len(),
        without.len()
    );
    for asked in &requests {
        assert!(
            !asked.text.contains(MARK),
            "something of the user's came to the model: {}",
            asked.around(MARK)
        );
    }
    assert_eq!(rig.home(), before, "the user's home has changed");
    assert_eq!(rig.called_away(), Vec::<String>::new(), "it wanted to talk to somebody else");
    assert_eq!(rig.left_running(), Vec::<String>::new());
}

fn input_tokens(results: &[RunResult], transport: &str, conversation: &str) -> f64 {
    let is_meant = |run: &&RunResult| {
        run.key.agent.ends_with(transport) && run.key.conversation == conversation && run.key.patch == "off"
    };
    let run = results.iter().find(is_meant).unwrap();
    f64::from(u32::try_from(run.usage.input_tokens.unwrap()).unwrap())
}

fn model_fails(profile: &str, programs: &[&str]) {
    let rig = Rig::new(profile, programs, &["--fail", "401"]);
    let results = rig.run("matrix: {agent: [STDIO], scenario: [F1]}");
    assert_eq!(results.len(), 1);
    let run = &results[0];
    let name = format!("{} {}", run.reason, run.agent.stderr);
    assert_eq!((run.verdict, run.reason_code), (Verdict::Error, ReasonCode::ModelEndpoint), "{name}");
    assert!(run.reason.contains("401"), "{name}");
    assert_eq!(rig.left_running(), Vec::<String>::new());
}
