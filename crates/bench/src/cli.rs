//! Start-up: time from starting the program to the first answered call, time of `--help`, and the program's size.
//!
//! Measures the binary `toolcrib` beside this program; `xtask bench cli` builds it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::StreamableHttpClientTransport;

use crate::race::{Claim, Effort, Race};

const FIRST_CALL_MAX: Duration = Duration::from_secs(2);
const HELP_MAX: Duration = Duration::from_millis(10);
const SIZE_MIB_MAX: f64 = 40.0;
const STARTS: usize = 5;

pub(crate) fn run(effort: Effort) -> Result<bool> {
    let program = std::env::current_exe()?.with_file_name("toolcrib");
    ensure!(program.is_file(), "{} is not built: cargo build --release -p toolcrib-cli", program.display());
    let spawned = |program: &Path, words: &'static [&'static str]| {
        let program = program.to_owned();
        move || {
            let done = Command::new(&program).args(words).stdout(Stdio::null()).status();
            assert!(done.is_ok_and(|status| status.success()), "{} does not run", program.display());
        }
    };
    let race = Race::new("the help, as a process of its own")
        .with("/bin/true", Claim::None, spawned(Path::new("/bin/true"), &[]))
        .with("toolcrib --help", Claim::TimeAtMost(HELP_MAX), spawned(&program, &["--help"]))
        .with("toolcrib --version", Claim::None, spawned(&program, &["--version"]));
    let mut holds = race.run(effort);
    holds &= first_call(&program, effort)?;
    holds &= size(&program, effort)?;
    Ok(holds)
}

/// The program as a new user starts it, with a data folder that does not exist yet.
struct Serving {
    child: Child,
    data: PathBuf,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

fn first_call(program: &Path, effort: Effort) -> Result<bool> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut times = Vec::new();
    for at in 0..STARTS {
        let data = std::env::temp_dir().join(format!("toolcrib-bench-{}-{at}", std::process::id()));
        let begun = Instant::now();
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data);
        let child = command.stdout(Stdio::piped()).spawn()?;
        let mut serving = Serving { child, data };
        let mut line = String::new();
        BufReader::new(serving.child.stdout.take().context("no output")?).read_line(&mut line)?;
        let url =
            line.trim().strip_prefix("toolcrib serves at ").with_context(|| format!("it says {line:?}"))?;
        let answered = runtime.block_on(async {
            let client = ().serve(StreamableHttpClientTransport::from_uri(url.to_owned())).await?;
            let arguments = serde_json::json!({"account": "pro"}).as_object().cloned().unwrap_or_default();
            let call = CallToolRequestParams::new("get_expectancy").with_arguments(arguments);
            let result = client.call_tool(call).await?;
            client.cancel().await?;
            anyhow::Ok(result)
        })?;
        ensure!(answered.is_error != Some(true), "answered: {answered:?}");
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let (best, worst) =
        (times.first().copied().unwrap_or_default(), times.last().copied().unwrap_or_default());
    let kept = worst <= FIRST_CALL_MAX;
    let verdict = if kept { "holds" } else { "MISSED" };
    println!(
        "\nfrom starting to the first answered tools/call of an rmcp client, {STARTS} starts in an empty data folder"
    );
    println!("  best                                 {best:>9.2?}");
    println!("  worst                                {worst:>9.2?}  at most {FIRST_CALL_MAX:?}  {verdict}");
    Ok(kept || !effort.judges())
}

fn size(program: &Path, effort: Effort) -> Result<bool> {
    let bytes = std::fs::metadata(program)?.len();
    let mib = bytes as f64 / (1024.0 * 1024.0);
    let kept = mib < SIZE_MIB_MAX;
    let verdict = if kept { "holds" } else { "MISSED" };
    println!(
        "\nthe program's size\n  toolcrib                             {mib:>9.1} MiB  under {SIZE_MIB_MAX} MiB  {verdict}"
    );
    Ok(kept || !effort.judges())
}
