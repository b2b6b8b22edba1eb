//! Asks an elicitation at a terminal: a form, field by field of the requested schema, or a page to open.
//!
//! Guarantees: an answer that does not fit its field is asked again, with the reason. End of input cancels. A server's
//! texts are escaped, so that they cannot steer the terminal.

use std::io::{BufRead, Result, Write};

use serde_json::{Map, Number, Value, json};
use toolcrib_contract::text::{escaped, one_line};

pub(super) struct Questionnaire<R, W> {
    input: R,
    output: W,
}

/// Answer to a whole elicitation, as in MCP's `action`.
enum Word {
    Accept,
    Decline,
    Cancel,
}

impl Word {
    const fn action(&self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }
}

/// One field of a form.
struct Field<'a> {
    name: &'a str,
    schema: &'a Value,
    required: bool,
}

impl<R: BufRead, W: Write> Questionnaire<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self { input, output }
    }

    /// Asks what the `params` of `elicitation/create` request, and returns the result that a client sends. `confirms`
    /// is true for the gate's own question, false for a server's.
    pub(super) fn answer(&mut self, params: &Value, confirms: bool) -> Result<Value> {
        if !confirms {
            writeln!(self.output, "The server asks:")?;
        }
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        for line in message.lines() {
            writeln!(self.output, "{}", escaped(line))?;
        }
        if let Some(url) = params.get("url").and_then(Value::as_str) {
            writeln!(self.output, "  {}", one_line(url))?;
            let word = self.word("Open this page in a browser?", false)?;
            return Ok(json!({"action": word.action()}));
        }
        self.form(params.get("requestedSchema").unwrap_or(&Value::Null))
    }

    fn form(&mut self, schema: &Value) -> Result<Value> {
        let required: Vec<&str> = list(schema, "required").filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields: Vec<Field<'_>> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| Field { name, schema, required: required.contains(&name.as_str()) })
            .collect();
        let mut content = Map::new();
        for field in &fields {
            match self.field(field)? {
                None => return Ok(json!({"action": "cancel"})),
                Some(Value::Null) => {}
                Some(value) => drop(content.insert(field.name.to_owned(), value)),
            }
        }
        // A form of one boolean field needs no further confirmation.
        let is_decided = matches!(fields.as_slice(), [only] if kind(only.schema) == "boolean");
        let word = if is_decided { Word::Accept } else { self.word("Send this?", true)? };
        Ok(match word {
            Word::Accept => json!({"action": "accept", "content": content}),
            other => json!({"action": other.action()}),
        })
    }

    /// Asks until the answer fits. Returns `None` at end of input, `null` if the field is left out.
    fn field(&mut self, field: &Field<'_>) -> Result<Option<Value>> {
        loop {
            let Some(text) = self.line(&prompt(field))? else { return Ok(None) };
            match read(field, &text) {
                Ok(value) => return Ok(Some(value)),
                Err(reason) => writeln!(self.output, "  {reason}")?,
            }
        }
    }

    fn word(&mut self, question: &str, yes_by_default: bool) -> Result<Word> {
        let keys = if yes_by_default { "[Y/n, c cancels]" } else { "[y/N, c cancels]" };
        loop {
            let Some(text) = self.line(&format!("{question} {keys} "))? else { return Ok(Word::Cancel) };
            return Ok(match text.to_ascii_lowercase().as_str() {
                "" if yes_by_default => Word::Accept,
                "y" | "yes" => Word::Accept,
                "" | "n" | "no" => Word::Decline,
                "c" | "cancel" => Word::Cancel,
                _ => continue,
            });
        }
    }

    /// Reads one line. Returns `None` at end of input.
    fn line(&mut self, prompt: &str) -> Result<Option<String>> {
        write!(self.output, "{prompt}")?;
        self.output.flush()?;
        let mut text = String::new();
        if self.input.read_line(&mut text)? == 0 {
            writeln!(self.output)?;
            return Ok(None);
        }
        Ok(Some(text.trim().to_owned()))
    }
}

fn list<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    schema.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn kind(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or("string")
}

/// Returns the values of an enumerated field, each with its title.
fn options(schema: &Value) -> Vec<(&str, &str)> {
    let items = schema.get("items").unwrap_or(schema);
    let plain: Vec<&str> = list(items, "enum").filter_map(Value::as_str).collect();
    if !plain.is_empty() {
        let mut names = list(items, "enumNames").filter_map(Value::as_str);
        return plain.into_iter().map(|value| (value, names.next().unwrap_or(value))).collect();
    }
    let titled = list(items, "oneOf").chain(list(items, "anyOf"));
    titled
        .filter_map(|option| {
            let value = option.get("const")?.as_str()?;
            Some((value, option.get("title").and_then(Value::as_str).unwrap_or(value)))
        })
        .collect()
}

fn prompt(field: &Field<'_>) -> String {
    let word = |name: &str| field.schema.get(name).and_then(Value::as_str).map(one_line);
    let mut text = word("title").unwrap_or_else(|| one_line(field.name));
    if let Some(description) = word("description") {
        text.push_str(&format!(" ({description})"));
    }
    let options = options(field.schema);
    if !options.is_empty() {
        let named: Vec<String> = options
            .iter()
            .map(|(value, title)| match value == title {
                true => one_line(value),
                false => format!("{} ({})", one_line(value), one_line(title)),
            })
            .collect();
        let how = if kind(field.schema) == "array" { "some of, separated by commas" } else { "one of" };
        text.push_str(&format!(", {how}: {}", named.join(", ")));
    }
    let default = field.schema.get("default");
    match (kind(field.schema), default) {
        ("boolean", Some(Value::Bool(true))) => text.push_str(" [Y/n]"),
        ("boolean", _) => text.push_str(" [y/N]"),
        (_, Some(Value::String(default))) => text.push_str(&format!(" [{}]", one_line(default))),
        (_, Some(default)) => text.push_str(&format!(" [{default}]")),
        (_, None) if !field.required => text.push_str(" [may be left empty]"),
        (_, None) => {}
    }
    text.push_str(if text.ends_with(']') { " " } else { ": " });
    text
}

/// Parses the typed text as the field's value; `null` leaves the field out.
fn read(field: &Field<'_>, text: &str) -> std::result::Result<Value, String> {
    let schema = field.schema;
    if text.is_empty() {
        return match (schema.get("default"), kind(schema)) {
            (Some(default), _) => Ok(default.clone()),
            (None, "boolean") => Ok(Value::Bool(false)),
            (None, _) if field.required => Err("this is needed; Ctrl-D cancels".to_owned()),
            (None, _) => Ok(Value::Null),
        };
    }
    match kind(schema) {
        "boolean" => match text.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(Value::Bool(true)),
            "n" | "no" | "false" => Ok(Value::Bool(false)),
            _ => Err("answer y or n".to_owned()),
        },
        "integer" => {
            let number = text.parse::<i64>().map_err(|_| "a whole number is needed".to_owned())?;
            within(schema, number as f64)?;
            Ok(number.into())
        }
        "number" => {
            let number = text.parse::<f64>().ok().and_then(Number::from_f64);
            let number = number.ok_or_else(|| "a number is needed".to_owned())?;
            within(schema, number.as_f64().unwrap_or_default())?;
            Ok(Value::Number(number))
        }
        "array" => {
            let chosen = text.split(',').map(|part| option(schema, part.trim()));
            Ok(Value::Array(chosen.collect::<std::result::Result<_, _>>()?))
        }
        _ => {
            let chars = text.chars().count() as u64;
            let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
            if bound("minLength").is_some_and(|least| chars < least) {
                return Err("this is too short".to_owned());
            }
            if bound("maxLength").is_some_and(|most| chars > most) {
                return Err("this is too long".to_owned());
            }
            option(schema, text)
        }
    }
}

fn option(schema: &Value, text: &str) -> std::result::Result<Value, String> {
    let options = options(schema);
    match options.iter().find(|(value, title)| *value == text || *title == text) {
        Some((value, _)) => Ok((*value).into()),
        None if options.is_empty() => Ok(text.into()),
        None => Err(format!("{text:?} is none of them")),
    }
}

fn within(schema: &Value, number: f64) -> std::result::Result<(), String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some(least) = bound("minimum").filter(|least| number < *least) {
        return Err(format!("at least {least} is needed"));
    }
    match bound("maximum").filter(|most| number > *most) {
        Some(most) => Err(format!("at most {most} is allowed")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(params: &Value, typed: &str) -> (Value, String) {
        let mut shown = Vec::new();
        let answer = Questionnaire::new(typed.as_bytes(), &mut shown).answer(params, false).unwrap();
        (answer, String::from_utf8(shown).unwrap())
    }

    fn form(properties: &Value, required: &Value) -> Value {
        json!({"mode": "form", "message": "Tell\u{1b}[2J me", "requestedSchema":
            {"type": "object", "properties": properties, "required": required}})
    }

    /// R12.3: a form is asked field by field; an answer that does not fit is asked again.
    #[test]
    fn a_form_is_asked_field_by_field() {
        let fields = json!({
            "age": {"type": "integer", "title": "Age", "minimum": 1},
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "nick": {"type": "string"},
            "share": {"type": "number", "default": 0.5},
            "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "First"}, {"const": "b"}]}},
        });
        let form = form(&fields, &json!(["age", "colour"]));
        let (answer, shown) = asked(&form, "old\n0\n7\ngreen\nblue\n\n\nFirst, b\n\n");
        let content = json!({"age": 7, "colour": "blue", "share": 0.5, "tags": ["a", "b"]});
        assert_eq!(answer, json!({"action": "accept", "content": content}), "{shown}");
        assert!(shown.contains("a whole number is needed") && shown.contains("at least 1"), "{shown}");
        assert!(shown.contains("\"green\" is none of them"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "nothing steers the terminal: {shown:?}");
        for (typed, action) in
            [("7\nred\n\n\n\nn\n", "decline"), ("7\nred\n\n\n\nc\n", "cancel"), ("7\n", "cancel")]
        {
            assert_eq!(asked(&form, typed).0, json!({"action": action}));
        }
    }

    /// R12.3: a form of one boolean is one question; an empty answer declines.
    #[test]
    fn a_single_yes_or_no_is_asked_once() {
        let form = form(&json!({"confirm": {"type": "boolean", "title": "Run it"}}), &json!(["confirm"]));
        for (typed, is_yes) in [("y\n", true), ("n\n", false), ("\n", false), ("perhaps\nyes\n", true)] {
            let (answer, shown) = asked(&form, typed);
            assert_eq!(answer, json!({"action": "accept", "content": {"confirm": is_yes}}), "{shown}");
            assert!(shown.contains("Run it [y/N] "), "{shown}");
        }
        assert_eq!(asked(&form, "").0, json!({"action": "cancel"}));
    }

    /// R12.3: a page's URL is shown, and the person agrees to open it.
    #[test]
    fn a_page_is_shown_and_agreed_to() {
        let page = json!({"mode": "url", "message": "Log in", "url": "https://example.org/x"});
        let (answer, shown) = asked(&page, "y\n");
        assert_eq!(answer, json!({"action": "accept"}));
        assert!(shown.contains("https://example.org/x"), "{shown}");
        assert_eq!(asked(&page, "\n").0, json!({"action": "decline"}));
    }
}
