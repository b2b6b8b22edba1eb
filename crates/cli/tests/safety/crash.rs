//! Killed between the burning of a token and the answer: the token never passes again, and the call is *unknown*
//! (R4.8).

use std::time::Duration;

use serde_json::json;
use toolcrib_store::rusqlite::Connection;

use crate::running::{Client, Folder, PLENTY, Serving, is_refused, pause, text};
use crate::size;

const TOOL: &str = "transfer_gold";

/// Returns the numbers of open intents and burnt tokens in the database.
fn left(folder: &Folder) -> (u64, u64) {
    let db = Connection::open(folder.path().join("toolcrib.db")).unwrap();
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs();
    (
        count("SELECT count(*) FROM intents WHERE outcome = 'open'"),
        count("SELECT count(*) FROM tokens WHERE state = 'used'"),
    )
}

/// R4.8, R4.3: killed during calls: no burnt token passes again, every open intent becomes *unknown* once.
#[test]
fn a_killed_process_never_lets_a_burnt_token_pass_again() {
    let mut killed_in_mid_call = 0;
    for round in 0..size(4, 40) {
        let folder = Folder::new();
        let mut serving = Serving::policy(&folder, PLENTY);
        let client = serving.client();
        let arguments = json!({"from": "a", "to": "b", "amount": round});
        let tokens: Vec<String> = (0..8).map(|_| client.token(TOOL, &arguments)).collect();
        let seen: Vec<bool> = std::thread::scope(|scope| {
            let calls: Vec<_> = tokens
                .iter()
                .map(|token| {
                    let (client, arguments) = (client.clone(), &arguments);
                    scope.spawn(move || {
                        let mut shown = arguments.clone();
                        shown["confirmation_token"] = token.as_str().into();
                        let request = client.request("tools/call", json!({"name": TOOL, "arguments": shown}));
                        // The connection may close with the server.
                        let answer =
                            request.send(client.address).ok().and_then(|response| response.json().ok());
                        answer.is_some_and(|answer| {
                            answer["result"]["structuredContent"]["transferred"] == round
                        })
                    })
                })
                .collect();
            // A transfer takes 20 ms, so the kill happens during it.
            pause(Duration::from_millis(4 + 3 * (round as u64 % 10)));
            serving.process.kill();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        let (open, used) = left(&folder);
        killed_in_mid_call += usize::from(open > 0);
        let serving = Serving::policy(&folder, PLENTY);
        assert_eq!(left(&folder), (0, used), "every open intent is settled at the start");
        let client = Client { address: serving.address, ..client };
        let mut passed_again = 0;
        for (token, seen) in tokens.iter().zip(&seen) {
            let result = client.confirmed(TOOL, &arguments, token);
            let passed = result["structuredContent"]["transferred"] == round;
            assert!(passed != is_refused(&result), "{result}");
            assert!(!(passed && *seen), "a token passed twice");
            passed_again += u64::from(passed);
        }
        assert_eq!(passed_again, tokens.len() as u64 - used, "exactly those pass that were not burnt");
        let unknown = folder.run(&["audit", "unknown"]);
        let lines = String::from_utf8(unknown.stdout)
            .unwrap()
            .lines()
            .filter(|line| line.starts_with("int_"))
            .count();
        assert_eq!(lines as u64, open);
        let told = serving.process.said().matches("nobody knows how transfer_gold ended").count();
        assert_eq!(told as u64, open, "{}", serving.process.said());
        assert_eq!(folder.run(&["audit", "verify"]).status.code(), Some(0));
    }
    assert!(killed_in_mid_call > 0, "no kill fell between burn and reply; the test has proved nothing");
}

/// R4.8: a destructive call does not run when its intent cannot be written.
#[test]
fn without_a_journal_a_destructive_call_does_not_run() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let client = serving.client();
    let arguments = json!({"from": "a", "to": "b", "amount": 1});
    let token = client.token(TOOL, &arguments);
    let db = Connection::open(folder.path().join("toolcrib.db")).unwrap();
    db.execute_batch("ALTER TABLE intents RENAME TO intents_away").unwrap();
    let result = client.confirmed(TOOL, &arguments, &token);
    assert!(is_refused(&result) && text(&result).contains("journal"), "{result}");
    db.execute_batch("ALTER TABLE intents_away RENAME TO intents").unwrap();
    let result = client.confirmed(TOOL, &arguments, &token);
    assert_eq!(result["structuredContent"]["transferred"], 1, "nothing was burnt: {result}");
}
