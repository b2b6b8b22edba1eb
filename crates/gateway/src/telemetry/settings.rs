//! Settings of the exporter, from OpenTelemetry's environment variables; the endpoint in the configuration file has
//! priority over theirs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use toolcrib_upstream::spec::Endpoint;

use crate::config::Environment;

/// Export interval in milliseconds, unless `OTEL_BSP_SCHEDULE_DELAY` sets another.
const DELAY_MS: u64 = 5_000;

/// Timeout of one request in milliseconds, unless `OTEL_EXPORTER_OTLP_TIMEOUT` sets another; also the maximum that it
/// can set.
const TIMEOUT_MS_MAX: u64 = 10_000;

/// Destination and encoding of exported spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whole URL, with `/v1/traces`; headers and TLS files.
    pub endpoint: Endpoint,
    pub encoding: Encoding,
    pub compression: Compression,
    /// Resource attributes of this process, `service.name` among them.
    pub resource: BTreeMap<String, String>,
    /// How long spans are collected before they are sent.
    pub delay: Duration,
    /// Timeout of one request.
    pub timeout: Duration,
}

/// Encoding of the request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Protobuf,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
}

/// Error: a variable has a value that is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is {value:?}; supported: {supported}{hint}")]
pub struct SettingsError {
    variable: String,
    value: String,
    supported: &'static str,
    hint: &'static str,
}

impl Settings {
    /// Reads the variables. `endpoint` is the one in the configuration file. `None` if no collector is named.
    pub fn read(
        endpoint: Option<&str>,
        environment: &dyn Environment,
    ) -> Result<Option<Self>, SettingsError> {
        let variables = Variables(environment);
        if variables.get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let below = |base: &str| format!("{}/v1/traces", base.trim_end_matches('/'));
        let url = match endpoint {
            Some(endpoint) => Some(below(endpoint)),
            None => variables
                .get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
                .or_else(|| variables.get("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| below(&base))),
        };
        let Some(url) = url else { return Ok(None) };
        let file = |name| variables.otlp(name).map(|(_, path)| PathBuf::from(path));
        let number = |value: String| value.parse::<u64>().ok();
        let timeout = variables.otlp("TIMEOUT").and_then(|(_, value)| number(value));
        let delay = variables.get("OTEL_BSP_SCHEDULE_DELAY").and_then(number).unwrap_or(DELAY_MS);
        Ok(Some(Self {
            endpoint: Endpoint {
                url,
                headers: variables.otlp("HEADERS").map(|(_, text)| pairs(&text)).unwrap_or_default(),
                ca_file: file("CERTIFICATE"),
                client_cert: file("CLIENT_CERTIFICATE"),
                client_key: file("CLIENT_KEY"),
                ..Endpoint::default()
            },
            encoding: encoding(variables.otlp("PROTOCOL"))?,
            compression: compression(variables.otlp("COMPRESSION"))?,
            resource: resource(&variables),
            delay: Duration::from_millis(delay.max(1)),
            timeout: Duration::from_millis(timeout.unwrap_or(TIMEOUT_MS_MAX).clamp(1, TIMEOUT_MS_MAX)),
        }))
    }
}

/// Environment variables; an empty one counts as unset.
struct Variables<'a>(&'a dyn Environment);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        self.0.variable(name).filter(|value| !value.is_empty())
    }

    /// Returns name and value of the variable for traces, or of the one for all signals.
    fn otlp(&self, name: &str) -> Option<(String, String)> {
        [format!("OTEL_EXPORTER_OTLP_TRACES_{name}"), format!("OTEL_EXPORTER_OTLP_{name}")]
            .into_iter()
            .find_map(|variable| self.get(&variable).map(|value| (variable, value)))
    }
}

fn encoding(given: Option<(String, String)>) -> Result<Encoding, SettingsError> {
    let Some((variable, value)) = given else { return Ok(Encoding::Protobuf) };
    let hint = match value.as_str() {
        "http/protobuf" => return Ok(Encoding::Protobuf),
        "http/json" => return Ok(Encoding::Json),
        "grpc" => "; a collector takes OTLP over HTTP at port 4318",
        _ => "",
    };
    Err(SettingsError { variable, value, supported: "http/protobuf, http/json", hint })
}

fn compression(given: Option<(String, String)>) -> Result<Compression, SettingsError> {
    let Some((variable, value)) = given else { return Ok(Compression::None) };
    match value.as_str() {
        "none" => Ok(Compression::None),
        "gzip" => Ok(Compression::Gzip),
        _ => Err(SettingsError { variable, value, supported: "gzip, none", hint: "" }),
    }
}

fn resource(variables: &Variables<'_>) -> BTreeMap<String, String> {
    let mut resource = BTreeMap::from([
        ("service.name".to_owned(), "toolcrib".to_owned()),
        ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ]);
    resource.extend(variables.get("OTEL_RESOURCE_ATTRIBUTES").map(|text| pairs(&text)).unwrap_or_default());
    resource.extend(variables.get("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name)));
    resource
}

/// Parses `name=value,name=value` with percent-encoded values, the format of OpenTelemetry's headers and attributes.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name.trim()), decoded(value.trim()))).collect()
}

/// Decodes percent escapes; text that is no valid escape, or no UTF-8 once decoded, stays as it is.
fn decoded(text: &str) -> String {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, after @ ..] => {
                digit(*high).zip(digit(*low)).map(|(high, low)| (high << 4 | low, after))
            }
            _ => None,
        };
        let (byte, left) = escaped.unwrap_or((*first, after));
        out.push(byte);
        rest = left;
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static [(&'static str, &'static str)]);

    impl Environment for Fixed {
        fn variable(&self, name: &str) -> Option<String> {
            self.0.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        }
    }

    const COLLECTOR: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");

    fn read(variables: &'static [(&'static str, &'static str)]) -> Settings {
        Settings::read(None, &Fixed(variables)).unwrap().unwrap()
    }

    /// R5.10: nothing is exported unless a collector is named; OpenTelemetry's variables name it.
    #[test]
    fn the_usual_variables_say_where_spans_go() {
        assert_eq!(Settings::read(None, &Fixed(&[])), Ok(None));
        let settings = read(&[
            COLLECTOR,
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b%2Cc, x=50%"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "250"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=pr%C3%BCf"),
            ("OTEL_SERVICE_NAME", "crib"),
        ]);
        assert_eq!(settings.endpoint.url, "http://collector:4318/v1/traces");
        assert_eq!(settings.endpoint.headers.get("api-key").map(String::as_str), Some("a b,c"));
        assert_eq!(settings.endpoint.headers.get("x").map(String::as_str), Some("50%"));
        assert_eq!(settings.endpoint.ca_file, Some(PathBuf::from("/ca.pem")));
        assert_eq!((settings.encoding, settings.compression), (Encoding::Protobuf, Compression::Gzip));
        assert_eq!(settings.timeout, Duration::from_millis(250));
        assert_eq!(settings.resource["service.name"], "crib");
        assert_eq!(settings.resource["deployment.environment.name"], "prüf");
        assert!(!format!("{settings:?}").contains("a b,c"));
        assert_eq!(Settings::read(None, &Fixed(&[COLLECTOR, ("OTEL_SDK_DISABLED", "true")])), Ok(None));
        let own = Settings::read(Some("http://own"), &Fixed(&[COLLECTOR])).unwrap().unwrap();
        assert_eq!(own.endpoint.url, "http://own/v1/traces");
    }

    /// R14.3: gRPC is refused by name, with the value to set instead.
    #[test]
    fn protocols_that_are_not_spoken_are_refused_by_their_name() {
        let refused = |variables| Settings::read(None, &Fixed(variables)).unwrap_err().to_string();
        assert_eq!(
            refused(&[COLLECTOR, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]),
            "OTEL_EXPORTER_OTLP_PROTOCOL is \"grpc\"; supported: http/protobuf, http/json; a collector takes OTLP over \
             HTTP at port 4318"
        );
        assert_eq!(
            refused(&[COLLECTOR, ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "zstd")]),
            "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION is \"zstd\"; supported: gzip, none"
        );
        let json = read(&[
            COLLECTOR,
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ]);
        assert_eq!(json.encoding, Encoding::Json);
    }
}
