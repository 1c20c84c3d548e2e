//! The official conformance suite, against servers directly and through `nochmal proxy --listen`:
//! every check comes out the same. `tests/install.sh` installs the suite, its Node and a server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what only tests use is a test, too"
)]

#[path = "rig/machine.rs"]
mod machine;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// All scenarios of the suite are run, its pending ones too.
const SUITE: &str = "all";

fn npm(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm/node_modules").join(path);
    assert!(path.exists(), "{} is missing: run tests/install.sh", path.display());
    path
}

fn node() -> Command {
    program(npm("node/bin/node"))
}

fn program(path: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::from(machine::program(path));
    command.kill_on_drop(true).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The fixture, which cargo builds together with the tests.
fn everything() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_nochmal")).parent().unwrap();
    folder.join("examples").join(format!("everything{}", std::env::consts::EXE_SUFFIX))
}

/// Starts a server and waits for the line in which it says its URL.
async fn start(mut command: Command, before: &str) -> (Child, String) {
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the server says its URL");
            if let Some((_, url)) = line.split_once(before) {
                return url.to_owned();
            }
        }
    })
    .await
    .expect("the server starts");
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, url)
}

async fn proxy(flags: &[&str]) -> (Child, String) {
    let mut command = program(env!("CARGO_BIN_EXE_nochmal"));
    command.args(["proxy", "--audit-tools", "off", "--probe", "off", "--listen", "127.0.0.1:0"]).args(flags);
    start(command, "listening on ").await
}

/// Every check of the suite by scenario: its name and how it came out.
async fn checks(url: &str) -> BTreeMap<String, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let mut suite = node();
    suite.arg(npm("@modelcontextprotocol/conformance/dist/index.js"));
    suite.args(["server", "--url", url, "--suite", SUITE, "--output-dir"]).arg(folder.path());
    suite.stderr(Stdio::null());
    tokio::time::timeout(Duration::from_secs(120), suite.status()).await.expect("the suite ends").unwrap();
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        // The name ends with the time of the run, which begins with the year.
        let scenario = name.split("-20").next().unwrap().to_owned();
        let text = std::fs::read_to_string(entry.path().join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
        // INFO is what the suite notes by the way: bodies, times.
        let judged = checks.iter().filter(|check| check["status"] != "INFO");
        let mut judged: Vec<String> =
            judged.map(|check| format!("{} {}", check["id"], check["status"])).collect();
        judged.sort();
        found.insert(scenario, judged);
    }
    assert!(found.len() >= 30, "{found:?}");
    found
}

fn count(checks: &BTreeMap<String, Vec<String>>, status: &str) -> usize {
    checks.values().flatten().filter(|check| check.ends_with(&format!("\"{status}\""))).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_passes_everything_passes_everything_through_the_proxy() {
    let mut server = program(everything());
    server.arg("127.0.0.1:0");
    let (_server, direct) = start(server, "listening on ").await;
    let wanted = checks(&direct).await;
    assert_eq!((count(&wanted, "SUCCESS"), count(&wanted, "FAILURE")), (46, 0), "{wanted:#?}");
    let (_proxy, through) = proxy(&["--upstream-url", &direct]).await;
    assert_eq!(checks(&through).await, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_stdio_passes_everything_through_the_proxy() {
    let command = everything();
    let (_proxy, through) = proxy(&["--upstream-command", command.to_str().unwrap()]).await;
    let found = checks(&through).await;
    // Whether an answer is a stream is for the server to say, which over stdio it does not: the
    // three checks of what streams look like are not made then.
    assert_eq!((count(&found, "SUCCESS"), count(&found, "FAILURE")), (43, 0), "{found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_passes_some_checks_passes_the_same_through_the_proxy() {
    let index = npm("@modelcontextprotocol/server-everything/dist/index.js");
    let kept = machine::Port::kept();
    let port = kept.number();
    let mut server = node();
    server.arg(&index).arg("streamableHttp").env("PORT", port.to_string());
    let (_server, _) = start(server, "listening on port").await;
    let direct = format!("http://127.0.0.1:{port}/mcp");
    let wanted = checks(&direct).await;
    let (_proxy, through) = proxy(&["--upstream-url", &direct]).await;
    let found = checks(&through).await;
    let different: Vec<_> = wanted.iter().filter(|(name, checks)| found.get(*name) != Some(checks)).collect();
    // What HTTP says is the proxy's: it guards against DNS rebinding, and its streams can be taken
    // up again, even where its upstream does neither.
    let own = ["server-dns-rebinding-protection", "server-server-sse-polling"];
    assert!(
        different.iter().all(|(name, _)| own.contains(&name.as_str())),
        "direct: {different:#?}\nthrough the proxy: {found:#?}"
    );
    assert!(count(&wanted, "SUCCESS") >= 13);
}
