//! Support for tests that run against real programs and servers; used by tests only.
//!
//! - [`process`]: starts a program, waits until it reports its address, and kills its whole process group.
//! - [`port`]: a loopback port that is currently free.
//! - [`http`]: an HTTP/1.1 client that sends exactly the given request, valid or not.
//! - [`listener`]: a real HTTP server that answers from a function.
//! - [`issuer`]: an authorization server, and an MCP server that trusts it.
//! - [`signer`]: signs JSON Web Tokens.
//! - [`postgres`]: a PostgreSQL server per test.
//! - [`script`]: an in-memory connection that delivers given pieces.
//! - [`oracle`]: parses requests and responses with hyper.
//! - [`tls`]: certificates, and TLS in front of a plain server.
//! - [`nginx`]: an nginx per test in front of a server.
//! - [`deps`]: paths of Node, Python and the official suite, installed by `xtask provision`.
//! - [`foreign`]: runs a foreign MCP client and reads its report.
//! - [`conformance`]: runs the official conformance suite and counts its checks.
//!
//! Nothing here is part of the product, and nothing here retries: a flaky test is a failed test.

pub mod conformance;
pub mod deps;
pub mod foreign;
pub mod http;
pub mod issuer;
pub mod listener;
pub mod nginx;
pub mod oracle;
pub mod port;
pub mod postgres;
pub mod process;
pub mod script;
pub mod signer;
pub mod tls;
