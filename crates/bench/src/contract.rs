//! Claims about contracts: validation, admission, refusal and digest, against the bare parts they are made of.

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use toolcrib_contract::json::{Document, Limits, OwnedDocument};
use toolcrib_contract::schema::{SchemaCache, SchemaOptions, admit};
use toolcrib_contract::{Contract, Definition, Digest};

use crate::race::{Claim, Effort, Race};

pub(crate) fn run(effort: Effort) -> Result<bool> {
    let mut holds = true;
    let arguments = json!({"city": "Oslo", "country": "no", "days": 3, "detail": true, "zip": "0150"});
    holds &= checks(
        "check of typical arguments (5 properties, one pattern)",
        &arguments_schema(),
        &arguments,
        effort,
    )?;
    holds &= checks("check of a 64 KiB structured answer", &answer_schema(), &answer(), effort)?;
    holds &= admission(effort)?;
    holds &= bombs(effort)?;
    holds &= digest(effort)?;
    Ok(holds)
}

fn arguments_schema() -> Value {
    json!({
        "type": "object",
        "required": ["city", "days"],
        "additionalProperties": false,
        "properties": {
            "city": {"type": "string", "minLength": 1, "description": "Name of the city."},
            "country": {"type": "string", "enum": ["no", "se", "dk", "fi"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "detail": {"type": "boolean"},
            "zip": {"type": "string", "pattern": "^[0-9]{4}$"}
        }
    })
}

fn answer_schema() -> Value {
    json!({
        "type": "object",
        "required": ["rows"],
        "properties": {"rows": {"type": "array", "items": {
            "type": "object",
            "required": ["id", "symbol", "price"],
            "properties": {
                "id": {"type": "integer", "minimum": 0},
                "symbol": {"type": "string", "maxLength": 8},
                "price": {"type": "number", "exclusiveMinimum": 0},
                "side": {"enum": ["buy", "sell"]},
                "note": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}}
            }
        }}}
    })
}

fn answer() -> Value {
    let row = |i: usize| {
        json!({"id": i, "symbol": "ABCD", "price": 10.25 + i as f64, "side": if i.is_multiple_of(2) { "buy" } else { "sell" },
            "note": "filled at the open, partially", "tags": ["open", "partial"]})
    };
    let mut rows = Vec::new();
    while Value::Array(rows.clone()).to_string().len() < 64 * 1024 {
        let from = rows.len();
        rows.extend((from..from + 32).map(row));
    }
    json!({"rows": rows})
}

fn contract(schema: &Value) -> Result<Contract> {
    let definition = json!({"name": "bench", "inputSchema": schema});
    let definition = Definition::from_value(&definition)?;
    Ok(Contract::compile(definition, &SchemaOptions::default(), &SchemaCache::new())?)
}

/// Measures the check alone, and with the parsing that precedes it on either side, which is the cost for a call.
fn checks(title: &str, schema: &Value, value: &Value, effort: Effort) -> Result<bool> {
    let contract = contract(schema)?;
    let bare = jsonschema::options().offline().should_validate_formats(false).build(schema)?;
    let text = value.to_string();
    let document = Document::parse(text.as_bytes(), &Limits::message())?;
    contract.check_input(document.root()).ok().context("the value keeps the schema")?;
    anyhow::ensure!(bare.is_valid(value), "the value keeps the schema");
    let checked = Race::new(title)
        .with("bare jsonschema, `is_valid` of a Value", Claim::None, || {
            black_box(bare.is_valid(black_box(value)));
        })
        .with("contract, `check_input` of a document", Claim::TimesFirstAtMost(1.1), || {
            black_box(contract.check_input(black_box(document.root())).is_ok());
        })
        .run(effort);
    let title = format!("the same with reading {} bytes first", text.len());
    let read = Race::new(&title)
        .with("serde_json to Value + bare jsonschema", Claim::None, || {
            let value: Option<Value> = serde_json::from_slice(black_box(text.as_bytes())).ok();
            black_box(value.is_some_and(|v| bare.is_valid(&v)));
        })
        .with("strict reading + contract", Claim::TimesFirstAtMost(1.1), || {
            let document = Document::parse(black_box(text.as_bytes()), &Limits::message());
            black_box(document.is_ok_and(|d| contract.check_input(d.root()).is_ok()));
        })
        .run(effort);
    Ok(checked && read)
}

fn admission(effort: Effort) -> Result<bool> {
    let schema = arguments_schema();
    let options = SchemaOptions::default();
    admit(&schema, &options)?;
    Ok(Race::new("admission of a typical schema")
        .with("compiling it with bare jsonschema", Claim::None, || {
            black_box(jsonschema::options().offline().build(black_box(&schema)).is_ok());
        })
        .with("admitting it", Claim::TimesFirstAtMost(0.2), || {
            black_box(admit(black_box(&schema), &options).is_ok());
        })
        .run(effort))
}

/// Definition with 26 subschemas that each refer to the next one twice.
fn bomb(keyword: &str) -> String {
    let next = |i: usize| json!({"$ref": format!("#/$defs/d{i}")});
    let definitions: serde_json::Map<_, _> =
        (0..26).map(|i| (format!("d{i}"), json!({keyword: [next(i + 1), next(i + 1)]}))).collect();
    let mut schema = json!({"type": "object", "$ref": "#/$defs/d0", "$defs": definitions});
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.insert("d26".to_owned(), json!({}));
    }
    json!({"name": "bomb", "inputSchema": schema}).to_string()
}

fn bombs(effort: Effort) -> Result<bool> {
    let texts: Vec<_> = ["allOf", "anyOf", "oneOf"].iter().map(|keyword| (*keyword, bomb(keyword))).collect();
    let cache = SchemaCache::new();
    let options = SchemaOptions::default();
    let refused = |text: &str| {
        let definition = Definition::parse(text).ok();
        definition.is_some_and(|d| Contract::compile(d, &options, &cache).is_err())
    };
    anyhow::ensure!(texts.iter().all(|(_, text)| refused(text)), "a bomb was let in");
    let mut race = Race::new("refusal of reference bombs, from text to error");
    for (keyword, text) in &texts {
        race = race.with(keyword, Claim::TimeAtMost(Duration::from_millis(1)), || {
            black_box(refused(black_box(text)));
        });
    }
    Ok(race.run(effort))
}

fn digest(effort: Effort) -> Result<bool> {
    let property = |i: usize| {
        let schema = json!({"type": "string", "description": "A parameter that says what it means, in words.", "maxLength": 64 + i});
        (format!("parameter_{i}"), schema)
    };
    let mut count = 1;
    let mut text = String::new();
    while text.len() < 10 * 1024 {
        count += 1;
        let properties: serde_json::Map<_, _> = (0..count).map(property).collect();
        text = json!({"name": "bench", "description": "Does a thing.", "inputSchema": {"type": "object", "properties": properties}})
            .to_string();
    }
    let document = OwnedDocument::parse(text.as_str(), &Limits::definition())?;
    Digest::of(document.root())?;
    let rate = Claim::RateAtLeast { bytes: text.len(), per_second: 200e6 };
    Ok(Race::new("digest of a 10 KiB definition")
        .with("SHA-256 of its text alone", Claim::None, || {
            black_box(Digest::of_bytes(black_box(text.as_bytes())));
        })
        .with("digest of the read definition", rate, || {
            black_box(Digest::of(black_box(document.root())).is_ok());
        })
        .with("strict reading, then digest", Claim::None, || {
            let document = Document::parse(black_box(text.as_bytes()), &Limits::definition());
            black_box(document.is_ok_and(|d| Digest::of(d.root()).is_ok()));
        })
        .run(effort))
}
