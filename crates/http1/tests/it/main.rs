//! The codec against hyper, against malformed messages, behind nginx and before hostile servers.

mod hostile_server;
mod nginx;
mod pieces;
mod request_cases;
mod request_chunks;
mod request_heads;
mod requests;
mod response_cases;
mod responses;
mod streams;
