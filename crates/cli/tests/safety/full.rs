//! A full disk loses nothing silently (issue 21): a gateway whose data folder is a small file system that is filled and
//! emptied. Runs only if the tests may mount.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_testkit::http::Request;
use toolcrib_testkit::process::Process;

use crate::running::{Client, Folder, PROGRAM, is_refused, text, until};

const READS: &str = "generate_fantasy_character";
const WRITES: &str = "launch_confetti";
const DESTROYS: &str = "transfer_gold";
const SOON: Duration = Duration::from_secs(20);

/// `launch_confetti` changes something and is not destructive; the loop guard is off.
const POLICY: &str = "[safety]\ntoken_ms = 3600000\nrepeats_max = 0\nrepeats_read_only_max = 0\n\
                      [[safety.rules]]\ntools = [\"launch_confetti\"]\ndemand = \"never\"\ndestructive = false\n\
                      read_only = false\n";

/// Gateway in its own mount namespace.
struct Bed {
    process: Process,
    address: SocketAddr,
    /// Data folder as the gateway sees it.
    data: PathBuf,
    folder: Folder,
}

impl Bed {
    /// Returns `None` if this user may not mount.
    fn new() -> Option<Self> {
        let probe = Command::new("unshare")
            .args(["-m", "--propagation", "private", "sh", "-c", "mount -t tmpfs none /mnt"])
            .output();
        if !probe.is_ok_and(|probe| probe.status.success()) {
            eprintln!("skipped: this user may not mount");
            return None;
        }
        let folder = Folder::new();
        let (data, behind) = (folder.path().join("data"), folder.path().join("behind"));
        std::fs::create_dir_all(&data).unwrap();
        let policy = folder.policy(POLICY);
        let free = folder.path().join("free.toml");
        std::fs::write(
            &free,
            "[safety]\ndestructive = \"never\"\nrepeats_max = 0\nrepeats_read_only_max = 0\n",
        )
        .unwrap();
        let script = "mount -t tmpfs -o size=8m none \"$1\" || exit 99; data=$1; policy=$2; program=$3; behind=$4; free=$5; \
                      exec \"$program\" serve --listen 127.0.0.1:0 --data \"$data\" --policy \"$policy\" -- \
                      \"$program\" serve --stdio --demo workshop --data \"$behind\" --policy \"$free\"";
        let mut command = Command::new("unshare");
        command.args(["-m", "--propagation", "private", "sh", "-c", script, "sh"]);
        command.arg(&data).arg(&policy).arg(PROGRAM).arg(&behind).arg(&free);
        let mut process = Process::start(&mut command).unwrap();
        let address = process
            .wait_for_line("saying where it serves", SOON, |line| {
                line.strip_prefix("toolcrib serves at http://")?.strip_suffix("/mcp")?.parse().ok()
            })
            .unwrap();
        Some(Self { process, address, data, folder })
    }

    fn client(&self) -> Client {
        Client { address: self.address, capabilities: json!({}), secret: None, name: None, source: None }
    }

    fn get(&self, path: &str) -> String {
        Request::get(path).send(self.address).unwrap().text().to_owned()
    }

    fn ready(&self) -> Value {
        serde_json::from_str(&self.get("/readyz")).unwrap()
    }

    fn ballast(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{}", self.process.id(), self.data.join("ballast").display()))
    }

    /// Fills the file system to its last byte.
    fn fill(&self) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(self.ballast()).unwrap();
        for size in [65_536, 4_096, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    fn empty(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }

    /// Runs a verb on the data folder, in the gateway's mount namespace.
    fn run(&self, words: &[&str]) -> Output {
        Command::new("nsenter")
            .args(["-m", "-t", &self.process.id().to_string(), PROGRAM])
            .args(words)
            .arg("--data")
            .arg(&self.data)
            .output()
            .unwrap()
    }

    fn does(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// R12.1, R4.8: on a full disk a changing call does not run; a read-only one runs, and its record is written once there
/// is space; `/readyz`, `/metrics` and the log report it; the gateway recovers by itself.
#[test]
fn a_full_disk_loses_nothing_quietly_and_everything_goes_on_when_there_is_space() {
    let Some(bed) = Bed::new() else { return };
    let client = bed.client();
    let gold = json!({"from": "a", "to": "b", "amount": 1});
    let token = client.token(DESTROYS, &gold);
    let ran = |result: &Value| result["isError"].is_null();
    assert!(ran(&client.call(READS, json!({}))) && ran(&client.call(WRITES, json!({"count": 1}))));
    assert_eq!(bed.ready()["audit"], "unbroken");
    bed.fill();
    let mut reads = 1;
    until("it is told that nothing can be written", || {
        assert!(ran(&client.call(READS, json!({}))), "reading goes on");
        bed.ready()["audit"] == "unwritable"
    });
    let refused = client.call(WRITES, json!({"count": 1}));
    assert!(is_refused(&refused) && text(&refused).contains("the audit cannot be written"), "{refused}");
    let refused = client.confirmed(DESTROYS, &gold, &token);
    assert!(is_refused(&refused) && text(&refused).contains("the journal cannot be written"), "{refused}");
    for _ in 0..20 {
        assert!(ran(&client.call(READS, json!({}))));
        reads += 1;
    }
    let metrics = bed.get("/metrics");
    assert!(
        metrics.contains("toolcrib_audit_unwritable 1") && metrics.contains("toolcrib_audit_lost_total 0"),
        "{metrics}"
    );
    assert!(bed.process.said().contains("the audit cannot be written"), "{}", bed.process.said());

    // Another process cannot set a stop now, and says so.
    let stop = bed.run(&["stop", "fire"]);
    assert!(!stop.status.success());
    let said = String::from_utf8(stop.stderr).unwrap();
    assert!(said.contains("the stop is NOT in force"), "{said}");
    assert!(ran(&client.call(READS, json!({}))), "and that is so");
    reads += 1;

    bed.empty();
    until("records are written again", || bed.ready()["audit"] == "unbroken");
    assert!(ran(&client.call(WRITES, json!({"count": 1}))));
    let result = client.confirmed(DESTROYS, &gold, &token);
    assert!(ran(&result), "the token was not burnt: {result}");
    until("every record is there", || {
        let listed = bed.does(&["audit", "list", "--last", "100000"]);
        listed.lines().filter(|line| line.contains("kind=call") && line.contains(READS)).count() >= reads
    });
    assert_eq!(bed.ready()["audit_lost"], 0);
    bed.does(&["audit", "verify"]);
    bed.does(&["stop", "a drill"]);
    until("the stop holds", || is_refused(&client.call(READS, json!({}))));
}

/// R4.7: a stop requested from the gateway on a full disk is in force at once, and is stored once there is space.
#[test]
fn a_stop_on_a_full_disk_is_in_force_and_remembered_later() {
    let Some(bed) = Bed::new() else { return };
    let client = bed.client();
    assert!(client.call(READS, json!({}))["isError"].is_null());
    bed.fill();
    until("it is told that nothing can be written", || {
        client.call(READS, json!({}));
        bed.ready()["audit"] == "unwritable"
    });
    let stopped = client.call("emergency_stop", json!({"reason": "smoke"}));
    assert_eq!(stopped["structuredContent"]["stopped"], true, "{stopped}");
    assert!(text(&stopped).contains("other processes of the data folder are NOT stopped"), "{stopped}");
    assert!(is_refused(&client.call(READS, json!({}))), "in force where it was asked for");
    bed.empty();
    until("the stop is remembered", || {
        bed.does(&["audit", "list"]).lines().any(|line| line.contains("kind=stop") && line.contains("smoke"))
    });
    assert!(is_refused(&client.call(READS, json!({}))));
    bed.does(&["unlock"]);
    until("it is lifted", || client.call(READS, json!({}))["isError"].is_null());
    bed.does(&["audit", "verify"]);
    assert!(bed.folder.path().exists());
}
