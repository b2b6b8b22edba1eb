//! Parser of RFC 6570 templates: from a template's text to its literals and variables.
//!
//! Literals may contain characters that RFC 6570 does not allow there (a space, a quote): the template comes from
//! another server, and a client that sends those characters means this template.

use crate::limits::{TEMPLATE_BYTES_MAX, TEMPLATE_VARIABLES_MAX};

/// Reason why a text is not a URI template. Positions are bytes from the start of the template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    #[error("a template has at most {TEMPLATE_BYTES_MAX} bytes (TEMPLATE_BYTES_MAX); this one has {bytes}")]
    TooLong { bytes: usize },
    #[error("a template has at most {TEMPLATE_VARIABLES_MAX} variables (TEMPLATE_VARIABLES_MAX)")]
    TooManyVariables,
    #[error("the `{{` at byte {at} is never closed")]
    Unclosed { at: usize },
    #[error("the `}}` at byte {at} closes nothing")]
    Unopened { at: usize },
    #[error("a control character at byte {at}")]
    Control { at: usize },
    #[error("the operator `{operator}` at byte {at} is reserved and has no meaning")]
    ReservedOperator { operator: char, at: usize },
    #[error("a variable at byte {at} has no name")]
    Unnamed { at: usize },
    #[error(
        "{name:?} at byte {at} is not a variable name: letters, digits, `_`, percent-encoded characters, and `.` between them"
    )]
    BadName { name: Box<str>, at: usize },
    #[error("the prefix length at byte {at} is not a number from 1 to 9999")]
    BadPrefix { at: usize },
}

/// Part of the template's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    from: u16,
    to: u16,
}

// Positions are 16 bits wide.
const _: () = assert!(TEMPLATE_BYTES_MAX <= u16::MAX as usize);

impl Span {
    fn new(from: usize, to: usize) -> Self {
        let narrow = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        Self { from: narrow(from), to: narrow(to) }
    }

    pub(super) fn of(self, text: &str) -> &str {
        text.get(usize::from(self.from)..usize::from(self.to)).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Literal(Span),
    Variable(Variable),
}

/// Variable of an expression; `{x,y}` gives two in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: Span,
    pub(super) operator: Operator,
    pub(super) modifier: Modifier,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modifier {
    Whole,
    Prefix(u16),
    Explode,
}

/// Operator of an expression, by the names of RFC 6570, section 3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    /// `{&x}`: continues a query.
    More,
}

impl Operator {
    fn of(sign: char) -> Option<Self> {
        Some(match sign {
            '+' => Self::Reserved,
            '#' => Self::Fragment,
            '.' => Self::Label,
            '/' => Self::Path,
            ';' => Self::Parameter,
            '?' => Self::Query,
            '&' => Self::More,
            _ => return None,
        })
    }

    /// Returns the character before the first value.
    pub(super) fn opening(self) -> Option<u8> {
        match self {
            Self::Simple | Self::Reserved => None,
            Self::Fragment => Some(b'#'),
            Self::Query => Some(b'?'),
            _ => Some(self.separator()),
        }
    }

    /// Returns the character before each further value.
    pub(super) fn separator(self) -> u8 {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => b',',
            Self::Label => b'.',
            Self::Path => b'/',
            Self::Parameter => b';',
            Self::Query | Self::More => b'&',
        }
    }

    /// Returns true if values are written as `name=value`.
    pub(super) fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::More)
    }

    /// Returns true if all values may be missing and a value may be empty.
    pub(super) fn is_optional(self) -> bool {
        !matches!(self, Self::Simple | Self::Reserved)
    }
}

/// Splits a template into literals and variables.
pub(super) fn parts(text: &str) -> Result<Vec<Part>, TemplateError> {
    if text.len() > TEMPLATE_BYTES_MAX {
        return Err(TemplateError::TooLong { bytes: text.len() });
    }
    let (mut parts, mut variables, mut at) = (Vec::new(), 0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = at + rest.find('{').unwrap_or(rest.len());
        literal(text, at, end, &mut parts)?;
        let Some(inside) = text.get(end + 1..) else { break };
        let close = end + 1 + inside.find('}').ok_or(TemplateError::Unclosed { at: end })?;
        let found = expression(text, end + 1, close, &mut parts)?;
        variables += found;
        if variables > TEMPLATE_VARIABLES_MAX {
            return Err(TemplateError::TooManyVariables);
        }
        at = close + 1;
    }
    Ok(parts)
}

fn literal(text: &str, from: usize, to: usize, parts: &mut Vec<Part>) -> Result<(), TemplateError> {
    let literal = text.get(from..to).unwrap_or_default();
    if let Some(at) = literal.find('}') {
        return Err(TemplateError::Unopened { at: from + at });
    }
    if let Some(at) = literal.find(char::is_control) {
        return Err(TemplateError::Control { at: from + at });
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(Span::new(from, to)));
    }
    Ok(())
}

/// Reads the text between two braces; returns the number of its variables.
fn expression(text: &str, from: usize, to: usize, parts: &mut Vec<Part>) -> Result<usize, TemplateError> {
    let inside = text.get(from..to).unwrap_or_default();
    let sign = inside.chars().next().ok_or(TemplateError::Unnamed { at: from })?;
    if matches!(sign, '=' | ',' | '!' | '@' | '|') {
        return Err(TemplateError::ReservedOperator { operator: sign, at: from });
    }
    let (operator, mut at) =
        Operator::of(sign).map_or((Operator::Simple, from), |operator| (operator, from + 1));
    let list = text.get(at..to).unwrap_or_default().split(',');
    let count = list.clone().count();
    for (position, spec) in list.enumerate() {
        let (name, modifier) = modifier(spec, at)?;
        if name.is_empty() {
            return Err(TemplateError::Unnamed { at });
        }
        if !is_name(name) {
            return Err(TemplateError::BadName { name: name.into(), at });
        }
        parts.push(Part::Variable(Variable {
            name: Span::new(at, at + name.len()),
            operator,
            modifier,
            is_first: position == 0,
            is_last: position + 1 == count,
        }));
        at += spec.len() + 1;
    }
    Ok(count)
}

fn modifier(spec: &str, at: usize) -> Result<(&str, Modifier), TemplateError> {
    if let Some(name) = spec.strip_suffix('*') {
        return Ok((name, Modifier::Explode));
    }
    let Some((name, length)) = spec.split_once(':') else { return Ok((spec, Modifier::Whole)) };
    let is_number = length.len() <= 4 && length.bytes().all(|byte| byte.is_ascii_digit());
    let length = Some(length).filter(|length| is_number && !length.starts_with('0'));
    let length = length.and_then(|length| length.parse().ok());
    length
        .map(|length| (name, Modifier::Prefix(length)))
        .ok_or(TemplateError::BadPrefix { at: at + name.len() + 1 })
}

/// Returns true for a `varname` of RFC 6570, section 2.3.
fn is_name(name: &str) -> bool {
    name.split('.').all(|piece| {
        let mut bytes = piece.bytes();
        while let Some(byte) = bytes.next() {
            let is_escape = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
            let is_part = byte.is_ascii_alphanumeric()
                || byte == b'_'
                || (byte == b'%' && is_escape(bytes.next()) && is_escape(bytes.next()));
            if !is_part {
                return false;
            }
        }
        !piece.is_empty()
    })
}
