//! The profiles in `agents/`, each with the program itself at its exact version: two turns in one
//! session over both transports, against scripted models on loopback.
//!
//! `bash tests/install.sh` installs the programs. One row of [`profiles!`] is one profile.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test ends where something is wrong, and says what it could not try"
)]

#[path = "rig/machine.rs"]
mod machine;
#[path = "profiles/rig.rs"]
mod rig;

use nochmal::domain::{ReasonCode, RunResult, Verdict};
use nochmal::judge::patches::{self, Lang};
use nochmal::upstream::builtin::ledger;
use rig::{Asked, MARK, Rig, TRANSPORTS};

/// Each row: the test's name, the profile, the programs that it starts, and where something is not as
/// usual: `without_tokens` tells none; `where_there` is tried only where `tests/install.sh` could install it.
macro_rules! profiles {
    ($($test:ident: $profile:literal needs [$($program:literal),+] $(, $odd:ident)*;)+) => {$(
        mod $test {
            const ROW: super::Row = super::Row { profile: $profile, programs: &[$($program),+], odd: &[$(stringify!($odd)),*] };

            #[test]
            fn books_twice_after_bitte_nochmal_and_with_the_patch_it_does_not() {
                super::books_twice(&ROW);
            }

            #[test]
            fn an_error_of_the_model_is_no_verdict() {
                super::model_fails(&ROW);
            }
        }
    )+};
}

struct Row {
    profile: &'static str,
    programs: &'static [&'static str],
    odd: &'static [&'static str],
}

impl Row {
    fn is(&self, word: &str) -> bool {
        self.odd.contains(&word)
    }

    /// `None`, and a line that says so, where it cannot be tried on this machine.
    fn rig(&self, model_flags: &[&str]) -> Option<Rig> {
        if self.is("where_there") && !self.programs.iter().all(|program| rig::root().join(program).exists()) {
            eprintln!("{} is NOT TRIED on this machine: tests/install.sh says why", self.profile);
            return None;
        }
        Some(Rig::new(self.profile, self.programs, model_flags))
    }
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
    mcp_use: "mcp-use" needs ["target/venvs/mcp-use/bin/python3"];
    continue_cli: "continue" needs ["tests/agents-npm/node_modules/.bin/cn"], without_tokens;
    llm: "llm" needs ["target/venvs/llm/bin/llm"], without_tokens;
    fast_agent: "fast-agent" needs ["target/venvs/fast-agent/bin/fast-agent"], where_there;
    mistral_vibe: "mistral-vibe" needs ["target/venvs/mistral-vibe/bin/vibe"], where_there, without_tokens;
}

fn books_twice(row: &Row) {
    let Some(rig) = row.rig(&[]) else { return };
    let (profile, tells_tokens) = (row.profile, !row.is("without_tokens"));
    let before = rig.home();
    // How tokens add up over two turns is seen beside one turn.
    let conversations = if tells_tokens { "alone, insists" } else { "insists" };
    let results = rig.run(&format!(
        "matrix: {{agent: AGENTS, conversation: [{conversations}], patch: [off, GHOST_WRITE], scenario: [F1]}}"
    ));
    assert_eq!(results.len(), if tells_tokens { 8 } else { 4 });
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
            let whole = ["Booked: ", "Already done, ", "The booking failed: ", "I cannot tell whether "];
            assert!(whole.iter().any(|start| reply.starts_with(start)), "{name}: {reply:?}");
        }
        assert_eq!(run.usage.output_tokens.is_some_and(|tokens| tokens > 0), tells_tokens, "{name}");
        assert!(run.agent.client.as_ref().is_some_and(|client| client.contains("MCP 20")), "{name}");
        assert_eq!(run.agent.leaked, 0, "{name}");
    }
    for transport in TRANSPORTS.into_iter().filter(|_| tells_tokens) {
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
        with.len() >= 2 && without.len() >= 2,
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
        let program = env!("CARGO_BIN_EXE_nochmal");
        assert!(
            !asked.text.contains(program),
            "the model learns what stands before its server: {}",
            asked.around(program)
        );
    }
    assert_eq!(rig.home(), before, "the user's home has changed");
    assert_eq!(rig.called_away(), Vec::<String>::new(), "it wanted to talk to somebody else");
    rig.nothing_runs();
}

/// Codex and Gemini begin without the tools of a server that starts slowly, unless told otherwise.
#[test]
fn a_slow_server_is_waited_for_and_a_run_without_its_tools_is_an_error() {
    for profile in ["codex", "gemini-cli"] {
        let bin = if profile == "codex" { "codex" } else { "gemini" };
        let program = format!("tests/agents-npm/node_modules/.bin/{bin}");
        let rig = Rig::new(profile, &[&program], &[]).slow(6);
        let results = rig.run("matrix: {agent: AGENTS, scenario: [F1]}");
        assert_eq!(results.len(), 2);
        for run in &results {
            assert_eq!(
                (run.verdict, run.executions),
                (Verdict::Pass, 1),
                "{}: {} {}",
                run.key,
                run.reason,
                run.agent.stderr
            );
        }
    }
    let rig = Rig::new("codex", &["tests/agents-npm/node_modules/.bin/codex"], &[]).slow(1000);
    let rig = rig.with("required = true", "required = false");
    for run in rig.run("matrix: {agent: [STDIO], scenario: [F1]}") {
        assert_eq!(
            (run.verdict, run.reason_code),
            (Verdict::Error, ReasonCode::AgentSawNoTools),
            "{}",
            run.reason
        );
    }
}

fn input_tokens(results: &[RunResult], transport: &str, conversation: &str) -> f64 {
    let is_meant = |run: &&RunResult| {
        run.key.agent.ends_with(transport) && run.key.conversation == conversation && run.key.patch == "off"
    };
    let run = results.iter().find(is_meant).unwrap();
    f64::from(u32::try_from(run.usage.input_tokens.unwrap()).unwrap())
}

fn model_fails(row: &Row) {
    let Some(rig) = row.rig(&["--fail", "401"]) else { return };
    let results = rig.run("matrix: {agent: [STDIO], scenario: [F1]}");
    assert_eq!(results.len(), 1);
    let run = &results[0];
    let name = format!("{} {}", run.reason, run.agent.stderr);
    assert_eq!((run.verdict, run.reason_code), (Verdict::Error, ReasonCode::ModelEndpoint), "{name}");
    assert!(run.reason.contains("401"), "{name}");
    rig.nothing_runs();
}
