//! System quality number by Van Tharp.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;

use crate::desk::Desk;
use crate::scope::Scope;
use crate::statistics::{deviation, mean, rounded};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Sqn {
    trades: usize,
    /// √trades × mean ÷ deviation of net profit; absent with fewer than two trades or no spread at all.
    sqn: Option<f64>,
    /// SQN with at most 100 trades counted, so that many trades do not make a poor system good.
    sqn_100: Option<f64>,
    mean: Option<f64>,
    /// Of the sample.
    deviation: Option<f64>,
    rating: Rating,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum Rating {
    Undecided,
    HardToTrade,
    Average,
    Good,
    Excellent,
    Superb,
}

pub(super) fn answer(desk: &Desk, scope: Scope) -> Result<Sqn, ToolError> {
    let nets: Vec<f64> = scope.trips(&desk.book).iter().map(|trip| trip.net().dollars()).collect();
    let (mean, deviation) = (mean(&nets), deviation(&nets));
    let quality = mean.zip(deviation).filter(|(_, spread)| *spread > 0.0).map(|(mean, spread)| mean / spread);
    let count = nets.len() as f64;
    let sqn = quality.map(|quality| rounded(count.sqrt() * quality));
    Ok(Sqn {
        trades: nets.len(),
        sqn,
        sqn_100: quality.map(|quality| rounded(count.min(100.0).sqrt() * quality)),
        mean: mean.map(rounded),
        deviation: deviation.map(rounded),
        rating: sqn.map_or(Rating::Undecided, rating),
    })
}

fn rating(sqn: f64) -> Rating {
    match sqn {
        _ if sqn < 1.6 => Rating::HardToTrade,
        _ if sqn < 2.0 => Rating::Average,
        _ if sqn < 3.0 => Rating::Good,
        _ if sqn < 5.0 => Rating::Excellent,
        _ => Rating::Superb,
    }
}
