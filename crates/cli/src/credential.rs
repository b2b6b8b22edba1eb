//! `toolcrib credential add|list|revoke`: manages bearer credentials and their rights.

use anyhow::anyhow;
use serde_json::json;
use toolcrib::engine::safety::credential::Credential;

use crate::Outcome;
use crate::data::{Data, operate, unkept};
use crate::exit::{Exit, Failure};
use crate::form::Form;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Make a credential; its secret is printed once.
    Add {
        name: String,
        /// May decide over approvals, stop and unlock.
        #[arg(long)]
        operator: bool,
        /// Its clients are believed when they say that they ask their person themselves.
        #[arg(long)]
        honours: bool,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        form: Form,
    },
    /// Show the credentials, without their secrets.
    List {
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        form: Form,
    },
    /// Take a credential back.
    Revoke {
        name: String,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        form: Form,
    },
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Add { name, operator, honours, data, form } => {
            let secret = operate(data, async |safety| {
                let made = safety.add_credential(name, *operator, *honours).await;
                made.map_err(|error| Failure::new(Exit::Usage, anyhow::Error::new(error)))
            })?;
            let json = json!({"name": name, "operator": operator, "honours": honours, "secret": secret});
            form.say(&secret, &json)?;
        }
        What::List { data, form } => {
            let all = operate(data, async |safety| safety.store().credentials().await.map_err(unkept))?;
            let lines: Vec<String> = all
                .iter()
                .map(|(credential, _)| {
                    let mark = |is: bool, word: &'static str| if is { word } else { "" };
                    let marks =
                        [mark(credential.operator, " operator"), mark(credential.honours, " honours")];
                    format!("{}{}", credential.name, marks.concat())
                })
                .collect();
            let text = if lines.is_empty() { "no credentials".to_owned() } else { lines.join("\n") };
            let one = |(own, _): &(Credential, _)| json!({"name": own.name, "operator": own.operator, "honours": own.honours});
            let told: Vec<serde_json::Value> = all.iter().map(one).collect();
            form.say(&text, &json!({"credentials": told}))?;
        }
        What::Revoke { name, data, form } => {
            let revoked = operate(data, async |safety| safety.revoke_credential(name).await.map_err(unkept))?;
            if !revoked {
                return Err(Failure::new(Exit::Usage, anyhow!("there is no credential {name:?}")));
            }
            form.say(&format!("revoked: {name}"), &json!({"outcome": "revoked", "name": name}))?;
        }
    }
    Ok(Exit::Nothing)
}
