//! Strict parsing of query parameters; each error names its parameter.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolcrib_store::catalogue::Cursor;

use super::Response;
use super::route::decoded;
use crate::limits::{PAGE_RESULTS_DEFAULT, PAGE_RESULTS_MAX, QUERY_BYTES_MAX};
use crate::time;

pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn read(text: &str) -> Result<Self, Response> {
        let pairs: Option<Vec<(String, String)>> = text
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((decoded(&key.replace('+', " "))?, decoded(&value.replace('+', " "))?))
            })
            .collect();
        let pairs = pairs.ok_or_else(|| Response::error(400, "the query is not percent-encoded UTF-8"))?;
        if let Some((key, _)) = pairs.iter().find(|(_, value)| value.len() > QUERY_BYTES_MAX) {
            return Err(Response::error(400, &format!("{key} is over {QUERY_BYTES_MAX} bytes")));
        }
        Ok(Self(pairs))
    }

    /// Returns a parameter's value; an empty value counts as absent.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| &**value)
            .filter(|value| !value.is_empty())
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Response> {
        match self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(Response::error(400, &format!("{name} is true or false"))),
        }
    }

    /// Returns true if the parameter has the value `only`, false if it is absent. Other values are an error.
    pub(super) fn choice(&self, name: &str, only: &str) -> Result<bool, Response> {
        match self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value) {
            None => Ok(false),
            Some(value) if value == only => Ok(true),
            Some(_) => Err(Response::error(400, &format!("{name} can only be {only}"))),
        }
    }

    pub(super) fn limit(&self) -> Result<u32, Response> {
        let Some((_, text)) = self.0.iter().find(|(key, _)| key == "limit") else {
            return Ok(PAGE_RESULTS_DEFAULT);
        };
        let number = text.parse().ok().filter(|limit| (1..=PAGE_RESULTS_MAX).contains(limit));
        number.ok_or_else(|| Response::error(400, &format!("limit is between 1 and {PAGE_RESULTS_MAX}")))
    }

    pub(super) fn updated_since(&self) -> Result<Option<String>, Response> {
        let Some((_, text)) = self.0.iter().find(|(key, _)| key == "updated_since") else { return Ok(None) };
        // An unencoded `+` of an offset has been decoded to a space.
        let time = time::normal(text).or_else(|| time::normal(&text.replace(' ', "+")));
        time.map(Some).ok_or_else(|| Response::error(400, "updated_since is an RFC 3339 time"))
    }

    pub(super) fn cursor(&self) -> Result<Option<Cursor>, Response> {
        let Some(text) = self.text("cursor") else { return Ok(None) };
        let bad = || Response::error(400, "this cursor was not made here");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
        let text = String::from_utf8(bytes).map_err(|_| bad())?;
        let (name, version) = text.split_once('\n').ok_or_else(bad)?;
        Ok(Some(Cursor { name: name.to_owned(), version: version.to_owned() }))
    }

    /// Returns the offset that the cursor of a numbered result page encodes.
    pub(super) fn offset(&self) -> Result<u32, Response> {
        let Some(text) = self.text("cursor") else { return Ok(0) };
        let bad = || Response::error(400, "this cursor was not made here");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
        let digits = String::from_utf8(bytes).ok().and_then(|text| text.strip_prefix('#')?.parse().ok());
        digits.ok_or_else(bad)
    }
}

pub(super) fn written(name: &str, version: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{name}\n{version}"))
}

pub(super) fn written_offset(offset: u32) -> String {
    URL_SAFE_NO_PAD.encode(format!("#{offset}"))
}
