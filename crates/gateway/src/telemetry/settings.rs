//! Where spans go: the variables that every OpenTelemetry program reads, or the file.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Environment;

/// Unless `OTEL_BSP_SCHEDULE_DELAY` says otherwise.
const DELAY_MS: u64 = 5_000;

#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whole, with `/v1/traces`.
    pub url: String,
    /// May hold secrets.
    pub headers: BTreeMap<String, String>,
    pub service: String,
    /// How long spans are gathered.
    pub delay: Duration,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("url", &self.url)
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// `endpoint` is the file's, and counts before the variables. `None`: nobody collects.
    #[must_use]
    pub fn read(endpoint: Option<&str>, environment: &dyn Environment) -> Option<Self> {
        let variable = |name: &str| environment.variable(name).filter(|value| !value.is_empty());
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return None;
        }
        let below = |base: String| format!("{}/v1/traces", base.trim_end_matches('/'));
        let url = match endpoint {
            Some(endpoint) => below(endpoint.to_owned()),
            None => match variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
                Some(whole) => whole,
                None => below(variable("OTEL_EXPORTER_OTLP_ENDPOINT")?),
            },
        };
        let headers =
            variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS").or(variable("OTEL_EXPORTER_OTLP_HEADERS"));
        let pairs = headers.unwrap_or_default();
        let pairs = pairs.split(',').filter_map(|pair| pair.split_once('='));
        let delay =
            variable("OTEL_BSP_SCHEDULE_DELAY").and_then(|value| value.parse().ok()).unwrap_or(DELAY_MS);
        Some(Self {
            url,
            headers: pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect(),
            service: variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "toolcrib".to_owned()),
            delay: Duration::from_millis(delay.max(1)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Variables(&'static [(&'static str, &'static str)]);

    impl Environment for Variables {
        fn variable(&self, name: &str) -> Option<String> {
            self.0.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        }
    }

    /// R5.10: nothing is collected unless somebody says where; the usual variables say it.
    #[test]
    fn the_usual_variables_say_where_spans_go() {
        assert_eq!(Settings::read(None, &Variables(&[])), None);
        let settings = Settings::read(
            None,
            &Variables(&[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=abc, x=y"),
                ("OTEL_SERVICE_NAME", "crib"),
            ]),
        );
        let settings = settings.unwrap();
        assert_eq!(settings.url, "http://collector:4318/v1/traces");
        assert_eq!(settings.headers.get("api-key").map(String::as_str), Some("abc"));
        assert_eq!(settings.service, "crib");
        assert!(!format!("{settings:?}").contains("abc"));
        let off = Variables(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"), ("OTEL_SDK_DISABLED", "true")]);
        assert_eq!(Settings::read(None, &off), None);
        let own =
            Settings::read(Some("http://own"), &Variables(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c")]));
        assert_eq!(own.unwrap().url, "http://own/v1/traces");
    }
}
