//! M1 and M2 where a tool answers twice, in a sentence and as structured content: an identifier that is
//! broken in one of them only is not broken for an agent that reads both.

use super::rig::{Played, Sdk, Setup, Wire, play};

const CLIENTS: [(Sdk, Wire); 2] = [(Sdk::Python, Wire::Http), (Sdk::TypeScript, Wire::Stdio)];

fn played(scenario: &str, form: &'static str, client: (Sdk, Wire)) -> Played {
    let setup = Setup { form, begins: true, ..Setup::new(scenario).order("lamp", 20.0) };
    let played = play(&setup, client.0, client.1);
    assert_eq!(played.ledger.iter().filter(|line| line["state"] == "done").count(), 1, "{scenario} {form}");
    played
}

#[test]
fn an_identifier_is_broken_wherever_the_answer_tells_it() {
    for client in CLIENTS {
        for (scenario, sentence) in [
            ("M1:null", "order null is confirmed (shop://orders/null)"),
            ("M1:number", "order 1 is confirmed (shop://orders/1)"),
            ("M1:object", "order [object Object] is confirmed"),
            ("M2", "order undefined is confirmed (shop://orders/undefined)"),
        ] {
            let played = played(scenario, "prose", client);
            let seen = played.answers()[0];
            let text = seen["text"].as_str().unwrap();
            assert!(text.contains(sentence) && text.contains("lamp"), "{client:?} {scenario}: {seen}");
            assert!(!seen.to_string().contains("ORD-1"), "{client:?} {scenario}: {seen}");
            assert_eq!(played.ledger[0]["order_id"], "ORD-1");
            assert_eq!(seen["structured"].get("order_id").is_some(), scenario != "M2", "{seen}");
            assert_eq!((&played.report["verdict"], seen["is_error"] == false), (&"PASS".into(), true));
        }
    }
}

#[test]
fn where_it_could_still_be_read_nothing_is_changed_and_nothing_is_tested() {
    for client in CLIENTS {
        for scenario in ["M1:null", "M2"] {
            let played = played(scenario, "digits", client);
            let seen = played.answers()[0];
            assert!(
                seen["structured"]["order_id"] == 1 && seen["text"].as_str().unwrap().contains("order 1 is")
            );
            assert_eq!(played.report["verdict"], "NOT_TESTED");
            let why = played.all("log").into_iter().find_map(|log| log["text"].as_str()).unwrap_or_default();
            assert!(why.contains("not changed") && why.contains("stands elsewhere"), "{why}");
        }
    }
}
