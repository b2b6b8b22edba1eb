//! A client that confirms each destructive call with a token and sends it again when its connection breaks.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::bed::Bed;
use crate::client::{Post, Wire};
use crate::ledger::Manner;

/// Timeout of one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Pause before a retry while the gateway or a server is down.
const PAUSE: Duration = Duration::from_millis(10);
/// Maximum sends of one call: the first, and one after each of two broken connections.
const SENDS_MAX: usize = 3;

/// One call from its client's view.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) manner: Manner,
    pub(super) told: Told,
    /// Number of sends; the answer to a later one says nothing about the first.
    pub(super) sends: usize,
}

impl Call {
    pub(super) fn arguments(&self) -> Value {
        json!({"call": self.name, "manner": self.manner.word()})
    }
}

/// Last answer that the client got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Done,
    /// The tool or the gateway reports that the call failed.
    Failed,
    /// The gateway reports that the call may have taken effect.
    Unknown,
    /// The gateway reports that the call was not run, for example because its token was already used.
    NotRun,
    /// No answer: every connection broke.
    Nothing,
}

pub(super) struct Caller<'a> {
    bed: &'a Bed,
    tools: Vec<String>,
    wire: Option<Wire>,
    end: Instant,
}

impl<'a> Caller<'a> {
    pub(super) fn new(bed: &'a Bed, end: Instant) -> Self {
        Self { bed, tools: Bed::tools(), wire: None, end }
    }

    /// Gets a token for a new call and sends the call, again with the same token if the connection breaks.
    pub(super) fn spend(&mut self, number: usize) -> Result<Call> {
        let manner =
            Manner::ALL.into_iter().cycle().nth(number / 8 % Manner::ALL.len()).unwrap_or(Manner::Plain);
        let mut call = Call { name: format!("call-{number:06}"), manner, told: Told::Nothing, sends: 0 };
        let tool = self.tools.get(number % self.tools.len()).cloned().unwrap_or_default();
        let token = self.token(&tool, &call.arguments())?;
        let arguments = json!({"call": call.name, "manner": manner.word(), "confirmation_token": token});
        let post = Post::modern("tools/call", &json!({"name": tool, "arguments": arguments}));
        while call.sends < SENDS_MAX {
            call.sends += 1;
            match self.ask(&post) {
                // A restarted gateway has not listed its servers yet; the token was not examined.
                Some(answer) if is_unknown_tool(&answer) => {
                    call.sends -= 1;
                    self.pause()?;
                }
                Some(answer) => {
                    call.told = told(&answer);
                    break;
                }
                None => self.wait_for_gateway()?,
            }
        }
        Ok(call)
    }

    fn token(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        let wish = json!({"action": tool, "params_summary": "a campaign", "arguments": arguments});
        let post = Post::modern("tools/call", &json!({"name": "get_confirmation_token", "arguments": wish}));
        loop {
            let answer = self.ask(&post).unwrap_or_default();
            if let Some(token) = answer.pointer("/result/structuredContent/token").and_then(Value::as_str) {
                return Ok(token.to_owned());
            }
            if Instant::now() > self.end {
                bail!("no token: {answer}");
            }
            std::thread::park_timeout(PAUSE);
        }
    }

    /// Returns the answer; `None` if the connection could not be made or broke.
    fn ask(&mut self, post: &Post) -> Option<Value> {
        let mut wire = match self.wire.take() {
            Some(wire) => wire,
            None => Wire::open(self.bed.address, Ipv4Addr::LOCALHOST, ANSWER_WITHIN).ok()?,
        };
        let answer = wire.ask(post).ok()?;
        self.wire = Some(wire);
        serde_json::from_slice(&answer.body).ok()
    }

    fn wait_for_gateway(&self) -> Result<()> {
        while Wire::open(self.bed.address, Ipv4Addr::LOCALHOST, ANSWER_WITHIN).is_err() {
            self.pause()?;
        }
        Ok(())
    }

    fn pause(&self) -> Result<()> {
        if Instant::now() > self.end {
            bail!("the gateway or its servers do not come back");
        }
        std::thread::park_timeout(PAUSE);
        Ok(())
    }
}

fn is_unknown_tool(answer: &Value) -> bool {
    let message = answer.pointer("/error/message").and_then(Value::as_str);
    message.is_some_and(|message| message.starts_with("Unknown tool"))
}

fn told(answer: &Value) -> Told {
    let text = answer.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
    let is_error =
        answer.pointer("/result/isError") == Some(&Value::Bool(true)) || answer.get("error").is_some();
    match () {
        () if !is_error && answer.get("result").is_some() => Told::Done,
        () if text.contains("may have had its effect") => Told::Unknown,
        () if text.starts_with("Not run") => Told::NotRun,
        () => Told::Failed,
    }
}
