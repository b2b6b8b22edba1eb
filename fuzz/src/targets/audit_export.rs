//! Fuzz target for an exported audit log that may have been modified.
//!
//! Property: a log verifies only if its records are those that were written, all of them up to a signed end.

use std::sync::LazyLock;
use std::time::Duration;

use toolcrib_engine::safety::audit::{Event, Kept, Kind, Purpose, Signer, genesis, link};
use toolcrib_engine::safety::export::{Reading, line, signed, title};

use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "audit_export",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 64 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 32, constant: 256 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "{\"seq\":1,\"hash\":\"",
    "\",\"record\":{",
    "{\"checkpoint\":{",
    "{\"head\":{",
    "\"signature\":\"",
    "\"at_ms\":7",
    "\"kind\":\"call\"",
    "\n",
    " ",
    "}",
    "00",
];

const RECORDS: u64 = 6;

struct Log {
    records: Vec<String>,
    heads: Vec<String>,
    checkpoints: Vec<String>,
}

/// A log with a signed end after each record, so that mutation can combine ends and records.
static LOG: LazyLock<Log> = LazyLock::new(|| {
    let signer = signer();
    let mut previous = genesis(&signer.public());
    let mut log = Log { records: Vec::new(), heads: Vec::new(), checkpoints: Vec::new() };
    for seq in 1..=RECORDS {
        let kind = if seq % 2 == 0 { Kind::Call } else { Kind::Refused };
        let mut event = Event::new(seq * 7, kind);
        event.caller = Some("a\"b\\\u{e9}".to_owned());
        event.note = Some("\",\"record\":".to_owned());
        let body = event.body();
        previous = link(&previous, seq, &body);
        log.records.push(line(&Kept { seq, body, link: previous }));
        log.heads.push(signed("head", &signer.sign(Purpose::Head, seq, &previous)));
        log.checkpoints.push(signed("checkpoint", &signer.sign(Purpose::Checkpoint, seq, &previous)));
    }
    log
});

fn signer() -> Signer {
    Signer::new(&[3; 32])
}

fn export(count: usize) -> String {
    let title = title(signer().public(), None);
    let records = std::iter::once(title).chain(LOG.records.iter().take(count).cloned());
    records.chain(LOG.heads.get(count - 1).cloned()).map(|line| line + "\n").collect()
}

fn seeds() -> Vec<Vec<u8>> {
    let title = title(signer().public(), None);
    let with_checkpoint = [Some(&title), LOG.records.first(), LOG.checkpoints.first(), LOG.heads.first()];
    let with_checkpoint: String =
        with_checkpoint.into_iter().flatten().map(|line| format!("{line}\n")).collect();
    let cut = export(3).lines().take(4).collect::<Vec<_>>().join("\n");
    let swapped = export(4).lines().rev().collect::<Vec<_>>().join("\n");
    [export(1), export(2), export(6), with_checkpoint, cut, swapped].map(String::into_bytes).to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    vec![
        export(1).lines().next().unwrap_or_default().repeat(200).into_bytes(),
        "\n".repeat(60_000).into_bytes(),
        "{\"head\":".repeat(8_000).into_bytes(),
        "{\"seq\":1,\"hash\":\"".repeat(3_500).into_bytes(),
    ]
}

fn run(input: &[u8]) -> Shape {
    let lines: Vec<&[u8]> = match input.strip_suffix(b"\n").unwrap_or(input) {
        [] => Vec::new(),
        text => text.split(|byte| *byte == b'\n').collect(),
    };
    let mut reading = Reading::new(signer().public());
    let verified = lines.iter().try_for_each(|line| reading.line(line)).and_then(|()| reading.end());
    match verified {
        Ok(count) => {
            let records = lines.iter().filter(|line| line.starts_with(b"{\"seq\":"));
            let genuine =
                LOG.records.iter().map(String::as_bytes).take(usize::try_from(count).unwrap_or(usize::MAX));
            assert!(records.copied().eq(genuine), "a changed log verifies as {count} records");
            Shape::of(&["whole", &count.to_string(), &lines.len().min(9).to_string()])
        }
        Err(broken) => Shape::of(&["broken", &broken.to_string(), &lines.len().min(9).to_string()]),
    }
}
