//! `call` passes the gate, the emergency stop and the audit of its data folder (R12.3).

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use toolcrib_testkit::process::Process;

use crate::home::{Home, Ran};
use crate::terminal::{self, Said};

const TRANSFER: [&str; 5] = ["call", "desk/transfer_cash", "from=main", "to=pro", "amount=10"];

/// Concatenates two lists of arguments.
fn with<'w>(words: &[&'w str], more: &[&'w str]) -> Vec<&'w str> {
    [words, more].concat()
}

fn typed(home: &Home, words: &[&str], text: &str) -> Said {
    terminal::run(&mut home.command(words), Some(text))
}

/// Returns the audit records of a home, which must verify.
fn records(home: &Home, more: &[&str]) -> Vec<Value> {
    let verified = home.run(&with(&["audit", "verify"], more));
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
    let listed = home.run(&with(&["audit", "list", "--last", "1000", "--format", "json"], more));
    let record = |line: &str| serde_json::from_str::<Value>(line).unwrap()["record"].take();
    listed.out.lines().map(record).collect()
}

/// Returns kind, tool, and outcome or note of each record about a tool.
fn told(records: &[Value]) -> Vec<String> {
    let word = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let tools = records.iter().filter(|record| record["tool"].is_string());
    tools
        .map(|record| {
            let end = [word(record, "outcome"), word(record, "note")].concat();
            format!("{} {} {end}", word(record, "kind"), word(record, "tool")).trim_end().to_owned()
        })
        .collect()
}

/// R12.3, R12.5: a call during an emergency stop is refused with the reason and recorded; afterwards it runs.
#[test]
fn a_call_during_a_stop_is_refused_and_recorded() {
    let home = Home::new("gate-stop");
    assert_eq!(home.run(&["stop", "it smells of smoke"]).code, 0);
    let quote = ["call", "desk/get_quote", "symbol=ACME"];
    let refused = home.run(&quote);
    assert_eq!(refused.code, 1, "{}{}", refused.out, refused.err);
    assert!(
        refused.out.contains("it smells of smoke") && refused.out.contains("`toolcrib unlock`"),
        "{}",
        refused.out
    );
    let yes = home.run(&with(&TRANSFER, &["--yes"]));
    assert_eq!((yes.code, yes.out.contains("it smells of smoke")), (1, true), "{}{}", yes.out, yes.err);
    assert_eq!(home.run(&["unlock"]).code, 0);
    assert_eq!(home.run(&quote).code, 0);
    let told = told(&records(&home, &[]));
    let about = |line: &str| told.iter().filter(|told| told.as_str() == line).count();
    assert_eq!(about("refused get_quote stopped"), 1, "{told:?}");
    assert_eq!(about("refused transfer_cash stopped"), 1, "{told:?}");
    assert_eq!(about("call get_quote done"), 1, "{told:?}");
    assert!(!told.iter().any(|told| told.starts_with("intent")), "{told:?}");
}

/// R12.3: a confirmation at the terminal satisfies every policy: one question, one execution, nothing in the queue, and
/// the audit names the person.
#[test]
fn a_confirmation_at_the_terminal_satisfies_every_demand() {
    for demand in ["unaware", "always", "human"] {
        let home = Home::new(&format!("gate-{demand}"));
        home.write("policy.toml", &format!("[safety]\ndestructive = \"{demand}\"\n"));
        let words = with(&TRANSFER, &["--policy", "policy.toml"]);
        let declined = typed(&home, &words, "n\n");
        assert_eq!((declined.code, declined.out.as_str()), (0, "nothing was called\n"), "{}", declined.shown);
        let said = typed(&home, &words, "y\n");
        assert_eq!(said.code, 0, "{demand}: {}{}", said.out, said.shown);
        assert!(said.out.contains("\"amount\"") && !said.out.contains("waits for"), "{}", said.out);
        assert_eq!(said.shown.matches("[y/N]").count(), 1, "{}", said.shown);
        assert_eq!(home.run(&["approve", "list"]).out.trim(), "nothing waits");
        let records = records(&home, &[]);
        let mut told = told(&records);
        // Records that are collected in the background may be written after the intent.
        told.sort();
        assert_eq!(
            told,
            [
                "asked transfer_cash elicitation",
                "asked transfer_cash elicitation",
                "intent transfer_cash",
                "outcome transfer_cash done",
                "refused transfer_cash declined",
            ],
            "{demand}"
        );
        let by = |kind: &str| records.iter().find(|record| record["kind"] == kind).unwrap()["by"].clone();
        for kind in ["refused", "intent", "outcome"] {
            assert!(
                by(kind).as_str().is_some_and(|by| by.starts_with("command line")),
                "{kind}: {}",
                by(kind)
            );
        }
        let rule = records.iter().find(|record| record["kind"] == "intent").unwrap()["rule"].clone();
        assert_eq!(rule, format!("{demand} for destructive"));
    }
}

/// R12.3: end of input is no confirmation.
#[test]
fn a_closed_terminal_confirms_nothing() {
    let home = Home::new("gate-eof");
    let said = typed(&home, &TRANSFER, "\u{4}");
    assert_eq!((said.code, said.out.as_str()), (0, "nothing was called\n"), "{}", said.shown);
    assert!(!told(&records(&home, &[])).iter().any(|told| told.starts_with("intent")));
}

/// Returns the command between backticks that begins with `begins`.
fn command(text: &str, begins: &str) -> String {
    let found = text.split('`').skip(1).step_by(2).find(|command| command.starts_with(begins));
    found.unwrap_or_else(|| panic!("no `{begins}…` in {text}")).to_owned()
}

fn shell(home: &Home, line: &str) -> Ran {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_toolcrib")).parent().unwrap().to_owned();
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binary).chain(std::env::split_paths(&machine))).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir("/").env("HOME", &home.folder).env("PATH", path);
    command.env_remove("TOOLCRIB_DATA").env_remove("XDG_DATA_HOME").output().unwrap().into()
}

/// R12.3: `--yes` suffices unless a person is demanded. Then the call is refused with instructions, and following them
/// lets the call run.
#[test]
fn agreeing_beforehand_is_no_person() {
    let home = Home::new("gate-yes");
    home.write("always.toml", "[safety]\ndestructive = \"always\"\n");
    home.write("human.toml", "[safety]\ndestructive = \"human\"\n");
    let always = home.run(&with(&TRANSFER, &["--yes", "--policy", "always.toml", "--data", "a b"]));
    assert_eq!(always.code, 0, "{}{}", always.out, always.err);
    let told_always = told(&records(&home, &["--data", "a b"]));
    assert_eq!(told_always, ["token transfer_cash", "intent transfer_cash", "outcome transfer_cash done"]);
    let human = with(&TRANSFER, &["--yes", "--policy", "human.toml", "--data", "a b"]);
    let refused = home.run(&human);
    assert_eq!(refused.code, 1, "{}{}", refused.out, refused.err);
    assert!(
        refused.err.contains("--yes is no person") && refused.err.contains("at a terminal"),
        "{}",
        refused.err
    );
    let allow = command(&refused.err, "toolcrib approve allow ");
    assert!(refused.out.contains(&allow), "{}", refused.out);
    let allowed = shell(&home, &allow);
    assert_eq!(allowed.code, 0, "{allow}: {}", allowed.err);
    let token = refused.err.split("confirmation_token=").nth(1).unwrap().split_whitespace().next().unwrap();
    let again = home.run(&with(&human, &[&format!("confirmation_token={token}")]));
    assert_eq!((again.code, again.out.contains("\"amount\"")), (0, true), "{}{}", again.out, again.err);
    let nobody = home.run(&with(&TRANSFER, &["--policy", "human.toml", "--data", "a b"]));
    assert_eq!((nobody.code, nobody.err.contains("demands a person")), (2, true), "{}", nobody.err);
}

/// R12.3: the section `[safety]` of the file that names a server applies to its tools, by their served names;
/// `--policy` replaces it.
#[test]
fn the_section_of_the_configuration_holds_for_calls() {
    let home = Home::new("gate-section");
    home.write("asking.sh", include_str!("asking.sh"));
    let rule = "[[safety.rules]]\ntools = [\"asking__greet\"]\ndemand = \"human\"\n";
    let server = "[servers.asking]\ncommand = \"sh\"\nargs = [\"asking.sh\"]\n";
    home.write("toolcrib.toml", &format!("{server}{rule}"));
    let refused = home.run(&["call", "asking/greet", "--yes"]);
    assert_eq!(
        (refused.code, refused.out.contains("asking__greet waits for")),
        (1, true),
        "{}{}",
        refused.out,
        refused.err
    );
    assert!(!home.path("executed").exists());
    home.write("never.toml", "[safety]\ndestructive = \"never\"\n");
    let runs = home.run(&["call", "asking/greet", "--policy", "never.toml"]);
    assert!(home.path("executed").exists(), "{}{}", runs.out, runs.err);
    let near = home.run(&["call", "asking/gret"]);
    assert!(near.err.contains("did you mean greet?"), "{}", near.err);
}

/// R12.3: a server's question during a call is answered at the terminal, after the gate's own question.
#[test]
fn a_servers_question_is_answered_at_the_terminal() {
    let home = Home::new("gate-asking");
    home.write("asking.sh", include_str!("asking.sh"));
    home.write("toolcrib.toml", "[servers.asking]\ncommand = \"sh\"\nargs = [\"asking.sh\"]\n");
    let greeted = typed(&home, &["call", "asking/greet"], "Ada\ny\n");
    assert_eq!((greeted.code, greeted.out.trim()), (0, "accept Ada"), "{}", greeted.shown);
    assert!(greeted.shown.contains("Who is it?") && greeted.shown.contains("Name: "), "{}", greeted.shown);
    let declined = typed(&home, &["call", "asking/greet"], "Ada\nn\n");
    assert_eq!((declined.code, declined.out.trim()), (0, "decline"), "{}", declined.shown);
    let wiped = typed(&home, &["call", "asking/wipe"], "y\nAda\ny\n");
    assert_eq!((wiped.code, wiped.out.trim()), (0, "accept Ada"), "{}", wiped.shown);
    assert_eq!(home.read("executed"), "xxx", "once each");
    let alone = home.run(&["call", "asking/greet"]);
    assert_eq!((alone.code, alone.out.trim()), (0, "decline"), "{}", alone.err);
    assert!(alone.err.contains("there is no terminal to answer at"), "{}", alone.err);
    let told = told(&records(&home, &[]));
    assert_eq!(told.iter().filter(|told| *told == "outcome asking__wipe done").count(), 1, "{told:?}");
}

/// R12.3: for a Toolcrib gateway that is called by its URL, the question is asked at the terminal, and the call runs
/// once.
#[test]
fn a_gateway_behind_the_url_asks_at_the_terminal() {
    let (home, own) = (Home::new("gate-url-server"), Home::new("gate-url-client"));
    let mut command = home.command(&["serve", "--demo", "workshop", "--listen", "127.0.0.1:0"]);
    let mut process = Process::start(&mut command).unwrap();
    let url = |line: &str| line.strip_prefix("toolcrib serves at ").map(str::to_owned);
    let url = process.wait_for_line("saying where it serves", Duration::from_secs(20), url).unwrap();
    let tool = format!("{url}/launch_confetti");
    let words = ["call", &tool, "count=3"];
    // One answer: the gateway's gate is told that a person confirmed the call here.
    let said = typed(&own, &words, "y\n");
    assert_eq!((said.code, said.out.contains("\"launched\": 3")), (0, true), "{}{}", said.out, said.shown);
    for home in [&home, &own] {
        let told = told(&records(home, &[]));
        assert_eq!(told.iter().filter(|told| *told == "outcome launch_confetti done").count(), 1, "{told:?}");
    }
    let scripted = own.run(&with(&words, &["--yes"]));
    assert_eq!(scripted.code, 1, "{}{}", scripted.out, scripted.err);
    // A token does not count at the gateway's gate, unless that one trusts this data folder's key.
    assert!(
        scripted.out.contains("Not run") && scripted.out.contains("trusted_gateways"),
        "{}",
        scripted.out
    );
}

/// R12.3: a missing data folder is created; if that fails, the call fails before it is sent.
#[test]
fn a_call_makes_the_data_folder_that_it_is_recorded_in() {
    let home = Home::new("gate-folder");
    let quote = ["call", "desk/get_quote", "symbol=ACME"];
    assert_eq!(home.run(&with(&quote, &["--data", "new/folder"])).code, 0);
    assert_eq!(told(&records(&home, &["--data", "new/folder"])), ["call get_quote done"]);
    home.write("file", "");
    let failed = home.run(&with(&quote, &["--data", "file/folder"]));
    assert_eq!((failed.code, failed.err.contains("--data")), (3, true), "{}", failed.err);
}

/// R4.1: a refusal that begins with a tool's name keeps the name's spelling.
#[test]
fn a_tools_name_gets_no_capital() {
    let home = Home::new("gate-capital");
    let wish = ["call", "desk/get_confirmation_token", "action=get_quote", "params_summary=looks"];
    let refused = home.run(&wish);
    assert!(refused.out.starts_with("get_quote is not a destructive tool"), "{}{}", refused.out, refused.err);
}
