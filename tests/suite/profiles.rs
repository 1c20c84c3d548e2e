//! Agent profiles: what is read, what is refused, how output is read.

use crate::fixtures::{checked, small};
use nochmal::suite::AgentProfile;
use nochmal::suite::output::Format;
use nochmal::suite::profile::{McpTransport, Mode};

pub const CLAUDE_LIKE: &str = r#"
agent: some-agent
description: Some Agent, headless
install: npm install -g some-agent
tested: 2.1
probe: [some-agent, --version]
mcp: http
files:
  mcp.json: '{"mcpServers": {"{{ mcp.name }}": {"type": "http", "url": "{{ mcp.url }}"}}}'
  home/.some/settings.json: |
    {"model": {{ model | tojson }}}
first:
  command: [some-agent, -p, "{{ prompt.user }}", --session-id, "{{ session }}"]
next:
  command: [some-agent, -p, "{{ say }}", --resume, "{{ session }}"]
output:
  format: json
  reply: {where: {/type: result, /ok: true}, get: /result}
  session: /session_id
  error: {where: {/is_error: true}, get: /result}
  usage: {input: /usage/input_tokens, output: /usage/output_tokens, cost_usd: /total_cost_usd, cumulative: [cost_usd]}
env:
  pass: [SOME_API_KEY]
  set: {NO_COLOR: 1, HOME: "{{ run.home }}"}
isolate: {home: false}
ok_exit: [0, 2]
model_errors: ["\\b429\\b"]
"#;

fn said(text: &str) -> String {
    AgentProfile::parse(text, "agents/t.yaml").unwrap_err().to_string()
}

#[test]
fn everything_in_a_profile_arrives() {
    let agent =
        AgentProfile::parse(CLAUDE_LIKE, "agents/t.yaml").unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(
        (agent.name.as_str(), agent.tested.as_deref(), agent.mcp),
        ("some-agent", Some("2.1"), McpTransport::Http)
    );
    assert_eq!((agent.mode, agent.can_go_on(), agent.isolate_home), (Mode::Once, true, false));
    assert_eq!(agent.files["home/.some/settings.json"], "{\"model\": {{ model | tojson }}}\n");
    assert_eq!(agent.env_set["NO_COLOR"], "1");
    assert_eq!(agent.ok_exit, [0, 2]);
    assert!(agent.model_errors[0].0.is_match("HTTP 429 Too Many Requests"));
    let usage = &agent.output.usage;
    let cumulative =
        [&usage.input, &usage.output, &usage.cost_usd].map(|part| part.as_ref().unwrap().cumulative);
    assert_eq!(cumulative, [false, false, true]);
}

/// A suite says more to an agent than its profile does, and compares the two.
#[test]
fn an_agent_that_extends_another_is_it_with_more_said() {
    let suite = small(|text| {
        text.replace("[builtin]", "[builtin, long]").replace(
            "prompts:",
            "agents:\n  long: {extends: builtin, description: d, args: [\"--context-tokens=8000\", \"{{ run.dir }}\"], env: {pass: [A], set: {B: \"{{ env.A }}\"}}}\nprompts:",
        )
    });
    let suite = checked(&suite).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let (plain, long) = (&suite.agents["builtin"], &suite.agents["long"]);
    assert_eq!((plain.base(), long.base(), long.name.as_str()), ("builtin", "builtin", "long"));
    let more = long.first.command.strip_prefix(plain.first.command.as_slice()).unwrap();
    assert_eq!(more, ["--context-tokens=8000", "{{ run.dir }}"]);
    assert_eq!((long.mode, long.mcp, &long.output), (plain.mode, plain.mcp, &plain.output));
    assert_eq!(
        (long.env_pass.as_slice(), long.env_set["B"].as_str()),
        (&["A".to_owned()][..], "{{ env.A }}")
    );
    assert_ne!(plain.digest, long.digest);
    let suite = small(|text| {
        text.replace("[builtin]", "[more]")
            .replace("prompts:", "agents: {more: {extends: one-shot, args: [--fast]}}\nprompts:")
    });
    let words =
        checked(&suite).unwrap_or_else(|mistakes| panic!("{mistakes}")).agents["more"].first.command.clone();
    assert_eq!(words, ["one-shot", "-p", "--fast", "--", "{{ prompt.user }}"]);
}

#[test]
fn output_is_read_by_selectors() {
    let agent = AgentProfile::parse(CLAUDE_LIKE, "agents/t.yaml").unwrap();
    let one = r#"{"type": "result", "ok": true, "result": "done", "is_error": false, "total_cost_usd": 0.5}"#;
    assert_eq!(agent.output.reply(one).as_deref(), Some("done"));
    // An array is looked through element by element.
    assert_eq!(agent.output.reply(&format!("[{{\"type\": \"x\"}}, {one}]")).as_deref(), Some("done"));
    assert_eq!(agent.output.reply("not JSON"), None);
    let documents = agent.output.documents(one);
    assert_eq!(agent.output.error.as_ref().unwrap().text(&documents), None);
    assert_eq!(agent.output.usage.cost_usd.as_ref().unwrap().selector.number(&documents), Some(0.5));
}

#[test]
fn json_lines_take_last_join_or_sum() {
    let text = r#"
agent: lines
mcp: stdio
first: {command: [x, "{{ mcp.command }}"], stdin: "{{ prompt.user }}"}
output:
  format: jsonl
  reply: {where: {/type: text}, get: /part/text, take: join}
  session: /sessionID
  usage: {input: {where: {/type: step}, get: /tokens, take: sum}}
"#;
    let agent = AgentProfile::parse(text, "agents/t.yaml").unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let output = "noise\n{\"type\":\"text\",\"part\":{\"text\":\"a\"},\"sessionID\":\"s1\"}\n\
        {\"type\":\"step\",\"tokens\":3}\n{\"type\":\"text\",\"part\":{\"text\":\"b\"}}\n{\"type\":\"step\",\"tokens\":4}\n";
    let documents = agent.output.documents(output);
    assert_eq!(documents.len(), 4);
    assert_eq!(agent.output.reply(output).as_deref(), Some("a\nb"));
    assert_eq!(agent.output.session.as_ref().unwrap().text(&documents).as_deref(), Some("s1"));
    assert_eq!(agent.output.usage.input.as_ref().unwrap().selector.number(&documents), Some(7.0));
    assert_eq!(agent.output.usage.output, None);
    assert!(!agent.can_go_on());
}

#[test]
fn text_output_is_the_reply() {
    let agent = AgentProfile::parse(crate::fixtures::ONE_SHOT, "agents/t.yaml").unwrap();
    assert_eq!(agent.output.format, Format::Text);
    assert_eq!(agent.output.reply("  done\n").as_deref(), Some("done"));
    assert_eq!(agent.output.reply(" \n"), None);
}

#[test]
fn a_part_of_usage_may_be_the_sum_of_several_places() {
    let text = CLAUDE_LIKE.replace(
        "input: /usage/input_tokens",
        "input: [/usage/new, {get: /usage/cached, take: sum}, /usage/x]",
    );
    let agent = AgentProfile::parse(&text, "agents/t.yaml").unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let input = agent.output.usage.input.unwrap();
    let places = std::iter::once(&input.selector).chain(&input.plus);
    assert_eq!(
        places.map(|place| place.get.as_str()).collect::<Vec<_>>(),
        ["/usage/new", "/usage/cached", "/usage/x"]
    );
    assert!(said(&text.replace("/usage/x]", "usage.x]")).contains("perhaps `/usage/x`"));
    assert!(said(&CLAUDE_LIKE.replace("input: /usage/input_tokens", "input: []")).contains("a selector"));
}

#[test]
fn templates_know_the_transport_and_the_variables_that_are_passed_on() {
    let text = CLAUDE_LIKE.replace(
        "{\"model\": {{ model | tojson }}}",
        "{\"key\": \"{{ env.SOME_API_KEY | default('none', true) }}\", \"over\": \"{{ mcp.transport }}\"}",
    );
    AgentProfile::parse(&text, "agents/t.yaml").unwrap_or_else(|mistakes| panic!("{mistakes}"));
    insta::assert_snapshot!(said(&text.replace("env.SOME_API_KEY", "env.OTHER_KEY")));
}

#[test]
fn a_broken_profile_tells_everything_at_once() {
    insta::assert_snapshot!(said(
        r#"agent: broken
descripton: x
mcp: htttp
files:
  ../outside.json: "{{ mcp.ur }}"
first:
  command: some-agent -p
next:
  command: [some-agent, "{{ say | shout }}"]
output:
  format: json
  reply: result.text
  usage: {input: /a, cumulative: [inputs]}
env:
  pass: [A=B]
isolate: {home: yes}
ok_exit: [0, 999]
model_errors: ["(unclosed"]
"#
    ));
}

#[test]
fn a_session_speaks_its_own_protocol() {
    insta::assert_snapshot!(said(
        r#"agent: s
mcp: http
first: {mode: session, command: [x], stdin: y}
next: {command: [x, "{{ say }}"]}
output: {format: text, reply: /x}
"#
    ));
}

#[test]
fn a_first_command_has_nothing_to_say_yet() {
    insta::assert_snapshot!(said("agent: s\nmcp: http\nfirst: {command: [x, \"{{ say }}\"]}\n"));
}

#[test]
fn what_is_missing_is_named() {
    insta::assert_snapshot!(said("description: x\n"));
}
