//! Claims about the registry: import, search, pages and memory with 20,000 servers and 200,000 tools, and conversion.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use toolcrib_registry::Format;
use toolcrib_registry::api::{Api, Options as ApiOptions, Request};
use toolcrib_registry::convert::{Options, convert};
use toolcrib_registry::import::{self, import};
use toolcrib_store::Store;
use toolcrib_store::catalogue::Catalogue;

use crate::race::{Claim, Effort, Race};

const SERVERS: usize = 20_000;
const TOOLS_OF_EACH: usize = 10;
const QUICK_SERVERS: usize = 500;
const TOOLS_PER_SECOND_MIN: f64 = 20_000.0;
const SEARCH_MS_MAX: f64 = 10.0;
const PAGE_MS_MAX: f64 = 5.0;
const MEMORY_MIB_MAX: f64 = 200.0;

const VERBS: [&str; 16] = [
    "create", "list", "get", "delete", "update", "search", "send", "read", "merge", "close", "open",
    "export", "import", "run", "check", "watch",
];
const THINGS: [&str; 32] = [
    "issue",
    "branch",
    "message",
    "file",
    "table",
    "cluster",
    "invoice",
    "ticket",
    "calendar",
    "contact",
    "page",
    "image",
    "queue",
    "bucket",
    "secret",
    "policy",
    "report",
    "build",
    "release",
    "vulnerability",
    "dashboard",
    "alert",
    "notebook",
    "workflow",
    "device",
    "order",
    "payment",
    "customer",
    "review",
    "comment",
    "label",
    "schedule",
];

pub(crate) fn run(effort: Effort, quick: bool) -> Result<bool> {
    let folder = std::env::temp_dir().join(format!("toolcrib-bench-registry-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = measured(effort, quick, &folder);
    std::fs::remove_dir_all(&folder)?;
    outcome
}

fn measured(effort: Effort, quick: bool, folder: &Path) -> Result<bool> {
    let mut holds = conversion(effort)?;
    holds &= legacy(quick, folder)?;
    let file = folder.join("registry.json");
    write_registry(&file, if quick { QUICK_SERVERS } else { SERVERS })?;
    // A separate process, so that its memory is that of the registry alone.
    let output = std::process::Command::new(std::env::current_exe()?)
        .arg("registry-part")
        .arg(&file)
        .arg(folder.join("registry.db"))
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let figure = |name: &str| -> Result<f64> {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .with_context(|| format!("no {name}"))?;
        Ok(line.parse()?)
    };
    println!("\na registry of {} servers and {} tools", figure("servers")?, figure("tools")?);
    for (name, unit, bound, at_least) in [
        ("import_tools_per_second", "tools/s", TOOLS_PER_SECOND_MIN, true),
        ("search_ms_p50", "ms", SEARCH_MS_MAX, false),
        ("search_ms_p95", "ms", f64::NAN, false),
        ("page_ms_p50", "ms", PAGE_MS_MAX, false),
        ("page_ms_p95", "ms", f64::NAN, false),
        ("memory_mib_peak", "MiB", MEMORY_MIB_MAX, false),
    ] {
        let found = figure(name)?;
        let kept = bound.is_nan() || if at_least { found >= bound } else { found <= bound };
        let claim = match (bound.is_nan(), at_least) {
            (true, _) => String::new(),
            (false, true) => format!("at least {bound}"),
            (false, false) => format!("at most {bound}"),
        };
        let verdict = match (quick || bound.is_nan(), kept) {
            (true, _) => "",
            (false, true) => "  holds",
            (false, false) => "  MISSED",
        };
        println!("  {name:<28} {found:>12.2} {unit:<8} {claim}{verdict}");
        holds &= quick || kept;
    }
    Ok(holds)
}

/// Converts ToolHive's file to upstream's format and back: the real registry if it is available, else a generated one.
fn conversion(effort: Effort) -> Result<bool> {
    let (text, named) = match real("toolhive/registry-legacy-2026-02-18.json") {
        Some(text) => (text, "the registry of 2026-02"),
        None => {
            let mut text = Vec::new();
            registry_text(&mut text, 100)?;
            let upstream = convert(&text, Format::Upstream, &Options::default())?.text;
            (
                convert(upstream.as_bytes(), Format::Toolhive, &Options::default())?.text,
                "100 servers of our making",
            )
        }
    };
    let upstream = convert(text.as_bytes(), Format::Upstream, &Options::default())?.text;
    let rate = |bytes: usize| Claim::RateAtLeast { bytes, per_second: 50e6 };
    let title = format!("conversion of {named}, {} KB, with what must be carried", text.len() / 1_000);
    Ok(Race::new(&title)
        .with("read alone", Claim::None, || {
            let document = toolcrib_contract::json::Document::parse(
                text.as_bytes(),
                &toolcrib_contract::json::Limits::file(),
            );
            black_box(document.map(|document| document.root().len()).unwrap_or(0));
        })
        .with("toolhive → upstream", rate(text.len()), || {
            black_box(
                convert(text.as_bytes(), Format::Upstream, &Options::default())
                    .map(|made| made.text.len())
                    .unwrap_or(0),
            );
        })
        .with("upstream → toolhive", rate(upstream.len()), || {
            black_box(
                convert(upstream.as_bytes(), Format::Toolhive, &Options::default())
                    .map(|made| made.text.len())
                    .unwrap_or(0),
            );
        })
        .run(effort))
}

fn legacy(quick: bool, folder: &Path) -> Result<bool> {
    let Some(text) = real("toolhive/registry-legacy-2026-02-18.json") else {
        println!("\nSKIPPED: no ../shared/data, so the legacy registry was not imported");
        return Ok(true);
    };
    let store = Catalogue::from(Store::open(&folder.join("legacy.db"))?);
    let begun = Instant::now();
    let done = import(&store, text.into_bytes(), &import::Options::default())?;
    let took = begun.elapsed();
    let kept = took < Duration::from_secs(1);
    println!(
        "\nimport of the legacy registry: {} servers, {} tools in {took:.1?}, at most 1 s{}",
        done.added,
        done.tools,
        if quick {
            ""
        } else if kept {
            "  holds"
        } else {
            "  MISSED"
        }
    );
    Ok(quick || kept)
}

fn real(name: &str) -> Option<String> {
    std::fs::read_to_string(Path::new("../shared/data").join(name)).ok()
}

fn write_registry(path: &Path, servers: usize) -> Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    registry_text(&mut out, servers)?;
    Ok(out.flush()?)
}

fn pick<'w>(words: &[&'w str], number: usize) -> &'w str {
    words.get(number % words.len()).copied().unwrap_or_default()
}

fn registry_text(out: &mut impl std::io::Write, servers: usize) -> Result<()> {
    write!(
        out,
        r#"{{"version":"1.0.0","meta":{{"last_updated":"2026-01-01T00:00:00Z"}},"data":{{"servers":["#
    )?;
    for number in 0..servers {
        let (mut definitions, mut names) = (String::new(), String::new());
        for at in 0..TOOLS_OF_EACH {
            let seed = number.wrapping_mul(2_654_435_761).wrapping_add(at * 40_503);
            let (verb, thing, other) =
                (pick(&VERBS, seed / 7), pick(&THINGS, seed / 113), pick(&THINGS, seed / 4_001));
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(names, "{comma}\"{verb}_{thing}_{at}\"");
            let _ = write!(
                definitions,
                r#"{comma}{{"name":"{verb}_{thing}_{at}","description":"{verb} a {thing} of the {other} service number {number}, and say what became of it.","inputSchema":{{"type":"object","required":["{thing}_id"],"properties":{{"{thing}_id":{{"type":"string","description":"Which {thing}."}},"limit":{{"type":"integer","minimum":1}}}}}},"annotations":{{"readOnlyHint":{}}}}}"#,
                at % 2 == 0
            );
        }
        let comma = if number == 0 { "" } else { "," };
        write!(
            out,
            r#"{comma}{{"name":"com.example/server-{number:05}","description":"Server number {number}.","version":"1.0.0","packages":[{{"registryType":"oci","identifier":"example/s{number}:1","transport":{{"type":"stdio"}}}}],"_meta":{{"io.modelcontextprotocol.registry/publisher-provided":{{"io.github.stacklok":{{"example/s{number}:1":{{"status":"active","tools":[{names}],"tool_definitions":[{definitions}]}}}}}}}}}}"#
        )?;
    }
    Ok(write!(out, "]}}}}")?)
}

/// Body of the measured process: import, then requests to the API.
pub(crate) fn part(file: &Path, database: &Path) -> Result<()> {
    let store = Catalogue::from(Store::open(database)?);
    let begun = Instant::now();
    let done = import(&store, std::fs::read(file)?, &import::Options::default())?;
    let took = begun.elapsed().as_secs_f64();
    let api = Api::new(store, ApiOptions::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let ask = |path: &str, query: String| -> Result<(f64, Vec<u8>)> {
        let request = Request { method: "GET".into(), path: path.into(), query, ..Request::default() };
        let begun = Instant::now();
        let response = runtime.block_on(api.answer(request));
        if response.status != 200 {
            bail!("{path}: {}", response.status);
        }
        Ok((begun.elapsed().as_secs_f64() * 1e3, response.body))
    };
    let mut searches = Vec::new();
    for number in 0..200 {
        let (verb, thing, other) =
            (pick(&VERBS, number * 5), pick(&THINGS, number * 3), pick(&THINGS, number * 11 + 1));
        let query = match number % 4 {
            0 => format!("search={verb}+{thing}+{other}&limit=10"),
            1 => format!("search={verb}+{thing}&read_only=true&limit=10"),
            2 => format!("search={thing}+{other}+{}&limit=10", number * 97),
            _ => format!("search={verb}+{other}&server=server-0{}&limit=10", number % 10),
        };
        searches.push(ask("/v0.1/x/toolcrib/tools", query)?.0);
    }
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    for _ in 0..300 {
        let (took, body) = ask("/v0.1/servers", format!("limit=30{cursor}"))?;
        pages.push(took);
        let page: serde_json::Value = serde_json::from_slice(&body)?;
        cursor = page
            .pointer("/metadata/nextCursor")
            .and_then(serde_json::Value::as_str)
            .map_or_else(String::new, |next| format!("&cursor={next}"));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok());
    println!("servers={}\ntools={}", done.added, done.tools);
    #[allow(clippy::cast_precision_loss, reason = "a count of tools is small")]
    let rate = done.tools as f64 / took;
    println!("import_tools_per_second={rate}");
    for (name, times) in [("search", &mut searches), ("page", &mut pages)] {
        times.sort_by(f64::total_cmp);
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or(f64::NAN);
        println!("{name}_ms_p50={}\n{name}_ms_p95={}", at(50), at(95));
    }
    println!("memory_mib_peak={}", peak.unwrap_or(f64::NAN) / 1024.0);
    Ok(())
}
