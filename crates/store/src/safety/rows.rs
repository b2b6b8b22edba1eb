//! Conversions between values and database columns.

use rusqlite::Row;
use toolcrib_contract::Digest;

use crate::error::StoreError;

pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn positive(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(super) fn digest(text: &str) -> Result<Digest, StoreError> {
    text.parse().map_err(|_| StoreError::Corrupt { what: "digest" })
}

pub(super) fn bytes<const N: usize>(row: &Row<'_>, column: &str) -> Result<[u8; N], StoreError> {
    let blob: Vec<u8> = row.get(column)?;
    blob.try_into().map_err(|_| StoreError::Corrupt { what: "bytes of a fixed length" })
}
