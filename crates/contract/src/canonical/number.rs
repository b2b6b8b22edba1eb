//! Spelling of numbers in the canonical form.
//!
//! A literal is first reduced to sign, digits and power of ten without leading or trailing zeros, so equal numbers
//! reduce to equal decimals. A 64-bit integer is written with all its digits. Any other number is written as
//! ECMAScript prints the nearest double, and refused if that is not the same decimal.

/// Error: the literal is neither a 64-bit integer nor the decimal that its nearest double prints as.
#[derive(Debug)]
pub(super) struct Inexact;

/// Decimal `0.digits × 10^point`; `digits` has no zeros at either end and is empty for zero.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i64,
}

pub(super) fn write(literal: &str, out: &mut String) -> Result<(), Inexact> {
    if let Some(plain) = plain_integer(literal) {
        out.push_str(plain);
        return Ok(());
    }
    let decimal = Decimal::read(literal).ok_or(Inexact)?;
    if decimal.digits.is_empty() {
        out.push('0');
        return Ok(());
    }
    if decimal.is_64_bit_integer() {
        decimal.write_plain(out);
        return Ok(());
    }
    let double: f64 = literal.parse().map_err(|_| Inexact)?;
    if !double.is_finite() {
        return Err(Inexact);
    }
    // Not `{:e}`: of two equally near shortest decimals it does not take the even one, as ECMAScript does.
    let printed = serde_json::to_string(&double).map_err(|_| Inexact)?;
    let printed = Decimal::read(&printed).ok_or(Inexact)?;
    if printed.digits != decimal.digits || printed.point != decimal.point {
        return Err(Inexact);
    }
    printed.write_ecmascript(out);
    Ok(())
}

/// Fast path: an integer of at most 18 digits is already canonical, except for `-0`.
fn plain_integer(literal: &str) -> Option<&str> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    (digits.len() <= 18 && digits.bytes().all(|b| b.is_ascii_digit()) && literal != "-0").then_some(literal)
}

impl Decimal {
    fn read(literal: &str) -> Option<Self> {
        let (negative, rest) = match literal.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, literal),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix('+').unwrap_or(exponent)),
            None => (rest, "0"),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let first = all.iter().position(|&d| d != b'0').unwrap_or(all.len());
        let last = all.iter().rposition(|&d| d != b'0').map_or(first, |i| i + 1);
        let digits = all.get(first..last)?.to_vec();
        if digits.is_empty() {
            return Some(Self { negative: false, digits, point: 0 });
        }
        let exponent: i64 = exponent.parse().ok()?;
        let point = exponent
            .checked_add(i64::try_from(whole.len()).ok()?)?
            .checked_sub(i64::try_from(first).ok()?)?;
        Some(Self { negative, digits, point })
    }

    fn is_64_bit_integer(&self) -> bool {
        let len = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        if self.point < len || self.point > 20 {
            return false;
        }
        let mut text = String::new();
        self.write_plain(&mut text);
        if self.negative { text.parse::<i64>().is_ok() } else { text.parse::<u64>().is_ok() }
    }

    /// Writes an integer with all its digits.
    fn write_plain(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        out.extend(self.digits.iter().map(|&d| char::from(d)));
        let zeros = usize::try_from(self.point).unwrap_or(0).saturating_sub(self.digits.len());
        out.extend(std::iter::repeat_n('0', zeros));
    }

    /// Writes as ECMA-262 `Number::toString` does with radix 10.
    fn write_ecmascript(&self, out: &mut String) {
        let len = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        let digits = || self.digits.iter().map(|&d| char::from(d));
        match self.point {
            n if n >= len && n <= 21 => self.write_plain(out),
            n if n > 0 && n <= 21 => {
                self.write_sign(out);
                let whole = usize::try_from(n).unwrap_or(0);
                out.extend(digits().take(whole));
                out.push('.');
                out.extend(digits().skip(whole));
            }
            n if n > -6 && n <= 0 => {
                self.write_sign(out);
                out.push_str("0.");
                out.extend(std::iter::repeat_n('0', usize::try_from(-n).unwrap_or(0)));
                out.extend(digits());
            }
            n => {
                self.write_sign(out);
                out.extend(digits().take(1));
                if len > 1 {
                    out.push('.');
                    out.extend(digits().skip(1));
                }
                out.push_str(if n > 0 { "e+" } else { "e-" });
                out.push_str(&(n - 1).unsigned_abs().to_string());
            }
        }
    }

    fn write_sign(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
    }
}
