//! Broken suites, and the words in which they are refused: one snapshot for each kind of mistake.

use crate::fixtures::{FULL, checked, small};

/// The refusals of one kind, each under its name.
#[derive(Default)]
struct Refusals(String);

impl Refusals {
    fn of(&mut self, name: &str, text: &str) {
        match checked(text) {
            Ok(suite) => panic!("{name} is valid: {suite:?}"),
            Err(mistakes) => self.0.push_str(&format!("## {name}\n\n{mistakes}\n\n")),
        }
    }

    /// The suite that uses everything, with one thing changed.
    fn replaced(&mut self, name: &str, from: &str, to: &str) {
        assert!(FULL.contains(from), "{name}: {from}");
        self.of(name, &FULL.replacen(from, to, 1));
    }
}

#[test]
fn syntax() {
    let mut cases = Refusals::default();
    cases.replaced("tab_indentation", "  agent: [builtin]", "\tagent: [builtin]");
    cases.replaced("unclosed_bracket", "[alone, insists]", "[alone, insists");
    cases.replaced("unclosed_quote", "on {{ date }}.\"", "on {{ date }}.");
    cases.replaced("second_colon", "description: Everything at once", "description: Everything: at once");
    cases.replaced("wrong_indentation", "  model: [qwen", "   model: [qwen");
    cases.replaced(
        "unquoted_template",
        "{FILE: \"{{ run.dir }}/memory.jsonl\"}",
        "{FILE: {{ run.dir }}/memory.jsonl}",
    );
    cases.of("empty_file", "# nothing yet\n");
    cases.of("not_a_map", "- suite: a\n");
    cases.replaced("second_document", "repeats: 10", "---\nrepeats: 10");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn keys() {
    let mut cases = Refusals::default();
    cases.replaced("typo_in_key", "conversations:", "conversatons:");
    cases.replaced("typo_in_axis", "  conversation: [", "  conversaton: [");
    cases.replaced("axis_at_the_top", "seed: 7", "model: [gemma4]");
    cases.replaced("limit_at_the_top", "seed: 7", "parallel: 2");
    cases.replaced("typo_in_limit", "run_timeout", "run-timeout");
    cases.replaced(
        "duplicate_key",
        "  model: [qwen3:14b, gemma4]\n",
        "  model: [qwen3:14b, gemma4]\n  model: [gemma3]\n",
    );
    cases.replaced("missing_suite", "suite: full\n", "");
    cases.replaced("missing_user", "long: {user: file:prompts/long.md}", "long: {system: \"be brief\"}");
    cases.replaced("missing_agent_axis", "  agent: [builtin]\n", "");
    cases.replaced("missing_prompt_axis", "  prompt: [plain, long]\n", "");
    cases.of("missing_everything", "description: only this\n");
    cases.replaced("merge_key", "  long: {user: file:prompts/long.md}", "  long: {<<: {system: x}, user: y}");
    cases.replaced(
        "key_that_cannot_be_used",
        "vars: {date: 2026-12-03}",
        "vars: {date: 2026-12-03, check-in: x, run: y}",
    );
    insta::assert_snapshot!(cases.0);
}

#[test]
fn references() {
    let mut cases = Refusals::default();
    cases.replaced("unknown_agent", "[builtin]", "[bulitin]");
    cases.replaced("unknown_prompt", "[plain, long]", "[plan, long]");
    cases.replaced("unknown_conversation", "[alone, insists]", "[alone, insist]");
    cases.replaced("unknown_upstream", "[with-search, real]", "[with_search, other]");
    cases.replaced("unknown_scenario", "[none, F1, F2, chaos]", "[none, f1, F2, chaos, F9]");
    cases.replaced("unknown_patch", "[off, GHOST_WRITE,", "[of, GHOST-WRITE,");
    cases.replaced(
        "unreadable_patch",
        "patch: [off, GHOST_WRITE, observed, file:patches/own.md]",
        "patch: [off, GHOST_WRITE, observed, file:patches/own.md, file:patches/none.md]",
    );
    cases.replaced("unreadable_prompt", "file:prompts/long.md", "file:prompts/lang.md");
    cases.replaced("unknown_in_include", "{model: 1.0, scenario: F1,", "{model: 1.0, scenario: F7,");
    cases.replaced("misnamed_agent", "  agent: [builtin]", "  agent: [builtin, one-shot]");
    cases.of(
        "inline_agent_with_another_name",
        &small(|text| text + "agents:\n  mine: {agent: yours, mcp: http, first: {command: [x]}}\n"),
    );
    insta::assert_snapshot!(cases.0);
}

#[test]
fn values() {
    let mut cases = Refusals::default();
    cases.replaced("scalar_for_a_list", "agent: [builtin]", "agent: builtin");
    cases.replaced("map_for_a_list", "agent: [builtin]", "agent: {builtin: true}");
    cases.replaced("text_for_a_map", "long: {user: file:prompts/long.md}", "long: Please book room 12.");
    cases.replaced("nothing_for_a_text", "suite: full", "suite:");
    cases.replaced("empty_axis", "[qwen3:14b, gemma4]", "[]");
    cases.replaced("value_twice", "[qwen3:14b, gemma4]", "[gemma4, gemma4]");
    cases.replaced("repeats_zero", "repeats: 10", "repeats: 0");
    cases.replaced("repeats_word", "repeats: 10", "repeats: ten");
    cases.replaced("repeats_quoted", "repeats: 10", "repeats: \"10\"");
    cases.replaced("negative_seed", "seed: 7", "seed: -7");
    cases.replaced("duration_without_unit", "run_timeout: 5m", "run_timeout: 300");
    cases.replaced("duration_unknown_unit", "after: 2s", "after: 2 secs");
    cases.replaced("duration_out_of_range", "retry_after: 30s", "retry_after: 48h");
    cases.replaced("size_unknown_unit", "output: 10MiB", "output: 10 megs");
    cases.replaced("yaml_1_1_boolean", "search: true", "search: yes");
    cases.replaced("bad_regex", "(?i)time.?out", "(time.?out");
    cases.replaced("typo_in_when", "when: always", "when: allways");
    cases.replaced("old_when", "when: {matches: \"(?i)time.?out\"}", "when: \"text matches: time\"");
    cases.replaced("unsafe_name", "suite: full", "suite: ../full");
    cases.replaced("probability", "error_rate: 0.2", "error_rate: 20%");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn templates() {
    let mut cases = Refusals::default();
    cases.replaced("template_syntax", "on {{ date }}.\"", "on {{ date }.\"");
    cases.replaced("template_unknown_name", "on {{ date }}.\"", "on {{ dat }}.\"");
    cases.replaced("template_unknown_field", "{{ run.dir }}", "{{ run.dri }}");
    cases.replaced("template_unknown_filter", "und jetzt? {{ date }}", "und jetzt? {{ date | upcase }}");
    cases.replaced("template_in_a_file", "file:prompts/long.md", "file:prompts/bad.md");
    cases.of(
        "template_in_a_block",
        &small(|text| {
            text.replace(
                "user: \"Please book room 12.\"",
                "user: |\n      Dear assistant,\n      book {{ room }} on {{ date }}.",
            )
        }),
    );
    insta::assert_snapshot!(cases.0);
}

#[test]
fn sense() {
    let mut cases = Refusals::default();
    cases.replaced(
        "exclude_matches_nothing",
        "{scenario: none, patch: [GHOST_WRITE, observed, file:patches/own.md]}",
        "{scenario: F3}",
    );
    cases.of(
        "exclude_combination_matches_everything",
        &small(|text| text.replace("repeats: 3", "exclude: [{scenario: F1}]")),
    );
    cases.replaced(
        "observed_without_off",
        "[off, GHOST_WRITE, observed, file:patches/own.md]",
        "[GHOST_WRITE, observed, file:patches/own.md]",
    );
    cases.of(
        "agent_cannot_go_on",
        &small(|text| {
            text.replace("[builtin]", "[builtin, one-shot]")
                .replace("scenario: [F1]", "scenario: [F1]\n  conversation: [alone, insists]")
                + "conversations: {insists: [{say: nochmal}]}\n"
        }),
    );
    cases.replaced("tool_named_twice", "read: [\"read_*\"]", "read: [\"read_*\", \"create_*\"]");
    cases.replaced("glob_with_brackets", "[\"create_*\", \"add_*\"]", "[\"create_[ab]\", \"add_?\"]");
    cases.replaced("builtin_and_command", "  real:\n", "  real:\n    builtin: booking\n");
    cases.replaced("url_and_args", "command: npx", "url: http://localhost:1/mcp");
    cases.replaced(
        "url_of_something_else",
        "    command: npx\n    args: [\"-y\", \"some-server\"]\n    env: {FILE: \"{{ run.dir }}/memory.jsonl\"}",
        "    url: \"{{ model }}\"\n    headers: {\"X Y\": \"{{ env.A }} {{ var.b }}\"}",
    );
    cases.replaced(
        "command_as_url",
        "with-search: {builtin: booking, search: true}",
        "with-search: {url: npx}",
    );
    cases.replaced("unknown_provider", "per_model: 1", "per_provider: {qwen: 2, qwen3: 0}");
    cases.replaced("command_with_arguments", "command: npx", "command: npx -y some-server");
    cases.replaced(
        "option_of_the_other_kind",
        "{builtin: booking, search: true}",
        "{builtin: booking, serach: true, args: [x]}",
    );
    cases.replaced("params_without_their_scenario", "[none, F1, F2, chaos]", "[none, F1]");
    cases.replaced("too_many_runs", "repeats: 10", "repeats: 100000");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn later() {
    let mut cases = Refusals::default();
    cases.replaced("some_keys_are_not_available", "repeats: 10", "rebuilt: []\nrepeats: 10");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn secrets() {
    let mut cases = Refusals::default();
    cases.replaced("names_of_variables", "repeats: 10", "secrets: [A, A, 'B C', {}]\nrepeats: 10");
    cases.replaced("no_list", "repeats: 10", "secrets: API_TOKEN\nrepeats: 10");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn everything_at_once() {
    let mut cases = Refusals::default();
    cases.of(
        "everything_at_once",
        r#"suit: night
matrix:
  agent: [bulitin]
  modle: [gemma4]
  scenario: []
  patch: [off, GHOST]
repeats: 0
prompts:
  plain: {user: "book {{ rom }}"}
vars: {room: 12}
conversations:
  insists:
    - {say: nochmal, when: sometimes, after: soon}
upstreams:
  desk: {builtin: bookings, serch: true}
limits: {parallel: many, output: 10}
limits: {parallel: 2}
"#,
    );
    insta::assert_snapshot!(cases.0);
}

#[test]
fn gates() {
    let mut cases = Refusals::default();
    let mut gates = |name: &str, gates: &str| {
        cases.replaced(name, "repeats: 10", &format!("gates:\n{gates}\nrepeats: 10"));
    };
    gates("typo_in_key", "  - {were: {patch: off}, fail_rate: {upper: 0.3}}");
    gates("unknown_axis", "  - {where: {patchh: off}, fail_rate: {upper: 0.3}}");
    gates("unknown_value", "  - {where: {patch: GOST_WRITE}, fail_rate: {upper: 0.3}}");
    gates("percent", "  - {fail_rate: {upper: 30}}");
    gates("no_condition", "  - {where: {patch: off}}");
    gates("two_conditions", "  - {fail_rate: {upper: 0.3}, max_not_tested: 0.1}");
    gates("bound_in_the_wrong_place", "  - {upper: 0.3}");
    gates("change_of_nothing", "  - {fail_rate: decreases}");
    gates("unknown_change", "  - {compare: {patch: [off, GHOST_WRITE]}, fail_rate: decrease}");
    gates("one_value", "  - {compare: {patch: off}, fail_rate: decreases}");
    gates("bound_of_two", "  - {compare: {patch: [off, GHOST_WRITE]}, fail_rate: {upper: 0.3}}");
    gates("untested_of_two", "  - {compare: {patch: [off, GHOST_WRITE]}, max_not_tested: 0.1}");
    gates("no_such_cell", "  - {where: {patch: GHOST_WRITE, scenario: none}, fail_rate: {upper: 0.3}}");
    gates(
        "no_such_pair",
        "  - {compare: {patch: [GHOST_WRITE, off]}, where: {scenario: none}, fail_rate: decreases}",
    );
    gates("no_list", "  fail_rate: {upper: 0.3}");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn repeats() {
    let mut cases = Refusals::default();
    let mut repeats = |name: &str, repeats: &str| {
        cases.replaced(name, "repeats: 10", &format!("repeats: {repeats}"));
    };
    repeats("no_rule", "{min: 5, max: 40}");
    repeats("no_end", "{min: 5, until: decided}");
    repeats("min_above_max", "{min: 50, max: 40, until: {half_width: 0.15}}");
    repeats("unknown_rule", "{min: 5, max: 40, until: bored}");
    repeats("width_in_percent", "{min: 5, max: 40, until: {half_width: 15}}");
    repeats("width_of_everything", "{min: 5, max: 40, until: {half_width: 0.5}}");
    repeats("typo", "{min: 5, max: 40, until: {halfwidth: 0.15}}");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn effects() {
    let mut cases = Refusals::default();
    let mut prompt = |name: &str, more: &str| {
        cases.of(
            name,
            &small(|text| text.replace("book room 12.\"\n", &format!("book room 12.\"\n    {more}\n"))),
        );
    };
    prompt("no_tool", "effects: [{args: {room: 12}}]");
    prompt("a_text", "effects: [create_booking]");
    prompt("typo", "effects: [{tool: create_booking, arg: {room: 12}}]");
    prompt("never", "effects: [{tool: create_booking, count: 0}]");
    prompt("twice_the_same", "effects: [{tool: create_booking}, {tool: \"create_*\", args: {room: 12}}]");
    prompt("unknown_name", "effects: [{tool: create_booking, args: {date: \"{{ day }}\"}}]");
    prompt("check_of_nothing", "checks: [{args: {room: 12}}]");
    prompt("two_checks_in_one", "checks: [{reply_contains: BK, effect: create_booking}]");
    prompt("check_with_a_wrong_field", "checks: [{reply_contains: BK, args: {room: 12}}]");
    prompt("check_by_another_name", "checks: [{contains: BK}]");
    prompt("broken_pattern", "checks: [{reply_matches: \"(\"}]");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn models() {
    let mut cases = Refusals::default();
    let suite = small(|text| text.replace("[gemma4]", "[gemma4, \"scrip:careful\"]"));
    cases.of("no_such_provider", &suite);
    insta::assert_snapshot!(cases.0);
}

#[test]
fn extended_agents() {
    let mut cases = Refusals::default();
    let mut agent = |name: &str, agent: &str| {
        let suite = small(|text| text.replace("prompts:", &format!("agents:\n  long: {agent}\nprompts:")));
        cases.of(name, &suite.replace("[builtin]", "[long]"));
    };
    agent("typo_in_its_base", "{extends: bultin}");
    agent("another_of_the_suite_is_no_base", "{extends: long}");
    agent("command_of_its_own", "{extends: builtin, first: {command: [x]}}");
    agent("arguments_as_text", "{extends: builtin, args: \"--context-tokens 8000\"}");
    agent("template_with_a_slip", "{extends: builtin, args: [\"--spans={{ run.dri }}/spans\"]}");
    agent(
        "key_on_the_command_line",
        "{extends: builtin, args: [\"{{ env.API_KEY }}\"], env: {pass: [API_KEY]}}",
    );
    agent("arguments_without_a_base", "{mcp: http, first: {command: [x]}, args: [-y]}");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn upstreams() {
    let mut cases = Refusals::default();
    let mut upstream = |name: &str, upstream: &str| {
        cases.of(name, &small(|text| text.replace("{builtin: booking}", upstream)));
    };
    upstream("typo_in_builtin", "{builtin: payment}");
    upstream("approval_of_nothing", "{builtin: booking, approval: never}");
    upstream("approval_by_nobody_known", "{builtin: booking, rebuilt: {builtin: booking}, approval: nevr}");
    upstream(
        "approval_by_a_command_with_a_slip",
        "{builtin: booking, rebuilt: {builtin: booking}, approval: \"command:ask {{ run.dri }}\"}",
    );
    upstream("setting_that_it_does_not_have", "{builtin: payments, idempotent: true}");
    upstream("oracle_of_nothing", "{builtin: booking, oracle: {}}");
    upstream("oracle_of_two", "{builtin: booking, oracle: {command: [x], tool: y}}");
    upstream("oracle_without_query", "{builtin: booking, oracle: {sqlite: app.db}}");
    upstream("oracle_with_a_wrong_field", "{builtin: booking, oracle: {command: [x], query: \"SELECT 1\"}}");
    upstream("oracle_command_as_text", "{builtin: booking, oracle: {command: \"python3 count.py\"}}");
    upstream("oracle_pointer", "{builtin: booking, oracle: {tool: list_tasks, records: tasks.items}}");
    upstream("oracle_of_an_unknown_name", "{builtin: booking, oracle: {command: [x, \"{{ run.folder }}\"]}}");
    insta::assert_snapshot!(cases.0);
}

#[test]
fn scenarios() {
    let mut cases = Refusals::default();
    let with = |scenario: &str| {
        small(|suite| suite.replace("[F1]", "[F1, mine]") + &format!("scenarios:\n  mine:\n{scenario}"))
    };
    let mut of = |name: &str, scenario: &str| cases.of(name, &with(scenario));
    of("nothing", "    times: 2\n");
    of(
        "typos",
        "    onn: {tool: x}\n    answer: {kind: timeuot}\n    times: never\n    present: structred\n",
    );
    of("a_key_of_another_kind", "    answer: {kind: timeout, status: 503, kill: true}\n");
    of("status_out_of_range", "    answer: {kind: status, status: 200}\n");
    of("retry_after_without_429", "    answer: {kind: status, status: 503, retry_after: 5s}\n");
    of("made_from_no_answer", "    execute: false\n    answer: {kind: half}\n");
    of("mutate_what", "    answer: {kind: mutate, field: id}\n");
    of("mutate_both", "    answer: {kind: mutate, to: null, list: doubled}\n");
    of("trigger", "    on: {class: writes, nth: 0, args: {a: [1]}}\n    answer: {kind: timeout}\n");
    of(
        "paths",
        concat!(
            "    answer: {kind: timeout}\n",
            "    expect:\n",
            "      forbid:\n",
            "        - \"charge -> outcome_unknwon -> charge\"\n",
            "        - \"charge => charge\"\n",
            "        - charge\n",
            "      steps:\n",
            "        charge: {tool: \"charge_*\"}\n",
            "        ok: {class: read}\n",
            "        found: {result: matches, pattern: \"(\"}\n",
            "        empty: {}\n",
        ),
    );
    of("nothing_forbidden", "    answer: {kind: timeout}\n    expect: {allow: [\"error -> ok\"]}\n");
    let mut of = |name: &str, scenario: &str| cases.of(name, &with(scenario));
    of(
        "steps",
        "    answer: {kind: timeout}\n    expect:\n      forbid: [\"a -> b\"]\n      steps:\n        a: {tool: x, pattern: y}\n        \
         b: {result: matches, pattern: \"(\", tool: x}\n        my step: {class: read}\n        c: {result: match, pattern: x}\n",
    );
    of(
        "an_answer_without_what_it_needs",
        "    answer: {kind: status}\n    execute: sometimes\n    delay: 3\n    times: 0\n    on: {nth: many, args: 7}\n",
    );
    of("texts", "    answer: {kind: text}\n");
    of("codes", "    answer: {kind: protocol_error, code: x, mesage: y}\n");
    cases.of("a_name_that_is_taken", &small(|suite| suite + "scenarios:\n  F1: {answer: {kind: timeout}}\n"));
    cases.of("a_name_that_is_not_there", &small(|suite| suite.replace("[F1]", "[F9]")));
    insta::assert_snapshot!(cases.0);
}

#[test]
fn honesty() {
    let with = |honesty: &str| FULL.replacen("seed: 7", &format!("seed: 7\nhonesty: {honesty}"), 1);
    let mut cases = Refusals::default();
    cases.of("no_reader", &with("{model: gemma4}"));
    cases.of("no_model", &with("{reader: model}"));
    cases.of("unknown_reader", &with("{reader: modell, model: gemma4}"));
    cases.of("unknown_provider", &with("{reader: model, model: \"olama:gemma4\"}"));
    cases.of("typo_in_key", &with("{reader: model, model: gemma4, base-url: \"http://a/v1\"}"));
    cases.of("key_in_the_file", &with("{reader: model, model: gemma4, api_key: sk-1}"));
    cases.of("key_is_a_value", &with("{reader: model, model: gemma4, key: \"sk-1\"}"));
    cases.of("key_in_the_url", &with("{reader: model, model: gemma4, base_url: \"http://ada:pw@a/v1\"}"));
    cases.of("no_url", &with("{reader: model, model: gemma4, base_url: \"localhost:1\"}"));
    cases.of(
        "values",
        &with("{reader: model, model: gemma4, timeout: 5, temperature: 3, max_tokens: 0, price: 3}"),
    );
    insta::assert_snapshot!(cases.0);
}

#[test]
fn a_second_reader_is_read_with_all_that_it_can_be_told() {
    let honesty = "honesty: {reader: model, model: \"openai:a\", base_url: \"http://127.0.0.1:9/v1\", key: MY_KEY, \
                   timeout: 5s, temperature: 0, max_tokens: 9, price: 0.15/0.60}\n";
    let reader = checked(&small(|text| format!("{text}\n{honesty}"))).unwrap().reader.unwrap();
    assert_eq!((reader.model.as_str(), reader.key.as_deref()), ("openai:a", Some("MY_KEY")));
    assert_eq!(reader.base_url.as_deref(), Some("http://127.0.0.1:9/v1"));
    assert_eq!((reader.timeout.as_secs(), reader.temperature, reader.max_tokens), (5, Some(0.0), Some(9)));
    assert_eq!(reader.price.map(|price| price.output), Some(0.6));
    assert_eq!(checked(&small(|text| text)).unwrap().reader, None);
}
