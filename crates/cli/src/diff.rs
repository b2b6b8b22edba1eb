//! `toolcrib diff OLD NEW`: compares two tool lists; each break comes with a call that used to work (R7.1, R7.3).

use toolcrib_change::Places;

use crate::Outcome;
use crate::judge::{Judge, Side};
use crate::origin::{Origins, place};

#[derive(Debug, clap::Args)]
#[command(after_help = crate::origin::HELP)]
pub(crate) struct Args {
    /// The definitions before.
    old: String,
    /// The definitions after.
    new: String,
    #[command(flatten)]
    origins: Origins,
    #[command(flatten)]
    judge: Judge,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (old, new) = (args.origins.read(&args.old)?, args.origins.read(&args.new)?);
    let places = Places::new(vec![place(&args.new), place(&args.old)]);
    let old = Side { word: &args.old, definitions: &old.definitions };
    let new = Side { word: &args.new, definitions: &new.definitions };
    args.judge.conclude(args.judge.compare(old, new), &places)
}
