//! The printed table, in Markdown, so that it can be copied into a document.

use crate::row::Row;

pub(crate) const HEAD: &str = "\
| case | CPU ms | memory MiB | neighbour quiet p50 / p99 µs | during p50 / p99 µs | p99 ratio | alive | verdict |
| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |";

pub(crate) fn line(row: &Row, is_small: bool) -> String {
    let cpu = match (row.single_cpu_ms, row.storm_cpu_ms()) {
        (Some(single), _) => format!("{single:.1}"),
        (None, Some(each)) => format!("{each:.2} each"),
        (None, None) => "–".to_owned(),
    };
    let (quiet, during, ratio) = match row.pooled() {
        Some(turn) => {
            let pair = |latencies: &crate::neighbour::Latencies| {
                format!("{:.0} / {:.0}", latencies.quantile(0.5) * 1e6, latencies.quantile(0.99) * 1e6)
            };
            (pair(&turn.quiet), pair(&turn.during), format!("{:.2}", turn.ratio()))
        }
        None => ("–".to_owned(), "–".to_owned(), "–".to_owned()),
    };
    let alive = match (&row.death, row.is_alive) {
        (Some(_), _) => "died",
        (None, true) => "yes",
        (None, false) => "hangs",
    };
    let misses = row.misses(is_small);
    let verdict =
        if misses.is_empty() { "held".to_owned() } else { format!("MISSED: {}", misses.join(", ")) };
    format!(
        "| {}/{} | {cpu} | {:.1} | {quiet} | {during} | {ratio} | {alive} | {verdict} |",
        row.family, row.name, row.memory_mib
    )
}
