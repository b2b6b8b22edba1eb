//! Reads from an entry how to start or reach its server: a remote by URL, a package by its runner.
//!
//! Values come from the entry, or from the environment where the entry leaves them open. All required values that are
//! missing are named in one error. Nothing is guessed.

use std::collections::BTreeMap;

use anyhow::anyhow;
use toolcrib_contract::json::Node;
use toolcrib_upstream::Spec;
use toolcrib_upstream::spec::{Command, Endpoint, Transport};

use crate::exit::{Exit, Failure};

/// Returns the first remote over Streamable HTTP, else the first package whose runner is on `PATH`.
pub(super) fn spec(server: Node<'_>, name: &str) -> Result<Spec, Failure> {
    let mut inputs = Inputs { environment: &|name| std::env::var(name).ok(), missing: Vec::new() };
    let transport = transport(server, &mut inputs, &is_on_path);
    let usage = |text: String, hint: &'static str| Failure::new(Exit::Unreachable, anyhow!(text)).hint(hint);
    match transport {
        Some(_) if !inputs.missing.is_empty() => Err(usage(
            format!(
                "{name} needs what neither its entry nor the environment has: {}",
                inputs.missing.join(", ")
            ),
            "set these variables, or say how it is reached: --url URL, or -- COMMAND…",
        )),
        Some(transport) => Ok(Spec::new(name, transport)),
        None => Err(usage(
            format!(
                "{name}: no remote over Streamable HTTP, and no package whose runner (npx, uvx, docker) is here"
            ),
            "say how: --url URL, or -- COMMAND…",
        )),
    }
}

fn transport(server: Node<'_>, inputs: &mut Inputs<'_>, is_here: &dyn Fn(&str) -> bool) -> Option<Transport> {
    let http = |node: &Node<'_>| node.get("type").is_some_and(|kind| kind.is_text("streamable-http"));
    let remote = server.get("remotes").into_iter().flat_map(Node::elements).find(http);
    if let Some(remote) = remote
        && let Some(url) = text(remote, "url")
    {
        let url = inputs.filled(&url, remote);
        let mut headers = BTreeMap::new();
        for header in remote.get("headers").into_iter().flat_map(Node::elements) {
            let Some(name) = text(header, "name") else { continue };
            if let Some(value) = inputs.value(header, &name) {
                headers.insert(name, value);
            }
        }
        return Some(Transport::Http(Box::new(Endpoint { url, headers, ..Endpoint::default() })));
    }
    let packages = server.get("packages").into_iter().flat_map(Node::elements);
    let stdio = |node: &Node<'_>| {
        node.get("transport").and_then(|kind| kind.get("type")).is_none_or(|kind| kind.is_text("stdio"))
    };
    packages.filter(stdio).find_map(|package| {
        let runner = runner(package)?;
        is_here(runner).then(|| Transport::Stdio(command(package, runner, inputs)))
    })
}

/// Returns the program that runs packages of this registry type.
fn runner(package: Node<'_>) -> Option<&'static str> {
    match &*text(package, "registryType")? {
        "npm" => Some("npx"),
        "pypi" => Some("uvx"),
        "oci" => Some("docker"),
        _ => None,
    }
}

fn command(package: Node<'_>, runner: &str, inputs: &mut Inputs<'_>) -> Command {
    let identifier = text(package, "identifier").unwrap_or_default();
    let exact = |sign: &str| match text(package, "version").filter(|version| !version.is_empty()) {
        Some(version) => format!("{identifier}{sign}{version}"),
        None => identifier.clone(),
    };
    let env: BTreeMap<String, String> = package
        .get("environmentVariables")
        .into_iter()
        .flat_map(Node::elements)
        .filter_map(|variable| {
            let name = text(variable, "name")?;
            let value = inputs.value(variable, &name)?;
            Some((name, value))
        })
        .collect();
    let runtime = inputs.words(package.get("runtimeArguments"));
    let mut arguments: Vec<String> = Vec::new();
    match runner {
        "npx" => {
            arguments.push("--yes".to_owned());
            arguments.extend(runtime.into_iter().filter(|word| word != "-y" && word != "--yes"));
            arguments.push(exact("@"));
        }
        "uvx" => {
            arguments.extend(runtime);
            arguments.push(exact("=="));
        }
        _ => {
            arguments.extend(["run", "--rm", "-i"].map(str::to_owned));
            // Only the name: docker reads the value from its own environment, where no process list shows it.
            arguments.extend(env.keys().flat_map(|name| ["-e".to_owned(), name.clone()]));
            arguments.extend(runtime.into_iter().filter(|word| !matches!(&**word, "run" | "--rm" | "-i")));
            arguments.push(identifier.clone());
        }
    }
    arguments.extend(inputs.words(package.get("packageArguments")));
    Command { program: runner.to_owned(), arguments, env, ..Command::default() }
}

/// Resolves the values that an entry leaves open, and collects the names of required ones that are missing.
struct Inputs<'e> {
    environment: &'e dyn Fn(&str) -> Option<String>,
    missing: Vec<String>,
}

impl Inputs<'_> {
    /// Returns arguments as command-line words: `--flag=value`, a short flag and its value as two words, or the value
    /// of a positional argument.
    fn words(&mut self, arguments: Option<Node<'_>>) -> Vec<String> {
        let mut words = Vec::new();
        for argument in arguments.into_iter().flat_map(Node::elements) {
            let flag = text(argument, "name")
                .filter(|_| argument.get("type").is_some_and(|kind| kind.is_text("named")));
            let hint = || text(argument, "valueHint").unwrap_or_else(|| "an argument".to_owned());
            let called = flag.clone().unwrap_or_else(hint);
            match (flag, self.value(argument, &called)) {
                (Some(flag), Some(value)) if flag.starts_with("--") => words.push(format!("{flag}={value}")),
                (Some(flag), Some(value)) => words.extend([flag, value]),
                // A flag without a value is left out if it takes one.
                (Some(flag), None) if takes_none(argument) => words.push(flag),
                (Some(_), None) => {}
                (None, value) => words.extend(value),
            }
        }
        words
    }

    /// Returns the value of the input `name`: the entry's fixed value, else the environment's, else the default.
    fn value(&mut self, input: Node<'_>, name: &str) -> Option<String> {
        if let Some(value) = text(input, "value") {
            return Some(self.filled(&value, input));
        }
        let found = (self.environment)(name).or_else(|| text(input, "default"));
        let required = input.get("isRequired").and_then(Node::as_bool) == Some(true);
        if found.is_none() && required {
            self.missing.push(name.to_owned());
        }
        found
    }

    /// Replaces the `{variables}` in `text`. A variable that the entry does not describe stays as it is.
    fn filled(&mut self, text: &str, holder: Node<'_>) -> String {
        let described = holder.get("variables");
        let filled = expanded(text, "{", |name| {
            let variable = described.and_then(|variables| variables.get(name));
            match variable {
                Some(variable) => Some(self.value(variable, name).unwrap_or_default()),
                None => Some(format!("{{{name}}}")),
            }
        });
        filled.unwrap_or_else(|_| text.to_owned())
    }
}

fn takes_none(argument: Node<'_>) -> bool {
    ["valueHint", "default", "choices", "isRequired", "placeholder"]
        .iter()
        .all(|key| argument.get(key).is_none())
        || argument.get("format").is_some_and(|format| format.is_text("boolean"))
}

/// Replaces each name between `open` and `}` by its value. Fails with the first name that has no value.
pub(super) fn expanded(
    text: &str,
    open: &str,
    mut value: impl FnMut(&str) -> Option<String>,
) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(open) {
        out.push_str(before);
        let Some((name, then)) = after.split_once('}') else {
            out.push_str(open);
            rest = after;
            continue;
        };
        out.push_str(&value(name).ok_or_else(|| name.to_owned())?);
        rest = then;
    }
    out.push_str(rest);
    Ok(out)
}

fn text(node: Node<'_>, key: &str) -> Option<String> {
    node.get(key).and_then(Node::as_str).map(std::borrow::Cow::into_owned)
}

fn is_on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn launched(entry: &str, here: &[&str]) -> (Option<Transport>, Vec<String>) {
        let document = Document::parse(entry.as_bytes(), &Limits::file()).unwrap();
        let known = |name: &str| (name == "TOKEN").then(|| "from the environment".to_owned());
        let mut inputs = Inputs { environment: &known, missing: Vec::new() };
        let transport = transport(document.root(), &mut inputs, &|program| here.contains(&program));
        (transport, inputs.missing)
    }

    fn words(entry: &str, here: &[&str]) -> String {
        match launched(entry, here).0 {
            Some(Transport::Stdio(command)) => [vec![command.program], command.arguments].concat().join(" "),
            other => panic!("{other:?}"),
        }
    }

    /// R6.6: a package is started by its runner, with the arguments and variables that its entry names.
    #[test]
    fn packages_are_started_by_their_runner() {
        let npm = r#"{"packages":[{"registryType":"npm","identifier":"@a/b","version":"1.2.3","runtimeArguments":[{"type":"positional","value":"-y"}],
            "packageArguments":[{"type":"positional","value":"/data"},{"type":"named","name":"--level","default":"low"},{"type":"named","name":"--quiet"},{"type":"named","name":"-n","value":"{count}","variables":{"count":{"default":"3"}}}]}]}"#;
        assert_eq!(words(npm, &["npx"]), "npx --yes @a/b@1.2.3 /data --level=low --quiet -n 3");
        let pypi = r#"{"packages":[{"registryType":"npm","identifier":"x"},{"registryType":"pypi","identifier":"b","version":"1.0"}]}"#;
        assert_eq!(words(pypi, &["uvx"]), "uvx b==1.0", "the first whose runner is here");
        assert!(launched(pypi, &[]).0.is_none());
        let served = r#"{"packages":[{"registryType":"pypi","identifier":"b","transport":{"type":"sse","url":"http://localhost:1"}}]}"#;
        assert!(
            launched(served, &["uvx"]).0.is_none(),
            "a package that listens is not spoken to over a pipe"
        );
    }

    /// R6.6: an image runs in docker; a secret is passed by name and does not appear on the command line.
    #[test]
    fn images_run_in_docker() {
        let oci = r#"{"packages":[{"registryType":"oci","identifier":"img:1","environmentVariables":[{"name":"TOKEN","isSecret":true,"isRequired":true},{"name":"MODE","value":"fast"}],
            "runtimeArguments":[{"type":"named","name":"-v","value":"/a:/b"}],"packageArguments":[{"type":"positional","value":"stdio"}]}]}"#;
        assert_eq!(words(oci, &["docker"]), "docker run --rm -i -e MODE -e TOKEN -v /a:/b img:1 stdio");
        let (Some(Transport::Stdio(command)), _) = launched(oci, &["docker"]) else { panic!("no command") };
        assert_eq!(command.env["TOKEN"], "from the environment");
        assert_eq!(command.env["MODE"], "fast");
    }

    /// R6.6: a remote is reached by its URL, with its headers; required values that are missing are named.
    #[test]
    fn remotes_are_reached_by_their_url() {
        let remote = r#"{"remotes":[{"type":"sse","url":"https://old"},{"type":"streamable-http","url":"https://{region}.example/{other}","variables":{"region":{"default":"eu"}},
            "headers":[{"name":"Authorization","value":"Bearer {TOKEN}","variables":{"TOKEN":{"isSecret":true,"isRequired":true}}},{"name":"X-Tenant","isRequired":true},{"name":"X-Optional"}]}],
            "packages":[{"registryType":"npm","identifier":"x"}]}"#;
        let (Some(Transport::Http(endpoint)), missing) = launched(remote, &["npx"]) else {
            panic!("no remote")
        };
        assert_eq!(endpoint.url, "https://eu.example/{other}");
        assert_eq!(endpoint.headers["Authorization"], "Bearer from the environment");
        assert_eq!((endpoint.headers.len(), missing), (1, vec!["X-Tenant".to_owned()]));
    }
}
