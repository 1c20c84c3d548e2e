//! `payments`: charges, refunds and statements of a small shop.
//!
//! An idempotency key is always declared, as payment services do. With `idempotent` it is honoured;
//! without, it is taken and ignored, as some do too.

use super::fields::{Keys, id_of, number, optional, same_text, text, tool, whole};
use super::{Answer, Builtin, Desk, Identity, Object, Outcome, Setting, Settings, ToolDef, ToolKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The table's line.
pub(super) const PAYMENTS: Builtin = Builtin {
    name: "payments",
    about: "A shop's payments: charges, refunds, statements",
    settings: &[
        Setting {
            name: "search",
            help: "Offer list_charges and get_statement, look-ups without a charge id",
            default: true,
        },
        Setting {
            name: "idempotent",
            help: "Honour idempotency_key; where false it is declared, taken and ignored",
            default: true,
        },
    ],
    identity: Identity {
        name: "shop-payments",
        title: "Shop payments",
        version: "3.0.7",
        instructions: "Charges and refunds of a shop. Amounts are whole cents: 129.00 EUR is 12900. Customers are \
                       called by their full name.",
    },
    open: |settings| Box::new(Till::new(settings)),
};

const FIRST_CHARGE: u64 = 5001;
const FIRST_REFUND: u64 = 9001;
const CURRENCIES: &[&str] = &["EUR", "USD"];
/// The largest charge, in cents.
const MOST: i64 = 1_000_000;

/// A customer's card.
struct Card {
    customer: &'static str,
    last4: &'static str,
    state: State,
}

enum State {
    /// Takes charges up to so many cents in all.
    Limit(i64),
    Expired,
}

const CARDS: &[Card] = &[
    Card { customer: "Ada Lovelace", last4: "4242", state: State::Limit(500_000) },
    Card { customer: "Grace Hopper", last4: "1881", state: State::Limit(500_000) },
    Card { customer: "Emmy Noether", last4: "0005", state: State::Limit(5_000) },
    Card { customer: "Vera Rubin", last4: "0069", state: State::Expired },
];

struct Till {
    search: bool,
    idempotent: bool,
    charges: BTreeMap<u64, Object>,
    refunds: BTreeMap<u64, Object>,
    keys: Keys,
}

impl Till {
    fn new(settings: &Settings) -> Till {
        Till {
            search: settings.on("search"),
            idempotent: settings.on("idempotent"),
            charges: BTreeMap::new(),
            refunds: BTreeMap::new(),
            keys: Keys::default(),
        }
    }

    fn known(&self, tool: &str, arguments: &Object) -> Result<Option<Outcome>, String> {
        if !self.idempotent {
            return Ok(None);
        }
        let known = self.keys.answered(tool, arguments)?;
        Ok(known.map(|record| Outcome::answered(&Value::Object(record.clone()))))
    }

    fn charge(&self, arguments: &Object) -> Result<Outcome, String> {
        if let Some(known) = self.known("create_charge", arguments)? {
            return Ok(known);
        }
        let card = card(text(arguments, "customer")?)?;
        let amount = cents(arguments, "amount")?;
        if amount > MOST {
            return Err(format!("amount is at most {MOST} cents"));
        }
        let currency = currency(text(arguments, "currency")?)?;
        match card.state {
            State::Expired => {
                return Err(format!("card_declined: the card ending in {} has expired", card.last4));
            }
            State::Limit(limit) if self.net(card.customer) + amount > limit => {
                return Err(format!(
                    "card_declined: insufficient funds on the card ending in {}",
                    card.last4
                ));
            }
            State::Limit(_) => {}
        }
        let id = self.charges.last_key_value().map_or(FIRST_CHARGE, |(last, _)| last + 1);
        let mut record = Object::new();
        record.insert("charge_id".into(), format!("CH-{id}").into());
        record.insert("customer".into(), card.customer.into());
        record.insert("amount".into(), amount.into());
        record.insert("currency".into(), currency.into());
        if let Some(description) = optional(arguments, "description")? {
            record.insert("description".into(), description.into());
        }
        record.insert("card".into(), format!("**** {}", card.last4).into());
        record.insert("status".into(), "succeeded".into());
        Ok(Outcome::done("create_charge", record))
    }

    fn refund(&self, arguments: &Object) -> Result<Outcome, String> {
        if let Some(known) = self.known("create_refund", arguments)? {
            return Ok(known);
        }
        let charge = self.by_id(arguments)?;
        let id = charge.get("charge_id").and_then(Value::as_str).unwrap_or_default();
        let left = amount(charge) - self.refunded(id);
        let wanted = match arguments.get("amount") {
            None | Some(Value::Null) => left,
            Some(_) => cents(arguments, "amount")?,
        };
        if left == 0 {
            return Err(format!("charge_already_refunded: {id} was refunded in full"));
        }
        if wanted > left {
            return Err(format!("amount_too_large: {id} has {left} cents left to refund, not {wanted}"));
        }
        let next = self.refunds.last_key_value().map_or(FIRST_REFUND, |(last, _)| last + 1);
        let mut record = Object::new();
        record.insert("refund_id".into(), format!("RF-{next}").into());
        record.insert("charge_id".into(), id.into());
        record.insert("customer".into(), charge.get("customer").cloned().unwrap_or_default());
        record.insert("amount".into(), wanted.into());
        record.insert("currency".into(), charge.get("currency").cloned().unwrap_or_default());
        record.insert("status".into(), "succeeded".into());
        Ok(Outcome::done("create_refund", record))
    }

    fn refunded(&self, charge: &str) -> i64 {
        self.refunds.values().filter(|refund| same_text(refund.get("charge_id"), charge)).map(amount).sum()
    }

    /// Charged less refunded.
    fn net(&self, customer: &str) -> i64 {
        let of = |records: &BTreeMap<u64, Object>| -> i64 {
            records.values().filter(|record| same_text(record.get("customer"), customer)).map(amount).sum()
        };
        of(&self.charges) - of(&self.refunds)
    }

    fn list(&self, arguments: &Object) -> Result<Outcome, String> {
        let customer =
            optional(arguments, "customer")?.map(|name| card(name).map(|card| card.customer)).transpose()?;
        let found: Vec<&Object> = self
            .charges
            .values()
            .filter(|record| customer.is_none_or(|name| same_text(record.get("customer"), name)))
            .collect();
        Ok(Outcome::answered(&json!({"charges": found})))
    }

    fn statement(&self, arguments: &Object) -> Result<Outcome, String> {
        let card = card(text(arguments, "customer")?)?;
        let of = |records: &BTreeMap<u64, Object>| -> Vec<Object> {
            records
                .values()
                .filter(|record| same_text(record.get("customer"), card.customer))
                .cloned()
                .collect()
        };
        Ok(Outcome::answered(&json!({
            "customer": card.customer,
            "charges": of(&self.charges),
            "refunds": of(&self.refunds),
            "balance": self.net(card.customer),
        })))
    }

    fn by_id(&self, arguments: &Object) -> Result<&Object, String> {
        let id = text(arguments, "charge_id")?;
        number(id, "CH-")
            .and_then(|id| self.charges.get(&id))
            .ok_or_else(|| format!("There is no charge with the id \"{id}\""))
    }
}

impl Desk for Till {
    fn tools(&self) -> Vec<ToolDef> {
        let customer = json!({"type": "string", "description": "Full name of the customer", "examples": ["Ada Lovelace"]});
        let key = json!({
            "type": "string",
            "description": "A key of your choice, unique for this request; send the same key when you send the same \
                            request again.",
            "examples": ["invoice-2026-118"]
        });
        let id = json!({"type": "string", "description": "Id of the charge, as create_charge returned it", "examples": ["CH-5001"]});
        let mut tools = vec![
            tool(
                "create_charge",
                "Charge a customer's card. Returns the charge with its id.",
                ToolKind::Add,
                json!({
                    "customer": customer,
                    "amount": {"type": "integer", "minimum": 1, "maximum": MOST,
                               "description": "Amount in cents: 129.00 is 12900", "examples": [12900]},
                    "currency": {"type": "string", "enum": CURRENCIES, "description": "Currency"},
                    "description": {"type": "string", "description": "What the charge is for; stands on the statement"},
                    "idempotency_key": key
                }),
                &["customer", "amount", "currency"],
            ),
            tool(
                "get_charge",
                "Show one charge by its id.",
                ToolKind::Read,
                json!({"charge_id": id}),
                &["charge_id"],
            ),
            tool(
                "create_refund",
                "Refund a charge, in full or in part. Returns the refund with its id.",
                ToolKind::Add,
                json!({
                    "charge_id": id,
                    "amount": {"type": "integer", "minimum": 1,
                               "description": "Amount in cents; all that is left where it is not given"},
                    "idempotency_key": key
                }),
                &["charge_id"],
            ),
        ];
        if self.search {
            tools.push(tool(
                "list_charges",
                "List charges, optionally only those of a customer. No charge id needed.",
                ToolKind::Read,
                json!({"customer": customer}),
                &[],
            ));
            tools.push(tool(
                "get_statement",
                "Show a customer's charges, refunds and balance in cents.",
                ToolKind::Read,
                json!({"customer": customer}),
                &["customer"],
            ));
        }
        tools
    }

    fn decide(&self, tool: &str, arguments: &Object) -> Outcome {
        let outcome = match tool {
            "create_charge" => self.charge(arguments),
            "create_refund" => self.refund(arguments),
            "get_charge" => {
                self.by_id(arguments).map(|record| Outcome::answered(&Value::Object(record.clone())))
            }
            "list_charges" if self.search => self.list(arguments),
            "get_statement" if self.search => self.statement(arguments),
            _ => return Outcome { effect: None, answer: Answer::NoSuchTool },
        };
        outcome.unwrap_or_else(Outcome::refused)
    }

    fn commit(&mut self, effect: &str, record: &Object, arguments: &Object) {
        match effect {
            "create_charge" => {
                id_of(record, "charge_id", "CH-").map(|id| self.charges.insert(id, record.clone()))
            }
            "create_refund" => {
                id_of(record, "refund_id", "RF-").map(|id| self.refunds.insert(id, record.clone()))
            }
            _ => return,
        };
        self.keys.keep(effect, arguments, record);
    }
}

fn amount(record: &Object) -> i64 {
    record.get("amount").and_then(Value::as_i64).unwrap_or(0)
}

fn card(name: &str) -> Result<&'static Card, String> {
    CARDS
        .iter()
        .find(|card| card.customer.to_lowercase() == name.to_lowercase())
        .ok_or_else(|| format!("There is no customer called \"{name}\""))
}

fn cents(arguments: &Object, name: &str) -> Result<i64, String> {
    match whole(arguments, name)? {
        Some(amount) if amount > 0 => Ok(amount),
        _ => {
            let value = arguments.get(name).unwrap_or(&Value::Null);
            Err(format!("{name} must be a whole number of cents above 0, not {value}"))
        }
    }
}

fn currency(text: &str) -> Result<&'static str, String> {
    CURRENCIES
        .iter()
        .find(|known| known.eq_ignore_ascii_case(text))
        .copied()
        .ok_or_else(|| format!("currency is one of {}, not \"{text}\"", CURRENCIES.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Case;
    use super::*;

    fn open(idempotent: bool) -> Case {
        Case::open(&PAYMENTS, &[("idempotent", idempotent)])
    }

    fn charge(customer: &str, amount: i64, key: Option<&str>) -> Value {
        let mut charge = json!({"customer": customer, "amount": amount, "currency": "EUR"});
        if let Some(key) = key {
            charge["idempotency_key"] = key.into();
        }
        charge
    }

    #[test]
    fn a_key_is_honoured_or_ignored() {
        for (idempotent, effects) in [(true, 1), (false, 2)] {
            let mut case = open(idempotent);
            for _ in 0..2 {
                case.call("create_charge", charge("Ada Lovelace", 12_900, Some("k"))).unwrap();
            }
            assert_eq!(case.effects.len(), effects);
        }
        let mut case = open(true);
        case.call("create_charge", charge("Ada Lovelace", 12_900, Some("k"))).unwrap();
        let other = case.call("create_charge", charge("Ada Lovelace", 13_000, Some("k")));
        assert!(other.unwrap_err().contains("other parameters"));
        // A key that is unique for every request protects nobody.
        case.call("create_charge", charge("Ada Lovelace", 12_900, Some("l"))).unwrap();
        assert_eq!(case.effects.len(), 2);
    }

    #[test]
    fn a_declined_card_and_an_unknown_customer_leave_no_record() {
        let mut case = open(true);
        for (customer, amount, reason) in [
            ("Vera Rubin", 100, "card_declined: the card ending in 0069 has expired"),
            ("Emmy Noether", 5_001, "card_declined: insufficient funds on the card ending in 0005"),
            ("Alan Turing", 100, "There is no customer called \"Alan Turing\""),
            ("Ada Lovelace", 0, "amount must be a whole number of cents above 0, not 0"),
            ("Ada Lovelace", 1_000_001, "amount is at most 1000000 cents"),
        ] {
            assert_eq!(case.call("create_charge", charge(customer, amount, None)).unwrap_err(), reason);
        }
        assert!(case.effects.is_empty());
        case.call("create_charge", charge("emmy noether", 5_000, None)).unwrap();
    }

    #[test]
    fn no_more_is_refunded_than_was_charged() {
        let mut case = open(true);
        case.call("create_charge", charge("Ada Lovelace", 1_000, None)).unwrap();
        let refund = |amount: Option<i64>| match amount {
            Some(amount) => json!({"charge_id": "CH-5001", "amount": amount}),
            None => json!({"charge_id": "CH-5001"}),
        };
        case.call("create_refund", refund(Some(400))).unwrap();
        let over = case.call("create_refund", refund(Some(601))).unwrap_err();
        assert_eq!(over, "amount_too_large: CH-5001 has 600 cents left to refund, not 601");
        assert_eq!(case.call("create_refund", refund(None)).unwrap()["amount"], 600);
        let again = case.call("create_refund", refund(None)).unwrap_err();
        assert!(again.starts_with("charge_already_refunded"), "{again}");
        let statement = case.call("get_statement", json!({"customer": "Ada Lovelace"})).unwrap();
        assert_eq!((&statement["balance"], statement["refunds"].as_array().unwrap().len()), (&json!(0), 2));
        assert_eq!(
            case.call("create_refund", json!({"charge_id": "CH-1"})).unwrap_err(),
            "There is no charge with the id \"CH-1\""
        );
    }
}
