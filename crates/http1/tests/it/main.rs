//! The codec against hyper, against malformed messages, and behind nginx.

mod nginx;
mod pieces;
mod request_cases;
mod request_chunks;
mod request_heads;
mod requests;
mod response_cases;
mod responses;
mod streams;
