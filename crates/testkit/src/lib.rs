//! For tests only: what a test needs in order to use real things.
//!
//! - [`process`]: starts a program, waits until it says that it listens, and ends its whole process group.
//! - [`port`]: a loopback port that is free right now.
//! - [`http`]: an HTTP/1.1 client that sends exactly what it is told, right or wrong.
//! - [`listener`]: a real HTTP server that answers from a function.
//! - [`issuer`]: an authorization server, and an MCP server that trusts it.
//! - [`signer`]: somebody who signs JSON Web Tokens.
//! - [`postgres`]: a PostgreSQL of a test's own.
//! - [`script`]: an in-memory connection that delivers given pieces.
//! - [`oracle`]: requests and responses as hyper reads them.
//! - [`nginx`]: an nginx of a test's own in front of a server.
//! - [`deps`]: where `xtask provision` put Node, Python and the official suite.
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
