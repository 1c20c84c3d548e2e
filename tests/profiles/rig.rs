//! A user's machine in a temporary folder: a home with settings of its own, a repository around
//! the results, scripted models, and a proxy that notes who wants to leave.

use crate::machine::{nochmal, program};
use nochmal::domain::RunResult;
use nochmal::store::read_runs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

/// How agents reach the proxy.
pub const TRANSPORTS: [&str; 2] = ["stdio", "http"];
/// Stands in everything of the user's that must not come to a model.
pub const MARK: &str = "mark-of-the-users-own";
/// The suite's system prompt: characters that quoting may spoil.
pub const SYSTEM: &str = r#"You are the front desk of a <small> hotel. Say "grüß Gott" & 'bye' \ {x} $HOME."#;

/// Files that agent programs look for in the home and in the folders above.
const OWN_FILES: &[&str] = &[
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "GEMINI.md",
    "QWEN.md",
    ".claude/CLAUDE.md",
    ".codex/AGENTS.md",
    ".gemini/GEMINI.md",
    ".qwen/QWEN.md",
    ".continue/AGENTS.md",
    ".continue/config.yaml",
    ".vibe/AGENTS.md",
    ".fast-agent/AGENTS.md",
    ".config/opencode/AGENTS.md",
];

pub struct Rig {
    dir: tempfile::TempDir,
    models: Child,
    url: String,
    away: Arc<Mutex<Vec<String>>>,
    proxy: String,
    profile: String,
    /// What the profile needs, before the PATH of the test.
    path: String,
    /// How the server under the proxy is started.
    upstream: String,
    /// What is written otherwise in the profile.
    otherwise: Vec<(String, String)>,
}

/// What a program asked a model for.
pub struct Asked {
    /// What it told the model before and beside the conversation.
    pub system: String,
    /// All of it.
    pub text: String,
}

impl Asked {
    pub fn around<'a>(&'a self, word: &'a str) -> &'a str {
        let at = self.text.find(word).unwrap_or(0);
        let from = (0..=at.saturating_sub(200)).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        self.text.get(from..at + word.len()).unwrap_or(word)
    }
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Rig {
    pub fn new(profile: &str, programs: &[&str], model_flags: &[&str]) -> Rig {
        // Node comes with the agents.
        let mut path = root().join("tests/agents-npm/node_modules/.bin").display().to_string();
        for program in programs {
            let file = root().join(program);
            assert!(file.exists(), "{program} is missing; install it with: bash tests/install.sh");
            path = format!("{}:{path}", file.parent().unwrap().display());
        }
        let dir = tempfile::tempdir().unwrap();
        // Results lie inside of a repository of the user's, as they often do.
        for folder in ["home", "."] {
            for name in OWN_FILES {
                let path = dir.path().join(folder).join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, format!("Always say {MARK}.\n")).unwrap();
            }
        }
        let git = |arguments: &[&str]| {
            let mut git = program("git");
            git.current_dir(&dir)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .args(["-c", "user.name=x", "-c", "user.email=x@x"]);
            assert!(git.args(arguments).output().unwrap().status.success(), "git {arguments:?}");
        };
        git(&["init", "--quiet", "--initial-branch", MARK]);
        git(&["commit", "--quiet", "--allow-empty", "--message", MARK]);

        let mut models = nochmal()
            .args(["model", "--listen", "127.0.0.1:0", "--log"])
            .arg(dir.path().join("requests.jsonl"))
            .args(model_flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(models.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let (proxy, away) = proxy();
        Rig {
            dir,
            models,
            url: url.trim().to_owned(),
            away,
            proxy,
            profile: profile.to_owned(),
            path,
            upstream: "{builtin: booking, search: true}".to_owned(),
            otherwise: Vec::new(),
        }
    }

    /// The server takes so many seconds to start, where an agent waits for it.
    pub fn slow(mut self, seconds: u32) -> Rig {
        let desk =
            "exec '{{ program }}' upstream booking --search=true --ledger='{{ run.dir }}/ledger.jsonl'";
        let desk = desk.replace("{{ program }}", env!("CARGO_BIN_EXE_nochmal"));
        self.upstream = format!(
            "{{command: sh, args: [-c, \"case '{{{{ run.dir }}}}' in */probe-*) ;; *) sleep {seconds};; esac; {desk}\"]}}"
        );
        self
    }

    /// The profile has `to` where it has `from`.
    pub fn with(mut self, from: &str, to: &str) -> Rig {
        self.otherwise.push((from.to_owned(), to.to_owned()));
        self
    }

    /// Runs a suite with the given matrix, in which AGENTS stands for the profile over either
    /// transport and STDIO for the one over stdio.
    pub fn run(&self, matrix: &str) -> Vec<RunResult> {
        let dir = self.dir.path();
        let names = TRANSPORTS.map(|transport| self.write_profile(transport));
        let matrix = matrix.replace("AGENTS", &format!("[{}]", names.join(", "))).replace("STDIO", &names[0]);
        let suite = format!(
            "suite: profiles\n{matrix}\nrepeats: 1\nseed: 7\nprompts:\n  plain: {{system: {}, user: \"Please book room 12 \
             for Ada Lovelace on 2026-12-03.\"}}\nconversations:\n  insists: [{{say: \"bitte nochmal versuchen\", when: \
             always}}]\nupstreams:\n  booking: {}\nlimits: {{run_timeout: 5m, parallel: \
             2}}\n",
            serde_json::to_string(SYSTEM).unwrap(),
            self.upstream
        )
        .replace("matrix: {", "matrix: {model: [\"script:obedient\"], ");
        std::fs::write(dir.join("suite.yaml"), suite).unwrap();
        let bare = self.url.trim_end_matches("/v1");
        let mut command = nochmal();
        command.current_dir(dir).arg("run").arg("suite.yaml").arg("--out").arg("out");
        command.env("PATH", format!("{}:{}", self.path, std::env::var("PATH").unwrap()));
        command.env("HOME", dir.join("home"));
        command.env("HTTPS_PROXY", &self.proxy).env("NO_PROXY", "127.0.0.1,localhost");
        for (name, url) in [
            ("OPENAI_BASE_URL", self.url.as_str()),
            ("ANTHROPIC_BASE_URL", bare),
            ("GOOGLE_GEMINI_BASE_URL", bare),
        ] {
            command.env(name, url);
        }
        for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"] {
            command.env(name, "sk-test-0000");
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        read_runs(&dir.join("out")).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// A copy of the profile that reaches its server over `transport`, under a name of its own.
    fn write_profile(&self, transport: &str) -> String {
        let name = format!("{}-{transport}", self.profile);
        let text =
            std::fs::read_to_string(root().join("agents").join(format!("{}.yaml", self.profile))).unwrap();
        let text = self.otherwise.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "no {from:?} in the profile");
            text.replace(from, to)
        });
        let mut lines = Vec::new();
        for line in text.lines() {
            lines.push(if line.starts_with("agent:") {
                format!("agent: {name}")
            } else if line.starts_with("mcp:") {
                format!("mcp: {transport}")
            } else {
                line.replace("{{ profile.dir }}", &root().join("agents").display().to_string())
            });
        }
        let agents = self.dir.path().join("agents");
        std::fs::create_dir_all(&agents).unwrap();
        std::fs::write(agents.join(format!("{name}.yaml")), lines.join("\n")).unwrap();
        name
    }

    pub fn run_folder(&self, run: &RunResult) -> PathBuf {
        self.dir.path().join("out/runs").join(&run.run_id.0)
    }

    /// Every file of the user's home with its content.
    pub fn home(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.dir.path().join("home")];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    open.push(path.clone());
                    files.insert(path, Vec::new());
                } else {
                    files.insert(path.clone(), std::fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    pub fn requests(&self) -> Vec<Asked> {
        let log = std::fs::read_to_string(self.dir.path().join("requests.jsonl")).unwrap();
        log.lines().map(|line| asked(&serde_json::from_str(line).unwrap())).collect()
    }

    /// Where a program wanted to go through the proxy.
    pub fn called_away(&self) -> Vec<String> {
        self.away.lock().unwrap().clone()
    }

    /// Waits until no process is left that belongs to a run.
    pub fn nothing_runs(&self) {
        #[cfg(target_os = "linux")]
        crate::machine::gone(&self.dir.path().join("out/runs").display().to_string());
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.models.kill();
        let _ = self.models.wait();
    }
}

/// A proxy that lets nobody through and notes who came.
fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let away = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&away);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut line = String::new();
            let _ = BufReader::new(stream).read_line(&mut line);
            noted.lock().unwrap().push(line.trim().to_owned());
        }
    });
    (address, away)
}

fn asked(record: &Value) -> Asked {
    let body = record.get("body").unwrap_or(record);
    let mut system = String::new();
    // Anthropic, OpenAI Responses, Gemini.
    for name in ["system", "instructions", "systemInstruction"] {
        texts(body.get(name), &mut system);
    }
    for name in ["messages", "input"] {
        for message in body.get(name).and_then(Value::as_array).into_iter().flatten() {
            if message.get("role").is_some_and(|role| role == "system" || role == "developer") {
                texts(message.get("content"), &mut system);
            }
        }
    }
    Asked { system, text: record.to_string() }
}

/// All texts in a part of a request.
fn texts(value: Option<&Value>, into: &mut String) {
    match value {
        Some(Value::String(text)) => {
            into.push_str(text);
            into.push('\n');
        }
        Some(Value::Array(items)) => items.iter().for_each(|item| texts(Some(item), into)),
        Some(Value::Object(fields)) => {
            texts(fields.get("text"), into);
            texts(fields.get("parts"), into);
        }
        _ => {}
    }
}
