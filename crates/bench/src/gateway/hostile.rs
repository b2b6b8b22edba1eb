//! A modern server whose only tool misbehaves in the way that `behaviour` names.

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

pub(crate) fn serve(
    behaviour: Option<&str>,
    announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
) -> Result<()> {
    let behaviour = behaviour.context("a behaviour")?.to_owned();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    announce(listener.local_addr()?)?;
    for connection in listener.incoming().flatten() {
        let behaviour = behaviour.clone();
        std::thread::spawn(move || {
            // An error means that the peer closed the connection.
            let _ = talk(&connection, &behaviour);
        });
    }
    Ok(())
}

fn talk(connection: &TcpStream, behaviour: &str) -> Result<()> {
    let mut reader = BufReader::new(connection);
    let mut out = connection;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            anyhow::ensure!(reader.read_line(&mut line)? > 0, "the end");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let message: Value = serde_json::from_slice(&body)?;
        let id = message.get("id").cloned().unwrap_or_default();
        let complete = |mut result: Value| {
            if let Some(members) = result.as_object_mut() {
                members.insert("resultType".to_owned(), json!("complete"));
            }
            json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
        };
        match message.get("method").and_then(Value::as_str).unwrap_or_default() {
            "server/discover" => answer(
                &mut out,
                &complete(json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})),
            )?,
            "tools/list" => {
                let tools = json!([{"name": "poke", "inputSchema": {"type": "object"}}]);
                answer(&mut out, &complete(json!({"tools": tools})))?;
            }
            "tools/call" => harm(&mut out, behaviour, &id)?,
            "subscriptions/listen" if behaviour == "storm" => {
                write!(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
                let params = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": id}});
                let notice =
                    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": params});
                let many = format!("data: {notice}\n\n").repeat(100);
                loop {
                    out.write_all(many.as_bytes())?;
                }
            }
            method => {
                let error = json!({"code": -32601, "message": format!("no {method}")});
                answer(&mut out, &json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string())?;
            }
        }
    }
}

fn answer(out: &mut impl Write, text: &str) -> Result<()> {
    write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )?;
    Ok(())
}

fn harm(out: &mut impl Write, behaviour: &str, id: &Value) -> Result<()> {
    match behaviour {
        "hang" => loop {
            std::thread::park();
        },
        "half" => {
            write!(
                out,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
            )?;
            loop {
                std::thread::park();
            }
        }
        "garbage" => answer(out, "%$ this is no JSON"),
        "wrong-id" => answer(out, r#"{"jsonrpc":"2.0","id":999999,"result":{"content":[]}}"#),
        "storm" => {
            let result = json!({"resultType": "complete", "content": []});
            answer(out, &json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
        }
        "huge" => {
            write!(
                out,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            )?;
            loop {
                write!(out, "100000\r\n")?;
                out.write_all(&vec![b'x'; 1 << 20])?;
                write!(out, "\r\n")?;
            }
        }
        "endless-stream" => {
            write!(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
            loop {
                write!(out, ": still here {}\n\n", "x".repeat(1 << 16))?;
            }
        }
        "depth-bomb" => {
            let bomb = "[".repeat(100_000) + &"]".repeat(100_000);
            answer(out, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":{bomb}}}}}"))
        }
        _ => anyhow::bail!("closes"),
    }
}
