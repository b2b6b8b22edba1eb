//! Cost of safety: a read-only call with gate, loop guard and audit on, against the same server without them; and a
//! destructive call with its token, whose intent is on disk before it runs, against the same call ungated.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use toolcrib::engine::safety::policy::{Demand, Policy};
use toolcrib::{Context, HttpOptions, Server, ToolError, ToolSpec};
use toolcrib_store::DataFolder;

use crate::race::{Claim, Effort, Race};
use crate::serving::client::{Load, Speaks};
use crate::serving::process::Server as Process;
use crate::serving::{Which, echo_schema};

/// Maximum time of a read-only call with safety on, as a multiple of the time without.
const READ_ONLY_AT_MOST: f64 = 1.03;
/// Maximum time that the gate adds to a destructive call at the median, in milliseconds.
const GATED_MS_MAX: f64 = 2.0;
const GATED_CALLS: usize = 1_000;

/// A folder on the disk that holds this program: on a memory file system a flush would cost nothing.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Self> {
        let program = std::env::current_exe()?;
        let beside = program.parent().context("a program without a folder")?;
        Ok(Self(beside.join(format!("bench-{name}-{}", std::process::id()))))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Policy whose counters run but whose limits are never reached, so that the load is not stopped.
fn policy() -> Policy {
    Policy {
        repeats_max: u32::MAX,
        repeats_read_only_max: u32::MAX,
        tokens_per_minute_max: u32::MAX,
        ..Policy::default().rule(&["gated"], Demand::Always)
    }
}

async fn server(folder: Option<&Folder>) -> Result<Server> {
    let mut builder = Server::builder("bench", "1");
    if let Some(folder) = folder {
        let data = tokio::task::block_in_place(|| DataFolder::open(&folder.0))?;
        builder = builder.safety(data.safety(policy()).await?);
    }
    let server = builder.build()?;
    let spec = |name: &str| {
        ToolSpec::new(name, "Says it again").input_schema(echo_schema()).output_schema(echo_schema())
    };
    let echo = |arguments: Value, _: Context| async move { Ok::<_, ToolError>(arguments) };
    server.add(spec("echo").read_only(true), echo)?;
    server.add(spec("gated").destructive(true), echo)?;
    Ok(server)
}

/// Serves one of the two servers that are compared.
pub(crate) async fn serve(
    announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
    watched: bool,
) -> Result<()> {
    let folder = watched.then(|| Folder::new("watched")).transpose()?;
    let server = server(folder.as_ref()).await?;
    let bound = server.bind_http("127.0.0.1:0", HttpOptions::default()).await?;
    announce(bound.address()?)?;
    Ok(bound.serve(std::future::pending()).await?)
}

fn arguments() -> Value {
    json!({"text": "hello", "count": 3, "tags": ["a", "b"], "mode": "plain"})
}

pub(crate) fn run(effort: Effort) -> Result<bool> {
    let (plain, watched) = (Process::start(Which::Plain)?, Process::start(Which::Watched)?);
    let mut holds = true;
    for (connections, claim) in [(1, Claim::TimesFirstAtMost(READ_ONLY_AT_MOST)), (16, Claim::None)] {
        let load = |process: &Process| -> Result<Load> {
            let params = json!({"name": "echo", "arguments": arguments()});
            let mut load = Load::new(process.address, connections, Speaks::Modern, "tools/call", &params)?;
            load.check(|result| result.get("structuredContent") == Some(&arguments()))?;
            Ok(load)
        };
        let (mut without, mut with) = (load(&plain)?, load(&watched)?);
        let title = format!("read-only tools/call, {connections} in flight");
        holds &= Race::new(&title)
            .counting(without.turn_calls())
            .with("nothing switched on", Claim::None, || without.turn())
            .with("gate, loop guard and audit on", claim, || with.turn())
            .run(effort);
    }
    let _ = std::fs::remove_dir_all(
        std::env::current_exe()?.with_file_name(format!("bench-watched-{}", watched.id())),
    );
    drop((plain, watched));
    Ok(gated(effort)? && holds)
}

fn gated(effort: Effort) -> Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let folder = Folder::new("gated")?;
    let calls = if effort.judges() { GATED_CALLS } else { GATED_CALLS / 20 };
    let mut flush = Flush::open(&folder.0.join("flush"))?;
    let [bare, floor, gated]: [Vec<f64>; 3] = runtime.block_on(async {
        let (off, on) = (server(None).await?, server(Some(&folder)).await?);
        let mut tokens = Vec::with_capacity(calls);
        for _ in 0..calls {
            let wish = json!({"action": "gated", "params_summary": "x", "arguments": arguments()});
            let given = on.call("get_confirmation_token", wish).await?;
            let token =
                given.pointer("/structuredContent/token").and_then(Value::as_str).context("no token")?;
            tokens.push(token.to_owned());
        }
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for token in tokens {
            let mut confirmed = arguments();
            confirmed.as_object_mut().context("an object")?.insert("confirmation_token".into(), token.into());
            let [bare, floor, gated] = &mut times;
            floor.push(tokio::task::block_in_place(|| flush.once())?);
            for (server, arguments, times) in [(&off, arguments(), bare), (&on, confirmed, gated)] {
                // Waits until the previous call's ending is written: its flush is not part of this call.
                if let Some(safety) = server.engine().safety() {
                    safety.store().append(Vec::new()).await?;
                }
                let begun = Instant::now();
                let result = server.call("gated", arguments).await?;
                times.push(begun.elapsed().as_secs_f64());
                if result.get("isError").is_some() {
                    bail!("it did not run: {result}");
                }
            }
        }
        anyhow::Ok(times)
    })?;
    println!(
        "\ndestructive call in this process, one at a time, {calls} calls; the intent is on disk before it runs"
    );
    let shown = |name: &str, times: &[f64]| {
        println!("  {name:<36} p50 {:>9.1} µs   p99 {:>9.1} µs", at(times, 0.5) * 1e6, at(times, 0.99) * 1e6);
    };
    shown("nothing switched on", &bare);
    shown("a bare write of 12 KiB and its flush", &floor);
    shown("token checked and burnt, journalled", &gated);
    let own_ms = (at(&gated, 0.5) - at(&bare, 0.5)) * 1e3;
    let kept = own_ms < GATED_MS_MAX;
    let verdict = match (effort.judges(), kept) {
        (false, _) => "",
        (true, true) => "  holds",
        (true, false) => "  MISSED",
    };
    let besides_ms = own_ms - at(&floor, 0.5) * 1e3;
    println!("  besides one flush of this disk: {besides_ms:.3} ms");
    println!("  the gate's own cost at the median: {own_ms:.3} ms, under {GATED_MS_MAX} ms{verdict}");
    Ok(kept || !effort.judges())
}

/// Baseline of the disk: writes the bytes of one commit over existing ones and syncs them, each time.
struct Flush {
    file: std::fs::File,
    turn: u64,
}

impl Flush {
    const BYTES: usize = 3 * 4_096;
    const PLACES: u64 = 256;

    fn open(path: &std::path::Path) -> Result<Self> {
        use std::os::unix::fs::FileExt as _;
        std::fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        let file = std::fs::File::create(path)?;
        file.write_all_at(&vec![0; Self::BYTES * usize::try_from(Self::PLACES)?], 0)?;
        file.sync_all()?;
        Ok(Self { file, turn: 0 })
    }

    fn once(&mut self) -> Result<f64> {
        use std::os::unix::fs::FileExt as _;
        self.turn += 1;
        let begun = Instant::now();
        let place = self.turn % Self::PLACES * Self::BYTES as u64;
        self.file.write_all_at(&[u8::try_from(self.turn % 251)?; Self::BYTES], place)?;
        self.file.sync_all()?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// Quantile of the times.
fn at(times: &[f64], part: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = ((sorted.len() as f64 * part) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or(f64::NAN)
}
