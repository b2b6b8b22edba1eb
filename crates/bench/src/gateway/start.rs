//! Start-up time of a gateway with ten servers, compared with the start-up time of one of them.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::stdio_drive::Drive;
use crate::race::Effort;
use crate::serving::{Server, Which};

const SERVERS: &str = "10";
const TIMES_MAX: f64 = 1.2;

pub(super) fn run(effort: Effort) -> Result<bool> {
    let own = std::env::current_exe()?.display().to_string();
    // A server that starts slowly, like those that are installed at their start.
    let script = format!("sleep 1; exec {own} serve ours-stdio");
    let words = ["sh".to_owned(), "-c".to_owned(), script.clone()];
    let params = serde_json::json!({"name": "echo", "arguments": {"text": "hello", "count": 3}});
    let (mut one, mut ten) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let begun = Instant::now();
        drop(Drive::start(&words, 1, &params)?);
        one.push(begun.elapsed());
        let begun = Instant::now();
        drop(Server::start_with(Which::Gateway, &["--", SERVERS, "sh", "-c", &script])?);
        ten.push(begun.elapsed());
    }
    let best = |times: &[Duration]| times.iter().min().copied().unwrap_or_default();
    let ratio = best(&ten).as_secs_f64() / best(&one).as_secs_f64();
    let holds = ratio <= TIMES_MAX;
    let verdict = if holds { "holds" } else { "MISSED" };
    println!("\ncold start with {SERVERS} stdio servers, best of three");
    println!("  one server, first answer             {:>9.2?}", best(&one));
    println!(
        "  toolcrib, all ten listed             {:>9.2?}  {ratio:.2}×, at most {TIMES_MAX}×  {verdict}",
        best(&ten)
    );
    Ok(holds || !effort.judges())
}
