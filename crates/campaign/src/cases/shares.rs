//! One caller that takes as much as it can while another one wants its share.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::case::{Attack, Case, ELSEWHERE, Phase, Setting, Target};
use crate::client::{Answer, MODERN, Post, Wire};
use crate::neighbour::excerpt;
use crate::upstream::{Offer, Upstream};

use super::servers::start_http;

const PATIENCE: Duration = Duration::from_secs(5);
/// Policy under which a person has to confirm calls, the default.
const GATED: &str = "[safety]\n";
/// Policy without confirmations, with the loop guard.
const GUARDED: &str = "[safety]\ndestructive = \"never\"\n";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("shares", "sessions", |setting| sessions(setting, false)),
        Case::new("shares", "sessions-from-the-neighbours-address", |setting| sessions(setting, true)),
        Case::new("shares", "unfinished-bodies", |setting| unfinished(setting, 2_600_000)),
        Case::new("shares", "unfinished-bodies-without-a-byte", |setting| unfinished(setting, 0)),
        Case::new("shares", "unfinished-heads", unfinished_heads),
        Case::new("shares", "approvals", |setting| {
            let many = setting.size(40, 40);
            gated(GATED, move |target, number| {
                let post = Post::call_text("bad__delete", &format!("{{\"number\":{number}}}"));
                let answer = ask(target, &post)?;
                ensure!(
                    answer.text().contains("waits for a person") || number >= 32,
                    "{}",
                    excerpt(&answer.text())
                );
                Ok(number < many as u64)
            })
            .map(|attack| attack.with_honest(honest_approval))
        }),
        Case::new("shares", "tokens", |_| {
            gated(GATED, |target, number| {
                ask(target, &token(number))?;
                Ok(number < 130)
            })
            .map(|attack| {
                attack.with_honest(|target| {
                    let answer = ask(&target.beside_neighbour(), &token(7))?;
                    ensure!(answer.text().contains("ctk_"), "no token: {}", excerpt(&answer.text()));
                    Ok(())
                })
            })
        }),
        Case::new("shares", "equal-sessionless-calls", |_| {
            gated(GUARDED, |target, number| {
                ask(target, &Post::call_text("bad__delete", "{\"number\":1}"))?;
                Ok(number < 60)
            })
            .map(|attack| attack.with_honest(honest_caller))
        }),
        Case::new("shares", "equal-sessionless-calls-from-the-neighbours-address", |_| {
            gated(GUARDED, |target, number| {
                ask(&target.beside_neighbour(), &Post::call_text("bad__delete", "{\"number\":1}"))?;
                Ok(number < 60)
            })
            .map(|attack| {
                attack
                    .with_honest(|target| honest_session(&target.beside_neighbour()))
                    .with_session_of_neighbour()
            })
        }),
        Case::new("shares", "subscriptions", subscriptions),
        Case::new("shares", "long-subscriptions", long_subscriptions),
        Case::new("shares", "hung-up-legacy-calls", hung_up),
        Case::new("shares", "slow-readers", slow_readers),
        Case::new("shares", "idle-connections", idle_connections),
        Case::new("shares", "pipelined-calls", pipelined),
    ]
}

fn ask(target: &Target<'_>, post: &Post) -> Result<Answer> {
    Ok(target.wire(PATIENCE)?.ask(post)?)
}

/// Attack: opens legacy sessions as fast as possible, up to ten thousand per phase.
fn sessions(setting: &Setting, is_near: bool) -> Result<Attack> {
    let many = setting.size(10_000, 200);
    Ok(Attack::storm(move |target, phase| {
        let target = if is_near { target.beside_neighbour() } else { *target };
        let mut wire = target.wire(PATIENCE)?;
        let mut made = 0;
        while made < many as u64 && !phase.is_over() {
            // The server may close the connection of a client that it refuses.
            if wire.ask(&Post::initialize()).is_err() {
                wire = target.wire(PATIENCE)?;
            }
            made += 1;
        }
        Ok(made)
    })
    .with_honest(move |target| {
        // A client at another address than the attacker must get a session.
        let source = if is_near { ELSEWHERE } else { Ipv4Addr::LOCALHOST };
        honest_session(&Target { source, ..*target })
    }))
}

/// Opens a session and makes a call in it.
fn honest_session(target: &Target<'_>) -> Result<()> {
    let mut wire = target.wire(PATIENCE)?;
    let greeted = wire.ask(&Post::initialize())?;
    let session = greeted.header("mcp-session-id").map(str::to_owned);
    let Some(session) = session else {
        anyhow::bail!("no session: HTTP {} {}", greeted.status, excerpt(&greeted.text()));
    };
    let message = |body: Value| Post::legacy(body.to_string()).header("Mcp-Session-Id", &session);
    wire.ask(&message(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})))?;
    let params = json!({"name": "good__echo", "arguments": {"text": "session"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let answer = wire.ask(&message(call))?;
    ensure!(answer.is_success(), "HTTP {}: {}", answer.status, excerpt(&answer.text()));
    Ok(())
}

/// Attack: a thousand requests that announce 3.9 MB and send only `sent` bytes.
fn unfinished(setting: &Setting, sent: usize) -> Result<Attack> {
    let (many, sent) = (setting.size(1_000, 50), sent.min(setting.size(sent, 100_000)));
    Ok(Attack::storm(move |target, phase| {
        let post = Post { headers: String::new(), body: vec![b' '; 3_900_000] };
        let mut wires = Vec::new();
        while wires.len() < many && !phase.is_over() {
            let Ok(mut wire) = target.wire(Duration::from_secs(1)) else { continue };
            // The server may stop reading or close the connection.
            let _ = wire.send_part(&post, sent);
            wires.push(wire);
        }
        phase.pause(Duration::from_secs(60));
        Ok(wires.len() as u64)
    })
    .with_honest(honest_body)
    .with_phases(4))
}

/// Makes a call with a body of 256 KiB.
fn honest_body(target: &Target<'_>) -> Result<()> {
    let arguments = json!({"text": "x".repeat(1 << 18)}).to_string();
    let answer = ask(&target.beside_neighbour(), &Post::call_text("good__echo", &arguments))?;
    ensure!(answer.is_success(), "HTTP {}: {}", answer.status, excerpt(&answer.text()));
    Ok(())
}

fn unfinished_heads(setting: &Setting) -> Result<Attack> {
    let many = setting.size(1_000, 50);
    Ok(Attack::storm(move |target, phase| {
        let head =
            format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nX-Long: {}", target.address, "x".repeat(60_000));
        let mut wires = Vec::new();
        while wires.len() < many && !phase.is_over() {
            let mut wire = target.wire(Duration::from_secs(1))?;
            let _ = wire.send_bytes(head.as_bytes());
            wires.push(wire);
        }
        phase.pause(Duration::from_secs(60));
        Ok(wires.len() as u64)
    })
    .with_honest(|target| honest_session(&target.beside_neighbour())))
}

/// Attack on a gateway with a destructive tool; `strike` gets increasing numbers and returns `false` to pause.
fn gated(
    policy: &str,
    strike: impl Fn(&Target<'_>, u64) -> Result<bool> + Send + Sync + 'static,
) -> Result<Attack> {
    let tool = json!({"name": "delete", "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}},
        "annotations": {"destructiveHint": true}});
    let bad = Upstream::hostile(&Offer { tools: vec![tool], ..Offer::default() })?;
    let last = AtomicU64::new(0);
    Ok(Attack::storm(move |target: &Target<'_>, phase: &Phase| {
        let mut made = 0;
        while !phase.is_over() {
            made += 1;
            if !strike(target, last.fetch_add(1, Ordering::Relaxed))? {
                phase.pause(Duration::from_millis(20));
            }
        }
        Ok(made)
    })
    .with_policy(policy)
    .with_server(bad.entry("bad"), bad))
}

/// Checks that a call which needs a confirmation is queued for a caller at another address.
fn honest_approval(target: &Target<'_>) -> Result<()> {
    let answer = ask(&target.beside_neighbour(), &Post::call_text("bad__delete", "{\"number\":-1}"))?;
    ensure!(answer.text().contains("waits for a person"), "not queued: {}", excerpt(&answer.text()));
    Ok(())
}

fn token(number: u64) -> Post {
    let wish = json!({"action": "bad__delete", "params_summary": "one", "arguments": {"number": number}});
    Post::modern("tools/call", &json!({"name": "get_confirmation_token", "arguments": wish}))
}

/// Checks a caller at another address without a session, and one at the attacker's address with a session.
fn honest_caller(target: &Target<'_>) -> Result<()> {
    let answer = ask(&target.beside_neighbour(), &Post::call_text("good__echo", "{\"text\":\"honest\"}"))?;
    ensure!(answer.is_success(), "without a session: {}", excerpt(&answer.text()));
    honest_session(target)
}

/// Attack: a thousand streams that follow ten resources each.
fn subscriptions(setting: &Setting) -> Result<Attack> {
    let many = setting.size(1_000, 50);
    Ok(Attack::storm(move |target, phase| {
        let mut wires = Vec::new();
        while wires.len() < many && !phase.is_over() {
            let uris: Vec<String> = (0..10).map(|uri| format!("a://{}/{uri}", wires.len())).collect();
            let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": uris});
            let post = Post::modern("subscriptions/listen", &json!({"notifications": wanted}));
            let mut wire = target.wire(PATIENCE)?;
            wire.send(&post)?;
            let _ = wire.head();
            wires.push(wire);
        }
        phase.pause(Duration::from_secs(60));
        Ok(wires.len() as u64)
    })
    .with_honest(|target| {
        let wanted = json!({"toolsListChanged": true});
        let post = Post::modern("subscriptions/listen", &json!({"notifications": wanted}));
        let mut wire = target.beside_neighbour().wire(PATIENCE)?;
        wire.send(&post)?;
        let head = wire.head()?;
        ensure!(head.starts_with("HTTP/1.1 200"), "no stream: {}", excerpt(&head));
        Ok(())
    }))
}

/// Attack: streams that follow 400 resources with URIs of 8,000 bytes each.
fn long_subscriptions(setting: &Setting) -> Result<Attack> {
    let many = setting.size(200, 10);
    Ok(Attack::storm(move |target, phase| {
        let mut wires = Vec::new();
        while wires.len() < many && !phase.is_over() {
            let long = "x".repeat(8_000);
            let uris: Vec<String> = (0..400).map(|uri| format!("a://{}/{uri}/{long}", wires.len())).collect();
            let wanted = json!({"resourceSubscriptions": uris});
            let mut wire = target.wire(PATIENCE)?;
            // The server may refuse the request before it has read all of it.
            let _ = wire.send(&Post::modern("subscriptions/listen", &json!({"notifications": wanted})));
            let _ = wire.head();
            wires.push(wire);
        }
        phase.pause(Duration::from_secs(60));
        Ok(wires.len() as u64)
    })
    .with_phases(4))
}

/// Attack: legacy calls of a tool that never answers; the client disconnects at once.
fn hung_up(setting: &Setting) -> Result<Attack> {
    let many = setting.size(5_000, 100);
    let (server, process) = start_http(setting, "hang")?;
    Ok(Attack::storm(move |target, phase| {
        let mut made = 0;
        while made < many as u64 && !phase.is_over() {
            let params = json!({"name": "bad__poke", "arguments": {"number": made}});
            let call = json!({"jsonrpc": "2.0", "id": made, "method": "tools/call", "params": params});
            let mut wire = target.wire(PATIENCE)?;
            wire.send(&Post::legacy(call.to_string()))?;
            made += 1;
            if made.is_multiple_of(100) {
                phase.pause(Duration::from_millis(20));
            }
        }
        Ok(made)
    })
    .with_server(server, process)
    .with_honest(honest_session))
}

/// Attack: readers that take a megabyte byte by byte.
fn slow_readers(setting: &Setting) -> Result<Attack> {
    let many = setting.size(200, 20);
    let prose = "long words ".repeat(90_000);
    let tool = json!({"name": "t", "description": prose, "inputSchema": {"type": "object"}});
    let bad = Upstream::hostile(&Offer { tools: vec![tool; 1], ..Offer::default() })?;
    Ok(Attack::storm(move |target, phase| {
        let mut wires: Vec<Wire> = Vec::new();
        while wires.len() < many && !phase.is_over() {
            let mut wire = target.narrow_wire(PATIENCE)?;
            wire.send(&Post::modern("tools/list", &json!({})))?;
            wires.push(wire);
        }
        while !phase.is_over() {
            for wire in &mut wires {
                let _ = wire.read_byte();
            }
            phase.pause(Duration::from_millis(50));
        }
        Ok(wires.len() as u64)
    })
    .with_server(bad.entry("bad"), bad))
}

fn idle_connections(setting: &Setting) -> Result<Attack> {
    let many = setting.size(5_000, 100);
    Ok(Attack::storm(move |target, phase| {
        let mut wires = Vec::new();
        while wires.len() < many && !phase.is_over() {
            wires.push(target.wire(PATIENCE)?);
        }
        phase.pause(Duration::from_secs(60));
        Ok(wires.len() as u64)
    })
    .with_honest(|target| honest_session(&target.beside_neighbour())))
}

/// Attack: pipelined requests on ten connections whose answers are not read.
fn pipelined(setting: &Setting) -> Result<Attack> {
    let many = setting.size(10_000, 100);
    Ok(Attack::storm(move |target, phase| {
        let body = Post::modern("tools/list", &json!({}));
        let one = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/list\r\nContent-Length: {}\r\n\r\n{}",
            target.address,
            body.body.len(),
            String::from_utf8_lossy(&body.body)
        );
        let mut wires = Vec::new();
        let mut made = 0;
        for _ in 0..10 {
            let mut wire = target.wire(Duration::from_millis(100))?;
            for _ in 0..many / 10 {
                if phase.is_over() || wire.send_bytes(one.as_bytes()).is_err() {
                    break;
                }
                made += 1;
            }
            wires.push(wire);
        }
        phase.pause(Duration::from_secs(60));
        Ok(made)
    }))
}
