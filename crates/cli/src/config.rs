//! `toolcrib config`: validates and describes configuration files without starting a server.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolcrib_gateway::config::{ProcessEnvironment, schema};
use toolcrib_gateway::{Config, Prefixing};
use toolcrib_upstream::Transport;

use crate::Outcome;
use crate::exit::{Exit, Failure, print};
use crate::form::Form;
use crate::terminal::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Say whether files can be used, and what they say.
    Validate {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        form: Form,
    },
    /// Print the JSON Schema of toolcrib.toml.
    Schema,
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.verb {
        Verb::Schema => {
            let text = serde_json::to_string_pretty(&schema())
                .map_err(|error| Failure::new(Exit::Internal, error))?;
            print(&format!("{text}\n"))?;
        }
        Verb::Validate { files, form } => {
            let (mut text, mut told) = (String::new(), Vec::new());
            for file in files {
                let config = Config::load(file, Prefixing::Default, &ProcessEnvironment)
                    .map_err(|error| Failure::new(Exit::Usage, error))?;
                text.push_str(&summary(file, &config));
                told.push(described(file, &config));
            }
            form.say(&text, &json!({"files": told}))?;
        }
    }
    Ok(Exit::Nothing)
}

fn described(file: &std::path::Path, config: &Config) -> Value {
    let server = |source: &toolcrib_gateway::Source| {
        let (transport, reached) = match &source.spec.transport {
            Transport::Stdio(command) => ("stdio", &command.program),
            Transport::Http(endpoint) => ("http", &endpoint.url),
        };
        json!({"name": source.name(), "transport": transport, "reached": reached, "prefix": source.prefix})
    };
    json!({"file": file, "servers": config.sources.iter().map(server).collect::<Vec<_>>(), "safety": config.safety})
}

fn summary(file: &std::path::Path, config: &Config) -> String {
    let count = counted(config.sources.len(), "server");
    let mut text = format!("{}: {count}\n", file.display());
    for source in &config.sources {
        let how = match &source.spec.transport {
            Transport::Stdio(command) => format!("command {}", command.program),
            Transport::Http(endpoint) => endpoint.url.clone(),
        };
        let prefix = source.prefix.as_deref().unwrap_or("no prefix");
        text.push_str(&format!("  {:<20} {how} ({prefix})\n", source.name()));
    }
    if let Some(policy) = &config.safety {
        let rules = counted(policy.rules.len(), "rule");
        text.push_str(&format!("  [safety]: destructive tools {}, {rules}\n", policy.destructive.name()));
    }
    text
}
