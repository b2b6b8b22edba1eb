//! Upstream servers behind common front ends: redirects, compression, filters, TLS, proxies, sockets.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use toolcrib_testkit::deps::{Deps, DepsError, workspace_root};
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

use super::running::{Gateway, own_data, until};

/// Server of the Python SDK behind one kind of front end.
struct Front {
    _process: Process,
    port: u16,
}

impl Front {
    fn start(front: &str, more: &[&str]) -> Self {
        let port = port::free().unwrap();
        let _process = run(front, &port.to_string(), more);
        until("listening", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { _process, port }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

fn run(front: &str, place: &str, more: &[&str]) -> Process {
    let python = Deps::of_this_workspace().python().unwrap_or_else(|error| panic!("{error}"));
    let script = workspace_root().join("tests/foreign/python/front.py");
    Process::start(Command::new(python).arg(script).args([front, place]).args(more)).unwrap()
}

/// Starts a program of the Python environment and waits until it listens at a port.
fn python(python: Result<PathBuf, DepsError>, words: impl FnOnce(u16) -> Vec<String>) -> (Process, u16) {
    let (python, port) = (python.unwrap_or_else(|error| panic!("{error}")), port::free().unwrap());
    let process = Process::start(Command::new(python).args(words(port))).unwrap();
    until("listening", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    (process, port)
}

/// Returns an empty folder for this test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reach-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Creates a self-signed certificate for `server.example`, 127.0.0.1 and 0.0.0.0. Returns its path and the key's path.
fn certificate(folder: &Path) -> (String, String) {
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=server.example"])
        .args(["-addext", "subjectAltName=DNS:server.example,IP:127.0.0.1,IP:0.0.0.0"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&cert)
        .output()
        .unwrap_or_else(|error| panic!("openssl: {error}"));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (cert.display().to_string(), key.display().to_string())
}

/// Starts a gateway on a file with one server with these settings.
fn gateway(folder: &Path, settings: &str, environment: &[(&str, &str)]) -> Gateway {
    let file = folder.join("toolcrib.toml");
    std::fs::write(&file, format!("prefix = \"never\"\n[servers.front]\n{settings}\n")).unwrap();
    Gateway::start_in(own_data(), &["--config", file.to_str().unwrap()], environment)
}

fn adds(gateway: &Gateway) {
    let answer = gateway.ask("tools/call", &json!({"name": "add", "arguments": {"a": 1, "b": 2}}));
    let servers = gateway.get("/readyz").1;
    assert_eq!(answer["result"]["structuredContent"], json!({"sum": 3}), "{answer} {servers}");
}

/// R14.1: servers that the SDK's clients reach are reached: 307 and 308 within the origin, a filter that requires a
/// User-Agent, responses that are always compressed.
#[test]
fn servers_behind_redirects_filters_and_compression_are_reached() {
    for front in ["mounted", "moved", "user-agent", "gzip", "deflate", "br"] {
        let front = Front::start(front, &[]);
        let gateway = Gateway::start(&[&front.url()]);
        adds(&gateway);
        adds(&gateway);
    }
}

/// R14.1: a stream of events of a legacy session that is open and compressed with brotli keeps no call waiting.
#[test]
fn calls_are_answered_beside_an_open_brotli_stream() {
    let folder = folder("brotli");
    let front = Front::start("br", &[]);
    let gateway = gateway(&folder, &format!("revision = \"2025-06-18\"\nurl = \"{}\"", front.url()), &[]);
    (0..5).for_each(|_| adds(&gateway));
}

/// R14.1: a server on FastMCP.
#[test]
fn a_server_on_fastmcp_is_reached() {
    let script = workspace_root().join("tests/foreign/python/fastmcp_front.py").display().to_string();
    let interpreter = Deps::of_this_workspace().fastmcp_python();
    let (_server, port) = python(interpreter, |port| vec![script, port.to_string()]);
    let gateway = Gateway::start(&[&format!("http://127.0.0.1:{port}/mcp")]);
    adds(&gateway);
    adds(&gateway);
}

/// R14.1: a page with HTTP 403, as firewalls send it, is not told as a request for authentication.
#[test]
fn a_page_of_a_filter_is_no_request_for_authentication() {
    let front = Front::start("filter", &[]);
    let (_, ready) = Gateway::start(&[&front.url()]).get("/readyz");
    assert!(ready.contains("HTTP 403 and a page for people"), "{ready}");
    assert!(!ready.contains("asks for authentication"), "{ready}");
}

/// R14.1: a redirect to another origin is named and not followed, and its query is not shown.
#[test]
fn a_redirect_to_another_host_is_named_and_not_followed() {
    let front = Front::start("elsewhere", &[]);
    let gateway = Gateway::start(&[&front.url()]);
    let (_, ready) = gateway.get("/readyz");
    assert!(ready.contains("HTTP 307, a redirect to http://192.0.2.1/mcp;"), "{ready}");
    assert!(!ready.contains("secret"), "{ready}");
}

/// R14.1: a redirect loop ends at `UPSTREAM_REDIRECTS_MAX`.
#[test]
fn redirects_in_a_circle_end() {
    let front = Front::start("circle", &[]);
    let (_, ready) = Gateway::start(&[&front.url()]).get("/readyz");
    assert!(ready.contains("UPSTREAM_REDIRECTS_MAX"), "{ready}");
}

/// R14.1: an unknown host, an unknown authority and a missing client certificate are named with the setting that helps.
#[test]
fn an_error_names_its_cause_and_the_setting_that_helps() {
    let folder = folder("causes");
    let (cert, key) = certificate(&folder);
    let tls = Front::start("tls", &[&cert, &key]);
    let reason = |settings: String| gateway(&folder, &settings, &[]).get("/readyz").1;
    let unknown = reason("url = \"http://no-such-host.invalid/mcp\"".to_owned());
    assert!(unknown.contains("the host no-such-host.invalid is unknown"), "{unknown}");
    let untrusted = reason(format!("url = \"https://127.0.0.1:{}/mcp\"", tls.port));
    assert!(untrusted.contains("an authority that is not trusted here; ca_file"), "{untrusted}");
    // With TLS 1.3 the alert comes after the handshake.
    let port = port::free().unwrap();
    let words = ["s_server", "-quiet", "-www", "-Verify", "1", "-verify_return_error", "-tls1_3", "-port"];
    let mut wary = Command::new("openssl");
    wary.args(words).arg(port.to_string()).args(["-cert", &cert, "-key", &key]);
    let _wary = Process::start(&mut wary).unwrap();
    until("listening", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let nameless = reason(format!("ca_file = \"cert.pem\"\nurl = \"https://127.0.0.1:{port}/mcp\""));
    let says = "another client certificate than it was shown; client_cert and client_key name one";
    assert!(nameless.contains(says), "{nameless}");
    let gzip = Front::start("gzip", &[]);
    let plain = reason(format!("url = \"https://127.0.0.1:{}/mcp\"", gzip.port));
    assert!(plain.contains("does not speak TLS"), "{plain}");
}

/// R14.1: a server with a certificate of a custom authority, and one that requires a client certificate.
#[test]
fn own_authorities_and_client_certificates_are_used() {
    let folder = folder("tls");
    let (cert, key) = certificate(&folder);
    let tls = Front::start("tls", &[&cert, &key]);
    let trusting = format!("ca_file = \"cert.pem\"\nurl = \"https://127.0.0.1:{}/mcp\"", tls.port);
    adds(&gateway(&folder, &trusting, &[]));
    let wary = Front::start("identity", &[&cert, &key]);
    let shown = "client_cert = \"cert.pem\"\nclient_key = \"key.pem\"\nca_file = \"cert.pem\"";
    adds(&gateway(&folder, &format!("{shown}\nurl = \"https://127.0.0.1:{}/mcp\"", wary.port), &[]));
}

/// R14.1: a server on a Unix socket.
#[test]
fn a_server_on_a_unix_socket_is_reached() {
    let folder = folder("unix");
    // The path of a socket has to be short; that of the build folder may be too long.
    let socket = std::env::temp_dir().join(format!("toolcrib-reach-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&socket);
    let _front = run("unix", socket.to_str().unwrap(), &[]);
    until("listening", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    adds(&gateway(&folder, &format!("url = \"unix:{}\"", socket.display()), &[]));
    let _ = std::fs::remove_file(&socket);
}

/// Proxy that forwards CONNECT and plain requests for any host to one address, and records the requests.
struct Proxy {
    address: SocketAddr,
    asked: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: std::sync::Arc<std::sync::Mutex<Vec<String>>> = std::sync::Arc::default();
        let seen = asked.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, seen) = (client.unwrap(), seen.clone());
                std::thread::spawn(move || relay(client, to, &seen));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn relay(mut client: TcpStream, to: SocketAddr, seen: &std::sync::Mutex<Vec<String>>) {
    let mut server = TcpStream::connect(to).unwrap();
    let (mut back, mut forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let answers = std::thread::spawn(move || {
        let _ = std::io::copy(&mut back, &mut forth);
        let _ = forth.shutdown(std::net::Shutdown::Both);
    });
    while let Some(head) = read_head(&mut reader) {
        seen.lock().unwrap().push(head.clone());
        if head.starts_with("CONNECT ") {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
            let _ = std::io::copy(&mut reader, &mut server);
            break;
        }
        // A proxy receives the full URL as the target, a server only the path.
        let (method, rest) = head.split_once(" http://").unwrap();
        let (_, path) = rest.split_once('/').unwrap();
        server.write_all(format!("{method} /{path}").as_bytes()).unwrap();
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: u64 = length.map_or(0, |length| length.trim().parse().unwrap());
        let _ = std::io::copy(&mut (&mut reader).take(length), &mut server);
    }
    let _ = server.shutdown(std::net::Shutdown::Both);
    let _ = answers.join();
}

/// Reads the next request head of a connection; `None` at its end.
fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return None;
        }
    }
    Some(head)
}

/// R14.1: the environment's proxy, with a tunnel for https and full URLs for http; `NO_PROXY`; a server's own proxy;
/// the proxy's credentials never reach the server.
#[test]
fn servers_are_reached_through_the_proxies_of_environment_and_file() {
    let folder = folder("proxy");
    let (cert, key) = certificate(&folder);
    let tls = Front::start("tls", &[&cert, &key]);
    let tunnel = Proxy::start(SocketAddr::from(([127, 0, 0, 1], tls.port)));
    let proxy = format!("http://me:s3cret@{}", tunnel.address);
    let secure = "ca_file = \"cert.pem\"\nurl = \"https://server.example/mcp\"";
    adds(&gateway(&folder, secure, &[("HTTPS_PROXY", &proxy)]));
    let first = tunnel.asked().first().cloned().unwrap();
    assert!(first.starts_with("CONNECT server.example:443 HTTP/1.1\r\n"), "{first}");
    assert!(first.contains("Proxy-Authorization: Basic bWU6czNjcmV0\r\n"), "{first}");
    let (_, ready) =
        gateway(&folder, secure, &[("HTTPS_PROXY", &proxy), ("NO_PROXY", "server.example")]).get("/readyz");
    assert!(ready.contains("the host server.example is unknown"), "{ready}");
    let plain = Front::start("gzip", &[]);
    let forward = Proxy::start(SocketAddr::from(([127, 0, 0, 1], plain.port)));
    let own = format!("url = \"{}\"\nproxy = \"http://{}\"", plain.url(), forward.address);
    adds(&gateway(&folder, &own, &[]));
    let first = forward.asked().first().cloned().unwrap();
    assert!(first.starts_with(&format!("POST {} HTTP/1.1\r\n", plain.url())), "{first}");
    let dead = format!(
        "url = \"https://server.example/mcp\"\nproxy = \"http://127.0.0.1:{}\"",
        port::free().unwrap()
    );
    let (_, ready) = gateway(&folder, &dead, &[]).get("/readyz");
    assert!(ready.contains("no way through the proxy 127.0.0.1:"), "{ready}");
}

/// R14.1: proxy.py as the proxy of the environment. 0.0.0.0 is this machine, and not an address that a proxy of the
/// environment is left out for.
#[test]
fn servers_are_reached_through_a_proxy_of_somebody_else() {
    let folder = folder("proxy-py");
    let (cert, key) = certificate(&folder);
    let (tls, plain) = (Front::start("tls", &[&cert, &key]), Front::start("gzip", &[]));
    let secure = format!("ca_file = \"cert.pem\"\nurl = \"https://0.0.0.0:{}/mcp\"", tls.port);
    let open = format!("url = \"http://0.0.0.0:{}/mcp\"", plain.port);
    for (settings, variable, logged) in [
        (&secure, "HTTPS_PROXY", format!("CONNECT 0.0.0.0:{}", tls.port)),
        (&secure, "ALL_PROXY", format!("CONNECT 0.0.0.0:{}", tls.port)),
        (&open, "HTTP_PROXY", format!("POST 0.0.0.0:{}", plain.port)),
        (&open, "ALL_PROXY", format!("POST 0.0.0.0:{}", plain.port)),
    ] {
        let words = |port: u16| {
            format!("-m proxy --hostname 127.0.0.1 --port {port} --num-workers 1 --num-acceptors 1")
                .split(' ')
                .map(str::to_owned)
                .collect()
        };
        let (proxy, port) = python(Deps::of_this_workspace().python(), words);
        adds(&gateway(&folder, settings, &[(variable, &format!("http://127.0.0.1:{port}"))]));
        until(variable, || proxy.said().contains(&logged));
    }
}

/// R14.1: HTTP/2 if the server selects it in the handshake. nginx in front of the server reports the version of each
/// request in a header.
#[test]
fn http_2_is_spoken_where_the_handshake_chooses_it() {
    if Command::new("nginx").arg("-v").output().is_err() {
        eprintln!("SKIPPED: nginx is not installed: `cargo run -p xtask -- provision` as root");
        return;
    }
    let folder = folder("http2");
    let _ = certificate(&folder);
    let behind = Front::start("gzip", &[]);
    let (secure, plain) = (port::free().unwrap(), port::free().unwrap());
    let here = folder.display();
    let text = format!(
        "daemon off; pid {here}/pid; error_log {here}/error.log; events {{}}\n\
         http {{ log_format v '$server_protocol $request_method'; access_log {here}/access.log v;\n\
         client_body_temp_path {here}/b; proxy_temp_path {here}/p; fastcgi_temp_path {here}/f;\n\
         uwsgi_temp_path {here}/u; scgi_temp_path {here}/s;\n\
         server {{ listen 127.0.0.1:{secure} ssl http2; listen 127.0.0.1:{plain} http2;\n\
         ssl_certificate {here}/cert.pem; ssl_certificate_key {here}/key.pem;\n\
         location / {{ proxy_pass http://127.0.0.1:{}; proxy_set_header Host 127.0.0.1:{}; }} }} }}\n",
        behind.port, behind.port
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, text).unwrap();
    let _nginx =
        Process::start(Command::new("nginx").args(["-p", folder.to_str().unwrap(), "-c"]).arg(&file))
            .unwrap();
    until("listening", || TcpStream::connect(("127.0.0.1", secure)).is_ok());
    let spoken = || std::fs::read_to_string(folder.join("access.log")).unwrap_or_default();
    adds(&gateway(
        &folder,
        &format!("ca_file = \"cert.pem\"\nurl = \"https://127.0.0.1:{secure}/mcp\""),
        &[],
    ));
    until("logged", || spoken().lines().any(|line| line == "HTTP/2.0 POST"));
    std::fs::write(folder.join("access.log"), "").unwrap();
    adds(&gateway(&folder, &format!("http2 = true\nurl = \"http://127.0.0.1:{plain}/mcp\""), &[]));
    until("logged", || spoken().lines().any(|line| line.ends_with("HTTP/2.0 POST")));
    assert!(!spoken().contains("HTTP/1"), "{}", spoken());
}
