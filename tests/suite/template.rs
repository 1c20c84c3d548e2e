//! Rendering of templates.

use minijinja::value::Value;
use nochmal::suite::template::{TemplateError, map, render};

fn context() -> Value {
    map([
        ("date", Value::from("2026-12-03")),
        ("run", map([("dir", Value::from("/tmp/a b"))])),
        ("mcp", map([("args", Value::from(vec!["connect", "<\"&"]))])),
    ])
}

#[test]
fn values_are_put_in_as_they_are() {
    assert_eq!(render("on {{ date }}.\n", &context()).unwrap(), "on 2026-12-03.\n");
    assert_eq!(render("<b>{{ mcp.args[1] }}</b>", &context()).unwrap(), "<b><\"&</b>");
    assert_eq!(render("{{ run.dir }}/x", &context()).unwrap(), "/tmp/a b/x");
}

#[test]
fn a_name_that_is_not_there_is_an_error_that_names_it() {
    let error = render("one\ntwo {{ datum }}", &context()).unwrap_err();
    assert_eq!(error.to_string(), "line 2: there is no `datum`");
    assert!(matches!(render("{{ run.home }}", &context()), Err(TemplateError::Undefined { .. })));
}

#[test]
fn a_template_that_does_not_end_is_ended() {
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
    assert_eq!(render(endless, &context()).unwrap_err(), TemplateError::Endless);
    assert!(render(&"{{ (".repeat(50_000), &context()).is_err());
    assert!(render(&format!("{{{{ {} }}}}", "(".repeat(100_000)), &context()).is_err());
}
