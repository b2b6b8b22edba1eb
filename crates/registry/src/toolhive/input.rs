//! Maps environment variables and headers: ToolHive's `required`/`secret` and server.json's `isRequired`/`isSecret`.

use std::borrow::Cow;

use toolcrib_contract::json::{Node, ObjectWriter};

/// Maps a list of ToolHive's inputs to server.json's; a false flag is left out.
pub(crate) fn list_to_server(list: Node<'_>, choices: bool) -> Option<String> {
    list_of(list, |input| to_server(input, choices))
}

/// Maps a list of server.json's inputs to ToolHive's.
pub(crate) fn list_from_server(list: Node<'_>, choices: bool) -> Vec<String> {
    list.elements().filter_map(|input| from_server(input, choices)).collect()
}

fn list_of(list: Node<'_>, of: impl Fn(Node<'_>) -> Option<String>) -> Option<String> {
    let made: Vec<String> = list.elements().filter_map(of).collect();
    (list.is_array() && !made.is_empty()).then(|| format!("[{}]", made.join(",")))
}

fn to_server(input: Node<'_>, choices: bool) -> Option<String> {
    let name = input.get("name")?;
    name.as_str()?;
    let mut out = ObjectWriter::new();
    text(input, "description", &mut out);
    if flag(input, "required") {
        out.raw("isRequired", "true");
    }
    if flag(input, "secret") {
        out.raw("isSecret", "true");
    }
    text(input, "default", &mut out);
    if let Some(choices) = input.get("choices").filter(|list| choices && list.is_array()) {
        out.raw("choices", &choices.to_compact());
    }
    out.raw("name", name.raw());
    Some(out.finish())
}

fn from_server(input: Node<'_>, choices: bool) -> Option<String> {
    let name = input.get("name")?;
    name.as_str()?;
    let mut out = ObjectWriter::new();
    out.raw("name", name.raw());
    text(input, "description", &mut out);
    out.raw("required", if flag(input, "isRequired") { "true" } else { "false" });
    if flag(input, "isSecret") {
        out.raw("secret", "true");
    }
    text(input, "default", &mut out);
    if let Some(choices) = input.get("choices").filter(|list| choices && list.is_array()) {
        out.raw("choices", &choices.to_compact());
    }
    Some(out.finish())
}

/// Maps the runtime arguments `-e K=V` and `--env K={variable}` to environment variables.
pub(crate) fn from_runtime_argument(argument: Node<'_>) -> Option<String> {
    let is = |key: &str, text: &str| argument.get(key).is_some_and(|value| value.is_text(text));
    if !is("type", "named") || !(is("name", "-e") || is("name", "--env")) {
        return None;
    }
    let value = argument.get("value").and_then(Node::as_str)?;
    let (name, value) = value.split_once('=').unwrap_or((&value, ""));
    let variable = value
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .and_then(|variable| argument.get("variables")?.get(variable));
    let mut out = ObjectWriter::new();
    out.string("name", name);
    let from = |key: &str| argument.get(key).and_then(Node::as_str);
    let of = |key: &str| variable.and_then(|variable| variable.get(key)).and_then(Node::as_str);
    if let Some(description) = from("description").or_else(|| of("description")) {
        out.string("description", &description);
    }
    // The argument or the variable can require a value.
    let required =
        flag(argument, "isRequired") || variable.is_some_and(|variable| flag(variable, "isRequired"));
    out.raw("required", if required { "true" } else { "false" });
    if flag(argument, "isSecret") || variable.is_some_and(|variable| flag(variable, "isSecret")) {
        out.raw("secret", "true");
    }
    let default = match variable {
        Some(_) => of("default"),
        None if value.is_empty() => from("default"),
        None => Some(Cow::Borrowed(value)),
    };
    if let Some(default) = default {
        out.string("default", &default);
    }
    Some(out.finish())
}

/// Returns package arguments as a command line: a named one is its name and its value.
pub(crate) fn command_line(arguments: Node<'_>) -> Vec<String> {
    let mut words = Vec::new();
    for argument in arguments.elements() {
        let text = |key: &str| {
            argument.get(key).filter(|value| value.as_str().is_some()).map(|value| value.raw().to_owned())
        };
        words.extend(text("name"));
        words.extend(text("value").or_else(|| text("default")));
    }
    words
}

fn text(input: Node<'_>, key: &str, out: &mut ObjectWriter) {
    if let Some(value) = input.get(key).filter(|value| value.as_str().is_some()) {
        out.raw(key, value.raw());
    }
}

fn flag(input: Node<'_>, key: &str) -> bool {
    input.get(key).and_then(Node::as_bool) == Some(true)
}
