//! Conversations with real processes: what agents do wrong, and what is left of it afterwards.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of these tests fail loudly")]
#![expect(clippy::disallowed_methods, reason = "these tests start processes and watch the clock")]

#[path = "rig/machine.rs"]
mod machine;

use machine::{PATIENCE, runs};
use nochmal::agent::output::{Count, Find, Format, Spec};
use nochmal::agent::{
    AgentOutcome, Ended, First, Launch, Limits, Observed, Program, Step, Turn, Vars, When, converse, probe,
};
use nochmal::process::watchdog::watch;
use nochmal::process::{CommandLine, Stdin, Supervisor};
use regex::Regex;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

const SESSION: &str = "6a1f0a52-7c7b-4a3e-9d3c-0f6a2f1f9b11";

fn fixture(name: &str) -> String {
    format!("{}/tests/agent/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}

fn step(command: &[&str]) -> Step {
    Step { command: words(command), stdin: None }
}

/// A program that is one command and whose output is its reply.
fn program(command: &[&str]) -> Program {
    Program {
        name: "fixture".to_owned(),
        install: Some("make fixture".to_owned()),
        files: BTreeMap::new(),
        first: First::Command(step(command)),
        next: None,
        output: Spec::default(),
        output_file: None,
        pass: Vec::new(),
        set: BTreeMap::new(),
        own_home: true,
        ok_exit: vec![0],
        model_errors: vec![Regex::new("quota exceeded").unwrap()],
    }
}

fn session(behaviour: &str) -> Program {
    Program { first: First::Session(words(&["python3", &fixture("session.py"), behaviour])), ..program(&[]) }
}

fn say(text: &str, when: When) -> Turn {
    Turn { say: text.to_owned(), when, after: Duration::ZERO }
}

/// Who needs to be the only one with a tree of processes takes it for writing: orphans whose tree nobody
/// knows are ended with the last tree of this program, which all tests here share.
static TREES: LazyLock<RwLock<()>> = LazyLock::new(RwLock::default);

/// How long processes are asked to end that will not.
const SHORT: Duration = Duration::from_millis(300);

/// A folder for one run, and what happened in it.
struct Run {
    folder: tempfile::TempDir,
    cancel: CancellationToken,
    observed: Vec<Observed>,
    limits: Limits,
    supervisor: Supervisor,
}

impl Run {
    fn new() -> Run {
        Run {
            folder: tempfile::tempdir().unwrap(),
            cancel: CancellationToken::new(),
            observed: Vec::new(),
            limits: Limits { time: PATIENCE, grace: PATIENCE, drain: PATIENCE, ..Limits::default() },
            supervisor: Supervisor::start(None).unwrap(),
        }
    }

    async fn talk(&mut self, program: &Program, prompt: &str, turns: &[Turn]) -> AgentOutcome {
        let _beside_others = TREES.read().await;
        self.talk_alone(program, prompt, turns).await
    }

    async fn talk_alone(&mut self, program: &Program, prompt: &str, turns: &[Turn]) -> AgentOutcome {
        let folder = self.folder.path().to_owned();
        let render = |template: &str, vars: &Vars| {
            let context = minijinja::context! {
                say => &vars.say, session => &vars.session, dir => folder.to_str(),
            };
            minijinja::Environment::new().render_str(template, context).map_err(|error| error.to_string())
        };
        let environment = |name: &str| match name {
            "PASSED_ON" => Some("1".into()),
            _ => std::env::var_os(name),
        };
        let launch = Launch {
            program,
            folder: &folder,
            prompt,
            turns,
            session: SESSION,
            render: &render,
            environment: &environment,
            limits: self.limits,
        };
        let observed = &mut self.observed;
        converse(&launch, &self.supervisor, &self.cancel, &mut |event| observed.push(event)).await
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }
}

/// Processes that have a mark in their environment, and run.
fn marked(mark: &str) -> Vec<i32> {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|item| item.ok()?.file_name().to_str()?.parse().ok());
    let has_mark = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    pids.filter(has_mark).filter(|pid| runs(*pid)).collect()
}

fn pids_in(file: &Path) -> Vec<i32> {
    fs::read_to_string(file).unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect()
}

/// Waits for something that another process brings about.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The time of a run is over once something has happened: on its clock, which nobody waits for.
async fn late_once(what: &str, holds: impl Fn() -> bool) {
    eventually(what, holds).await;
    tokio::time::pause();
    tokio::time::advance(PATIENCE).await;
    tokio::time::resume();
}

/// A variable that the processes of this run have, and no others of this machine.
fn unique(run: &Run) -> (BTreeMap<String, String>, String) {
    let value = run.folder.path().display().to_string();
    (BTreeMap::from([("PROBE".to_owned(), value.clone())]), format!("PROBE={value}"))
}

fn replies(outcome: &AgentOutcome) -> Vec<Option<&str>> {
    outcome.turns.iter().map(|turn| turn.reply.as_deref()).collect()
}

fn failure(outcome: &AgentOutcome) -> &str {
    match &outcome.ended {
        Ended::NotStarted { reason } | Ended::Failed { reason, .. } | Ended::ModelEndpoint { reason } => {
            reason
        }
        other => panic!("{other:?}"),
    }
}

fn json_output() -> Spec {
    Spec {
        format: Format::Json,
        reply: Some(Find::at("/result")),
        session: Some(Find::at("/session_id")),
        input_tokens: Some(Count { cumulative: true, ..Count::at("/usage/input") }),
        output_tokens: Some(Count::at("/usage/output")),
        cost_usd: Some(Count::at("/cost")),
        ..Spec::default()
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named_with_the_way_to_install_it() {
    let outcome = Run::new().talk(&program(&["no-such-agent-program"]), "hello", &[]).await;
    assert!(matches!(outcome.ended, Ended::NotStarted { .. }));
    insta::assert_snapshot!(failure(&outcome), @"`no-such-agent-program` was not found on PATH; install it with: make fixture");
}

#[tokio::test]
async fn a_script_without_its_interpreter_is_not_called_missing() {
    let mut run = Run::new();
    let script = run.folder.path().join("agent");
    machine::script(&script, "#!/no/such/interpreter\n");
    let outcome = run.talk(&program(&["{{ dir }}/agent"]), "hello", &[]).await;
    assert!(
        failure(&outcome).contains("the interpreter that its first line names was not found"),
        "{outcome:?}"
    );
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let outcome = run.talk(&program(&["{{ dir }}/agent"]), "hello", &[]).await;
    assert!(failure(&outcome).contains("permission denied"), "{outcome:?}");
}

#[tokio::test]
async fn a_failing_exit_code_is_a_failure_with_the_last_words() {
    let outcome = Run::new()
        .talk(&program(&["sh", "-c", "echo working; echo 'no config' >&2; exit 3"]), "x", &[])
        .await;
    let reason = "the agent `fixture` ended with exit code 3: working".to_owned();
    assert_eq!(outcome.ended, Ended::Failed { reason, exit: Some(3) });
    assert_eq!((outcome.facts.exit_code, outcome.facts.stderr.as_str()), (Some(3), "no config\n"));
    assert_eq!(replies(&outcome), [None]);
}

#[tokio::test]
async fn a_model_error_is_not_the_agents_failure() {
    let outcome =
        Run::new().talk(&program(&["sh", "-c", "echo 'quota exceeded' >&2; exit 1"]), "x", &[]).await;
    assert!(matches!(outcome.ended, Ended::ModelEndpoint { .. }));
    insta::assert_snapshot!(failure(&outcome), @"the agent `fixture` could not use its model: quota exceeded; check the endpoint's address, the key and the model");
    // Some programs exit with 0 and report the error as their last words.
    let outcome = Run::new().talk(&program(&["echo", "quota exceeded"]), "x", &[]).await;
    assert!(matches!(outcome.ended, Ended::ModelEndpoint { .. }));
}

#[tokio::test]
async fn an_output_that_is_not_as_described_says_what_is_missing() {
    let json = Program { output: json_output(), ..program(&["echo", r#"{"answer": "x"}"#]) };
    let outcome = Run::new().talk(&json, "x", &[]).await;
    insta::assert_snapshot!(failure(&outcome), @r#"the agent `fixture` ended well, but its output has no reply at `/result`; it begins: {"answer": "x"}"#);
}

#[tokio::test]
async fn two_turns_share_the_session_and_a_turn_whose_condition_fails_is_skipped() {
    let mut run = Run::new();
    let script = fixture("say.py");
    let talker = Program {
        next: Some(step(&["python3", &script, "turns", "{{ session }}", "{{ say }}"])),
        output: json_output(),
        ..program(&["python3", &script, "turns", "new", "{{ say }}"])
    };
    let turns = [
        say("never said", When::Matches(Regex::new("no such text").unwrap())),
        say("bitte nochmal", When::Matches(Regex::new(r"^book \(1\)$").unwrap())),
        say("never said either", When::DoesNotMatch(Regex::new("nochmal").unwrap())),
    ];
    let outcome = run.talk(&talker, "book", &turns).await;
    assert_eq!(outcome.ended, Ended::Completed, "{outcome:?}");
    assert_eq!(replies(&outcome), [Some("book (1)"), Some("bitte nochmal (2)")]);
    assert_eq!(outcome.session, "s-17");
    assert_eq!(
        (outcome.usage.input_tokens, outcome.usage.output_tokens),
        (Some(200), Some(20)),
        "the first grows"
    );
    assert_eq!(outcome.usage.cost_usd, Some(1.0), "a turn's own");
    assert_eq!((outcome.facts.exit_code, outcome.facts.leaked), (Some(0), 0));
    assert_eq!(
        run.observed,
        [
            Observed::TurnStarted { turn: 0, text: "book".to_owned() },
            Observed::TurnEnded { turn: 0, reply: Some("book (1)".to_owned()) },
            Observed::TurnStarted { turn: 1, text: "bitte nochmal".to_owned() },
            Observed::TurnEnded { turn: 1, reply: Some("bitte nochmal (2)".to_owned()) },
        ]
    );
}

#[tokio::test]
async fn nothing_of_our_environment_is_inherited() {
    let mut run = Run::new();
    let mut env = program(&["env"]);
    env.pass = words(&["PASSED_ON", "NO_SUCH_VARIABLE"]);
    env.set = BTreeMap::from([("ID".to_owned(), "{{ session }}".to_owned())]);
    let outcome = run.talk(&env, "x", &[]).await;
    let reply = outcome.turns[0].reply.clone().unwrap();
    let mut names: Vec<&str> =
        reply.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    let expected = [
        "GIT_CEILING_DIRECTORIES",
        "HOME",
        "ID",
        "LANG",
        "NO_COLOR",
        "PASSED_ON",
        "PATH",
        "TERM",
        "TMPDIR",
        "XDG_SESSION_ID",
    ];
    assert_eq!(names, expected);
    let home = format!("HOME={}", run.folder.path().join("home").display());
    assert!(
        reply.lines().any(|line| line == home) && reply.lines().any(|line| line == format!("ID={SESSION}"))
    );
}

#[tokio::test]
async fn files_are_written_below_the_runs_folder_and_nowhere_else() {
    let mut run = Run::new();
    let mut cat = program(&["cat", "{{ dir }}/config/mcp.json"]);
    cat.files = BTreeMap::from([("config/mcp.json".to_owned(), r#"{"say": "{{ say }}"}"#.to_owned())]);
    let outcome = run.talk(&cat, "hello", &[]).await;
    assert_eq!(replies(&outcome), [Some(r#"{"say": "hello"}"#)]);
    for path in ["../escaped", "/tmp/nochmal-escaped", "a/../../escaped", "{{ dir }}/../escaped", ""] {
        cat.files = BTreeMap::from([(path.to_owned(), String::new())]);
        let outcome = run.talk(&cat, "hello", &[]).await;
        assert!(failure(&outcome).contains("leaves the run's folder"), "{path}: {outcome:?}");
    }
}

#[tokio::test]
async fn input_can_be_piped_and_output_can_be_a_file() {
    let mut run = Run::new();
    let long = "x".repeat(1_000_000);
    let mut copy = program(&[]);
    copy.first = First::Command(Step {
        stdin: Some("{{ say }}".to_owned()),
        ..step(&["sh", "-c", "wc -c > ../out.txt"])
    });
    copy.next = Some(step(&["true"]));
    copy.output_file = Some("{{ dir }}/out.txt".to_owned());
    let outcome = run.talk(&copy, &long, &[say("again", When::Always)]).await;
    assert_eq!(replies(&outcome), [Some("1000000"), None], "the first turn's file is not read again");
    assert!(failure(&outcome).contains("out.txt cannot be read"), "{outcome:?}");
}

#[tokio::test]
async fn a_hanging_agent_is_ended_with_all_that_it_started() {
    let mut run = Run::new();
    run.limits.grace = SHORT;
    let (set, mark) = unique(&run);
    let pids = run.work().join("pids");
    let agent = Program { set, ..program(&["sh", &fixture("family.sh"), "hang"]) };
    let late = late_once("the agent has started all", || pids.exists());
    let (outcome, ()) = tokio::join!(run.talk(&agent, "x", &[]), late);
    assert_eq!(outcome.ended, Ended::TimedOut);
    assert_eq!((outcome.facts.timed_out, outcome.facts.signal, outcome.facts.leaked), (true, Some(9), 0));
    let pids = pids_in(&run.work().join("pids"));
    assert_eq!(pids.len(), 4, "the script had started all");
    assert_eq!(pids.into_iter().filter(|pid| runs(*pid)).collect::<Vec<_>>(), [] as [i32; 0]);
    assert_eq!(marked(&mark), [] as [i32; 0]);
}

#[tokio::test]
async fn what_an_agent_leaves_behind_counts_as_leaked_and_is_ended() {
    let mut run = Run::new();
    (run.limits.grace, run.limits.drain) = (SHORT, SHORT);
    let (set, mark) = unique(&run);
    let _alone = TREES.write().await;
    let outcome =
        run.talk_alone(&Program { set, ..program(&["sh", &fixture("family.sh"), "end"]) }, "x", &[]).await;
    assert_eq!(outcome.ended, Ended::Completed, "leaking is not failing");
    assert_eq!(replies(&outcome), [Some("done")]);
    assert!(outcome.facts.leaked >= 3, "{:?}", outcome.facts);
    assert_eq!((outcome.facts.timed_out, outcome.facts.exit_code), (false, Some(0)));
    let pids = pids_in(&run.work().join("pids"));
    assert_eq!(pids.len(), 4);
    let left: Vec<i32> = pids.into_iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect();
    assert_eq!(left, [] as [i32; 0], "orphans that came to us are waited for");
    assert_eq!(marked(&mark), [] as [i32; 0]);
}

#[tokio::test]
async fn a_cancelled_conversation_ends_its_processes() {
    let mut run = Run::new();
    run.limits.grace = SHORT;
    let (set, mark) = unique(&run);
    let (cancel, pids) = (run.cancel.clone(), run.work().join("pids"));
    let watcher = tokio::spawn(async move {
        eventually("the agent is at work", || pids.exists()).await;
        cancel.cancel();
    });
    let outcome =
        run.talk(&Program { set, ..program(&["sh", &fixture("family.sh"), "hang"]) }, "x", &[]).await;
    watcher.await.unwrap();
    assert_eq!(outcome.ended, Ended::Cancelled);
    assert_eq!(marked(&mark), [] as [i32; 0]);
    assert_eq!(
        run.observed.last(),
        Some(&Observed::TurnEnded { turn: 0, reply: None }),
        "the turn is closed in the trace"
    );
}

#[tokio::test]
async fn a_dropped_conversation_kills_on_the_spot() {
    let mut run = Run::new();
    let (set, mark) = unique(&run);
    let pids = run.work().join("pids");
    let agent = Program { set, ..program(&["sh", &fixture("family.sh"), "hang"]) };
    tokio::select! {
        _ = run.talk(&agent, "x", &[]) => panic!("it hangs"),
        () = eventually("the agent is at work", || pids.exists()) => {}
    }
    assert_eq!(marked(&mark), [] as [i32; 0]);
    assert_eq!(pids_in(&pids).into_iter().filter(|pid| runs(*pid)).count(), 0);
}

#[tokio::test]
async fn an_agent_that_writes_200_megabytes_is_read_to_its_end() {
    let mut run = Run::new();
    run.limits.output = 1024 * 1024;
    let lines = Program {
        output: Spec {
            format: Format::JsonLines,
            reply: Some(Find::at("/text").when("/type", "result")),
            ..Spec::default()
        },
        ..program(&["sh", &fixture("flood.sh"), "both"])
    };
    let before = resident();
    let outcome = run.talk(&lines, "x", &[]).await;
    assert_eq!(outcome.ended, Ended::Completed, "{outcome:?}");
    assert_eq!(replies(&outcome), [Some("still here")], "the end of the output is kept");
    assert!(outcome.facts.output_dropped > 390_000_000, "{}", outcome.facts.output_dropped);
    assert!(outcome.facts.stderr.len() <= 4096);
    assert!(resident().saturating_sub(before) < 64 * 1024 * 1024, "in bounded memory");
}

/// Bytes of memory that this process uses.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn a_grandchild_that_holds_the_output_open_does_not_hang_the_run() {
    let mut run = Run::new();
    let json =
        Program { output: Spec { session: None, ..json_output() }, ..program(&["sh", &fixture("hold.sh")]) };
    run.limits.drain = SHORT;
    let outcome = run.talk(&json, "x", &[]).await;
    assert_eq!(outcome.ended, Ended::Completed, "{outcome:?}");
    assert_eq!((replies(&outcome), outcome.facts.leaked), (vec![Some("done")], 1));
}

#[tokio::test]
async fn a_session_is_one_process_for_all_turns() {
    let mut run = Run::new();
    let turns = [say("bitte nochmal", When::Matches(Regex::new("^book!$").unwrap()))];
    let outcome = run.talk(&session("good"), "book", &turns).await;
    assert_eq!(outcome.ended, Ended::Completed, "{outcome:?}");
    assert_eq!(replies(&outcome), [Some("book!"), Some("bitte nochmal!")]);
    assert_eq!((outcome.usage.input_tokens, outcome.usage.output_tokens), (Some(10), Some(4)));
    assert_eq!((outcome.facts.exit_code, outcome.facts.leaked), (Some(0), 0), "it ended with its input");
}

#[tokio::test]
async fn a_session_that_dies_in_the_middle_is_a_failure() {
    let outcome = Run::new().talk(&session("dies"), "book", &[say("again", When::Always)]).await;
    assert!(matches!(outcome.ended, Ended::Failed { exit: Some(7), .. }), "{outcome:?}");
    insta::assert_snapshot!(failure(&outcome), @"the agent `fixture` ended with exit code 7 before it replied: out of luck");
    assert_eq!(replies(&outcome), [Some("book!"), None]);
}

#[tokio::test]
async fn a_session_may_print_anything_beside_its_replies() {
    let mut run = Run::new();
    run.limits.output = 1024 * 1024;
    let outcome = run.talk(&session("garbage"), "book", &[say("again", When::Always)]).await;
    assert_eq!(replies(&outcome), [Some("book!"), Some("again!")]);
    assert_eq!(outcome.facts.output_dropped, 2 * 3_000_001, "lines beyond the limit");
}

#[tokio::test]
async fn a_session_that_never_answers_ends_at_the_time_limit() {
    let mut run = Run::new();
    let silent = run.work().join("silent");
    let (agent, turns) = (session("silent"), [say("again", When::Always)]);
    let late = late_once("the agent is silent", || silent.exists());
    let (outcome, ()) = tokio::join!(run.talk(&agent, "book", &turns), late);
    assert_eq!(outcome.ended, Ended::TimedOut);
    assert_eq!(replies(&outcome), [Some("book!"), None]);
    assert!(outcome.stray.is_some_and(|text| text.contains("thinking")), "what it printed is told");
}

#[tokio::test]
async fn a_second_reply_is_not_taken_for_the_reply_to_the_next_turn() {
    let mut run = Run::new();
    let outcome = run.talk(&session("twice"), "book", &[say("again", When::Always)]).await;
    assert_eq!(replies(&outcome), [Some("book?"), Some("again?")]);
}

#[tokio::test]
async fn an_error_of_a_session_is_its_failure_or_its_models() {
    let mut agent = session("error");
    let outcome = Run::new().talk(&agent, "book", &[]).await;
    assert!(matches!(outcome.ended, Ended::ModelEndpoint { .. }), "{outcome:?}");
    agent.model_errors.clear();
    let outcome = Run::new().talk(&agent, "book", &[]).await;
    assert_eq!(failure(&outcome), "the agent `fixture` reported an error: quota exceeded");
}

#[tokio::test]
async fn a_session_program_without_further_turns_needs_no_next_command_but_others_do() {
    let outcome = Run::new().talk(&program(&["echo", "hi"]), "x", &[say("again", When::Always)]).await;
    assert!(failure(&outcome).contains("no `next` command"), "{outcome:?}");
    assert_eq!(replies(&outcome), [Some("hi")]);
}

#[tokio::test]
async fn a_probe_gives_the_first_line() {
    let run = Run::new();
    let command = |script: &str| CommandLine {
        argv: words(&["sh", "-c", script]),
        env: BTreeMap::from([("PATH".into(), std::env::var_os("PATH").unwrap())]),
        folder: run.folder.path().to_owned(),
    };
    let said = probe(&command("echo; echo ' agent 1.2.3 '; echo more"), &run.supervisor).await.unwrap();
    assert_eq!(said, "agent 1.2.3");
    let error = probe(&command("echo no such flag >&2; exit 2"), &run.supervisor).await.unwrap_err();
    assert!(error.to_string().ends_with("ended with exit code 2: no such flag"), "{error}");
}

/// This test is also the watchdog: `Supervisor::start` calls this very program with the word
/// `reap`, which selects it.
#[test]
fn reap() {
    if std::env::var_os("AGENT_TEST_FOLDER").is_some() {
        watch(std::io::stdin().lock());
    }
    assert_eq!(
        watch(&b"{\"Watch\":{\"tree\":\"x\",\"roots\":[],\"marks\":[\"PROBE=nobody\"]}}\nhalf a li"[..]),
        0
    );
}

/// The runner of the next test, in a process of its own that can be killed.
#[tokio::test]
async fn a_runner_for_the_test_with_sigkill() {
    let Some(folder) = std::env::var_os("AGENT_TEST_FOLDER").map(PathBuf::from) else { return };
    let supervisor = Supervisor::start(Some(&std::env::current_exe().unwrap())).unwrap();
    let mut tree = supervisor.tree(&[]);
    let command = CommandLine {
        argv: words(&["sh", &fixture("family.sh"), "hang"]),
        env: BTreeMap::from([("PATH".into(), std::env::var_os("PATH").unwrap())]),
        folder: folder.clone(),
    };
    let mut process = tree.start(&command, Stdin::Null).unwrap();
    eventually("all have started", || folder.join("pids").exists()).await;
    fs::write(folder.join("mark"), format!("XDG_SESSION_ID={}", tree.mark())).unwrap();
    process.wait().await;
}

#[tokio::test]
async fn when_the_runner_is_killed_the_watchdog_ends_its_trees() {
    let folder = tempfile::tempdir().unwrap();
    // Orphans of the runner come to this process; as long as a tree is open nobody sweeps them.
    let _beside_others = TREES.read().await;
    let _open = Supervisor::start(None).unwrap().tree(&[]);
    let mut runner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_runner_for_the_test_with_sigkill"])
        .env("AGENT_TEST_FOLDER", folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("the runner is at work", || folder.path().join("mark").exists()).await;
    let mark = fs::read_to_string(folder.path().join("mark")).unwrap();
    assert!(marked(&mark).len() >= 3, "they run");
    runner.kill().unwrap();
    runner.wait().unwrap();
    let pids = pids_in(&folder.path().join("pids"));
    eventually("nothing of it runs", || marked(&mark).is_empty() && !pids.iter().any(|pid| runs(*pid))).await;
}
