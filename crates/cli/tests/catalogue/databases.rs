//! R6.1: the catalogue's database by path or URL: a file that survives a crash, or PostgreSQL.

use std::fmt::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use toolcrib_testkit::port;
use toolcrib_testkit::postgres::PostgresServer;

use crate::{ENTRY, Place};

fn run(url: &str, words: &[&str], more: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
    command.args(words).env("TOOLCRIB_STORE", url).env_remove("COLUMNS").envs(more.iter().copied());
    command.output().unwrap()
}

fn says(url: &str, words: &[&str], more: &[(&str, &str)]) -> String {
    let output = run(url, words, more);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{words:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// R6.1: with PostgreSQL's URL in place of a path, every verb answers as it does over SQLite.
#[test]
fn postgres_is_chosen_by_its_url() {
    let Some(server) = PostgresServer::start(&[]) else { return };
    let server = server.unwrap();
    let place = Place::new("postgres");
    let file = place.file("registry.json", ENTRY);
    let (url, path) = (server.url("postgres"), place.0.join("toolcrib.db"));
    for words in [
        &["registry", "import", &file][..],
        &["registry", "import", &file],
        &["list"],
        &["list", "--show-tools"],
        &["list", "--show-tools", "--format", "json"],
        &["show", "weather"],
        &["show", "weather/get_weather"],
        &["search", "weather"],
        &["search", "forgets", "--destructive"],
        &["validate", "weather/get_weather", "--args", r#"{"location":"Bern"}"#],
        &["types", "weather", "--lang", "ts"],
        &["registry", "remove", "names-only"],
        &["list"],
    ] {
        assert_eq!(says(&url, words, &[]), says(path.to_str().unwrap(), words, &[]), "{words:?}");
    }
}

/// R6.1: an unreachable database is reported without its password; an invalid URL is refused first.
#[test]
fn a_password_is_never_printed() {
    let nowhere = port::free().unwrap();
    for (url, says) in [
        (format!("postgres://crib:hush-hush@127.0.0.1:{nowhere}/x"), "refused"),
        ("postgres://crib:hush-hush@127.0.0.1/x?nonsense=1".to_owned(), "nonsense"),
    ] {
        let output = run(&url, &["list"], &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(says) && !said.contains("hush"), "{said}");
    }
    let help = run("postgres://crib:hush-hush@127.0.0.1/x", &["list", "--help"], &[]);
    assert!(!String::from_utf8_lossy(&help.stdout).contains("hush"));
}

/// R6.1: over TLS the server's certificate is verified: an untrusted one is refused, a trusted one is accepted.
#[test]
fn a_certificate_is_checked() {
    let place = Place::new("postgres-tls");
    let (key, certificate) = (place.0.join("key.pem"), place.0.join("certificate.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no openssl, so no certificate to refuse");
        return;
    }
    let port = port::free().unwrap().to_string();
    let contents = [&key, &certificate].map(|path| std::fs::read_to_string(path).unwrap());
    let settings = [("listen_addresses", "localhost"), ("port", &*port)];
    let Some(server) = PostgresServer::start_encrypted(&settings, &contents[0], &contents[1]) else { return };
    let _server = server.unwrap();
    let url = format!("postgres://toolcrib@localhost:{port}/postgres?sslmode=require");
    let refused = run(&url, &["list"], &[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.to_lowercase().contains("certificate"), "{said}");
    let trusted = certificate.to_str().unwrap();
    let listed = says(&url, &["list"], &[("SSL_CERT_FILE", trusted), ("SSL_CERT_DIR", "")]);
    assert!(listed.starts_with("NAME"), "{listed}");
}

/// R6.1: an import that is killed leaves all of its file or nothing, and the next import succeeds.
#[test]
fn a_killed_import_leaves_all_or_nothing() {
    const SERVERS: usize = 1_500;
    let place = Place::new("killed");
    let mut servers = String::new();
    for number in 0..SERVERS {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(
            servers,
            r#"{comma}{{"name":"com.example/s{number:04}","description":"{}","version":"1.0.0","remotes":[{{"type":"sse","url":"https://a.example/{number}"}}],"_meta":{{"io.modelcontextprotocol.registry/publisher-provided":{{"io.github.stacklok":{{"https://a.example/{number}":{{"status":"active","tools":["one","two","three"]}}}}}}}}}}"#,
            "words and more words ".repeat(30)
        );
    }
    let file = place.file("many.json", &format!(r#"{{"version":"1.0.0","meta":{{"last_updated":"2026-01-01T00:00:00Z"}},"data":{{"servers":[{servers}]}}}}"#));
    let path = place.0.join("toolcrib.db");
    let (mut killed, mut wait) = (0, Duration::from_millis(40));
    loop {
        let mut import = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(["registry", "import", &file, "--store", path.to_str().unwrap()])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::park_timeout(wait);
        let done = import.try_wait().unwrap();
        let _ = import.kill();
        let _ = import.wait();
        let listed = place.says(&["list"], 0).lines().count() - 1;
        assert!(listed == 0 || listed == SERVERS, "{listed} servers after {wait:?}");
        if done.is_some() {
            assert_eq!(listed, SERVERS);
            break;
        }
        killed += 1;
        wait *= 2;
    }
    assert!(killed > 0, "no import was killed");
    assert!(place.says(&["registry", "import", &file], 0).contains(&format!("{SERVERS} unchanged")));
}
