//! A race: several implementations of one task, timed in turns, with claims about their ratios.
//!
//! Each round times every contender once, in rotating order, each for as many iterations as fill a sample. A ratio is
//! the median over the rounds of the two times *of the same round*, so that drift of the machine cancels out. A sample
//! during which the host gave too much CPU time to other machines (steal time) is repeated, for every contender alike;
//! the number of repeats is printed.

use std::time::{Duration, Instant};

/// Number and length of samples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    rounds: usize,
    sample: Duration,
    judges: bool,
}

/// Claim about a contender.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Claim {
    /// At most this many times the time of the first contender.
    TimesFirstAtMost(f64),
    /// At least this many times as fast as the first contender.
    FasterThanFirst(f64),
    /// One iteration takes at most this long.
    TimeAtMost(Duration),
    /// At least this many bytes per second, for an iteration that handles `bytes`.
    RateAtLeast { bytes: usize, per_second: f64 },
    /// Printed, not judged.
    None,
}

struct Contender<'a> {
    name: &'a str,
    claim: Claim,
    work: Work<'a>,
    /// Returns the seconds of CPU used so far, if they are counted.
    cost: Option<Box<dyn Fn() -> f64 + 'a>>,
    samples: Samples,
}

/// Measurements of one contender.
#[derive(Debug, Default)]
struct Samples {
    /// Seconds per item, one entry per round.
    times: Vec<f64>,
    /// Items done in all samples; `spent` is the seconds of CPU for them.
    done: f64,
    spent: f64,
}

/// Work of one sample.
enum Work<'a> {
    /// Repeats `body` often enough to fill the time; each iteration handles `things` items.
    Iterations { body: Box<dyn FnMut() + 'a>, count: u32, things: f64 },
    /// Runs a program for the given time; it reports the items it did.
    Program { body: Box<dyn FnMut(Duration) -> Done + 'a>, given: Duration },
}

/// Number of items done, and the time taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) things: f64,
    pub(crate) time: Duration,
}

/// Contenders under one title. The others are compared with the first.
pub(crate) struct Race<'a> {
    title: &'a str,
    /// Items per iteration; times are printed per item.
    things: usize,
    contenders: Vec<Contender<'a>>,
}

impl Effort {
    pub(crate) fn full() -> Self {
        Self { rounds: 31, sample: Duration::from_millis(20), judges: true }
    }

    /// Fewer and longer samples, for whole programs: caches that went cold while another program ran weigh less.
    pub(crate) fn steady(self) -> Self {
        if self.judges { Self { rounds: 15, sample: Duration::from_millis(200), ..self } } else { self }
    }

    /// Samples of one second, for a load generator that is started for each sample and takes whole seconds. Its
    /// samples vary more, so there are more of them.
    pub(crate) fn by_the_second(self) -> Self {
        let rounds = if self.judges { 25 } else { 1 };
        Self { rounds, sample: Duration::from_secs(1), ..self }
    }

    /// One of `of` equal parts of this effort.
    pub(crate) fn part(self, of: usize) -> Self {
        Self { rounds: self.rounds.div_ceil(of.max(1)), ..self }
    }

    /// `true` if claims are judged.
    pub(crate) fn judges(self) -> bool {
        self.judges
    }

    pub(crate) fn quick() -> Self {
        Self { rounds: 5, sample: Duration::from_millis(2), judges: false }
    }
}

impl<'a> Race<'a> {
    pub(crate) fn new(title: &'a str) -> Self {
        Self { title, things: 1, contenders: Vec::new() }
    }

    /// Sets the number of items per iteration; times are printed per item.
    pub(crate) fn counting(mut self, things: usize) -> Self {
        self.things = things.max(1);
        self
    }

    /// Adds a contender. `body` is one iteration; its result must go through [`std::hint::black_box`].
    pub(crate) fn with(self, name: &'a str, claim: Claim, body: impl FnMut() + 'a) -> Self {
        let things = self.things as f64;
        self.join(name, claim, Work::Iterations { body: Box::new(body), count: 1, things })
    }

    /// Adds a contender whose `body` measures itself for the time it is given.
    pub(crate) fn with_program(
        self,
        name: &'a str,
        claim: Claim,
        body: impl FnMut(Duration) -> Done + 'a,
    ) -> Self {
        self.join(name, claim, Work::Program { body: Box::new(body), given: Duration::ZERO })
    }

    fn join(mut self, name: &'a str, claim: Claim, work: Work<'a>) -> Self {
        self.contenders.push(Contender { name, claim, work, cost: None, samples: Samples::default() });
        self
    }

    /// Counts CPU for the last contender: `cost` returns the seconds used so far.
    pub(crate) fn costing(mut self, cost: impl Fn() -> f64 + 'a) -> Self {
        if let Some(last) = self.contenders.last_mut() {
            last.cost = Some(Box::new(cost));
        }
        self
    }

    /// Runs the race and prints a table; returns `true` if every claim holds.
    pub(crate) fn run(self, effort: Effort) -> bool {
        self.measure(effort).report(effort).0
    }

    /// Runs the race without printing.
    pub(crate) fn measure(mut self, effort: Effort) -> Measured {
        for contender in &mut self.contenders {
            contender.calibrate(effort.sample);
        }
        let count = self.contenders.len().max(1);
        let mut patience = Patience::new(if effort.judges { RETAKEN_TIMES_MAX } else { 0 });
        for round in 0..effort.rounds {
            self.contenders.rotate_left(round % count);
            self.contenders.iter_mut().for_each(|contender| contender.sample(&mut patience));
            self.contenders.rotate_right(round % count);
        }
        let rows = self.contenders.into_iter().map(|it| (it.name.to_owned(), it.claim, it.samples)).collect();
        Measured { title: self.title.to_owned(), rows, patience }
    }
}

/// Result of a race.
pub(crate) struct Measured {
    title: String,
    rows: Vec<(String, Claim, Samples)>,
    patience: Patience,
}

impl Measured {
    /// Appends the rounds of `more`, another run of the same race.
    pub(crate) fn and(mut self, more: Self) -> Self {
        for ((.., samples), (.., more)) in self.rows.iter_mut().zip(more.rows) {
            samples.times.extend(more.times);
            samples.done += more.done;
            samples.spent += more.spent;
        }
        self.patience.retaken += more.patience.retaken;
        self.patience.disturbed += more.patience.disturbed;
        self
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|(name, ..)| &**name)
    }

    /// Prints a table; returns `true` if every claim holds, and the seconds of CPU per item for each contender.
    pub(crate) fn report(&self, effort: Effort) -> (bool, Vec<f64>) {
        println!("\n{}", self.title);
        println!("  {:<36} {:>12} {:>8} {:>9}  claim", "", "median", "spread", "ratio");
        let mut holds = true;
        for (name, claim, samples) in &self.rows {
            let first = self.rows.first().map_or(samples, |(.., first)| first);
            let time = median(&samples.times);
            let ratio = paired_ratio(&samples.times, &first.times);
            let (claim, kept) = claim.judge(time, ratio);
            let verdict = match (kept, effort.judges) {
                (_, false) | (None, _) => "",
                (Some(true), true) => "  holds",
                (Some(false), true) => "  MISSED",
            };
            holds &= !effort.judges || kept.unwrap_or(true);
            let spread = spread(&samples.times) * 100.0;
            let time = duration(time);
            println!("  {name:<36} {time:>12} {spread:>7.1}% {ratio:>8.3}×  {claim}{verdict}");
        }
        self.patience.report();
        (holds, self.rows.iter().map(|(.., samples)| samples.spent / samples.done).collect())
    }
}

impl Contender<'_> {
    /// Finds the number of iterations that fill a sample. This also warms up the contender.
    fn calibrate(&mut self, sample: Duration) {
        self.work.fit(sample);
        while self.work.take().time < sample && self.work.grows() {}
    }

    fn sample(&mut self, patience: &mut Patience) {
        let (done, cost) = loop {
            let (stolen, cost) = (stolen(), self.used());
            let done = self.work.take();
            let (stolen, cost) = (self::stolen().saturating_sub(stolen), self.used() - cost);
            if !patience.retakes(stolen, done.time) {
                break (done, cost);
            }
        };
        self.samples.spent += cost;
        self.samples.done += done.things;
        self.samples.times.push(done.time.as_secs_f64() / done.things);
    }

    fn used(&self) -> f64 {
        self.cost.as_ref().map_or(0.0, |cost| cost())
    }
}

impl Work<'_> {
    /// Resets the iteration count, or sets the sample length of a program.
    fn fit(&mut self, sample: Duration) {
        match self {
            Self::Iterations { count, .. } => *count = 1,
            Self::Program { given, .. } => *given = sample,
        }
    }

    /// Doubles the iterations of the next sample; returns `false` if that is not possible.
    fn grows(&mut self) -> bool {
        match self {
            Self::Iterations { count, .. } if *count < u32::MAX / 2 => {
                *count *= 2;
                true
            }
            _ => false,
        }
    }

    fn take(&mut self) -> Done {
        match self {
            Self::Iterations { body, count, things } => {
                let begun = Instant::now();
                for _ in 0..*count {
                    body();
                }
                Done { things: *things * f64::from(*count), time: begun.elapsed() }
            }
            Self::Program { body, given } => body(*given),
        }
    }
}

/// Maximum steal time of an undisturbed sample, as a part of the sample's time.
const STOLEN_PART_MAX: f64 = 0.05;

/// Maximum repeats of one disturbed sample. The connections of the other contenders are idle meanwhile, and servers
/// close connections that are idle for long.
const RETAKEN_TIMES_MAX: usize = 4;

/// Counter of repeated samples.
struct Patience {
    times_max: usize,
    /// Repeats of the current sample.
    times: usize,
    /// Repeats of all samples.
    retaken: usize,
    /// Samples that were disturbed and counted nevertheless.
    disturbed: usize,
}

impl Patience {
    fn new(times_max: usize) -> Self {
        Self { times_max, times: 0, retaken: 0, disturbed: 0 }
    }

    fn retakes(&mut self, stolen: Duration, time: Duration) -> bool {
        let is_disturbed = stolen.as_secs_f64() > time.as_secs_f64() * STOLEN_PART_MAX;
        let retakes = is_disturbed && self.times < self.times_max;
        self.retaken += usize::from(retakes);
        self.disturbed += usize::from(is_disturbed && !retakes);
        self.times = if retakes { self.times + 1 } else { 0 };
        retakes
    }

    fn report(&self) {
        if self.retaken + self.disturbed > 0 {
            println!(
                "  the host took time for others: {} samples were taken again, {} counted all the same",
                self.retaken, self.disturbed
            );
        }
    }
}

/// Steal time of all cores since boot; zero if the system does not report it.
fn stolen() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    Duration::from_millis(10 * stolen_ticks(&stat).unwrap_or(0))
}

/// Reads the eighth number of the first line of `/proc/stat`, in hundredths of a second.
fn stolen_ticks(stat: &str) -> Option<u64> {
    stat.strip_prefix("cpu ")?.split_ascii_whitespace().nth(7)?.parse().ok()
}

impl Claim {
    /// Returns the claim in words, and `true` if it holds; `None` without a claim.
    fn judge(self, time: f64, ratio: f64) -> (String, Option<bool>) {
        match self {
            Self::TimesFirstAtMost(most) => (format!("at most {most}× the first"), Some(ratio <= most)),
            Self::FasterThanFirst(least) => {
                let speed = 1.0 / ratio;
                (format!("{speed:.2}× as fast, at least {least}×"), Some(speed >= least))
            }
            Self::TimeAtMost(most) => (format!("at most {most:?}"), Some(time <= most.as_secs_f64())),
            Self::RateAtLeast { bytes, per_second } => {
                let rate = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / time;
                let text = format!("{:.0} MB/s, at least {:.0}", rate / 1e6, per_second / 1e6);
                (text, Some(rate >= per_second))
            }
            Self::None => (String::new(), None),
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn paired_ratio(times: &[f64], first: &[f64]) -> f64 {
    median(&times.iter().zip(first).map(|(time, first)| time / first).collect::<Vec<_>>())
}

/// Median absolute deviation, relative to the median.
fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>()) / middle
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn a_ratio_is_taken_round_by_round() {
        // The machine slows down threefold half way; the ratio stays 2.
        let (first, second) = ([1.0, 1.0, 3.0, 3.0, 3.0], [2.0, 2.0, 6.0, 6.0, 6.0]);
        assert!((paired_ratio(&second, &first) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_disturbed_sample_is_taken_again_while_there_is_patience() {
        assert_eq!(stolen_ticks("cpu  101 1 51 8000 20 0 7 3 0 0\ncpu0 1 2 3 4 5 6 7 8"), Some(3));
        assert_eq!(stolen_ticks("cpu0 1 2 3 4 5 6 7 8"), None);
        let ms = Duration::from_millis;
        let mut patience = Patience::new(1);
        assert!(!patience.retakes(ms(10), ms(200)));
        assert!(patience.retakes(ms(20), ms(200)));
        assert!(!patience.retakes(ms(20), ms(200)), "there is none left");
        assert!(patience.retakes(ms(20), ms(200)), "this is the next sample");
        assert_eq!((patience.retaken, patience.disturbed), (2, 1));
    }

    #[test]
    fn what_a_contender_cost_is_that_of_its_samples() {
        let clock = std::cell::Cell::new(0.0);
        let effort = Effort { rounds: 3, sample: Duration::from_micros(1), judges: true };
        let race = Race::new("test").counting(2).with("a", Claim::None, || clock.set(clock.get() + 8.0));
        let (holds, costs) = race.costing(|| clock.get()).measure(effort).report(effort);
        assert!(holds);
        assert_eq!(costs, [4.0]);
    }

    #[test]
    fn a_race_in_parts_is_one_race() {
        let part = |first: f64, second: f64| {
            let rows = [first, second].map(|time| {
                let samples = Samples { times: vec![time; 3], done: 2.0, spent: 2.0 * time };
                (String::new(), Claim::FasterThanFirst(0.9), samples)
            });
            let patience = Patience { retaken: 1, ..Patience::new(0) };
            Measured { title: String::new(), rows: rows.into(), patience }
        };
        let whole = part(1.0, 1.2).and(part(3.0, 3.0)).and(part(1.0, 1.0));
        assert_eq!(whole.patience.retaken, 3);
        let (holds, costs) = whole.report(Effort::full());
        assert!(holds, "the median of nine rounds is 1");
        assert_eq!(costs, [10.0 / 6.0, 10.4 / 6.0]);
        assert!(!part(1.0, 1.2).and(part(3.0, 3.6)).report(Effort::full()).0);
        assert_eq!((Effort::full().part(5).rounds, Effort::full().part(100).rounds), (7, 1));
    }

    #[test]
    fn a_program_says_itself_what_it_did() {
        let clock = std::cell::Cell::new(0.0);
        let effort = Effort { rounds: 3, sample: Duration::from_secs(1), judges: true };
        let program = |given: Duration| {
            clock.set(clock.get() + 2.0);
            Done { things: 4.0, time: given }
        };
        let race =
            Race::new("test").with_program("a", Claim::TimeAtMost(Duration::from_millis(250)), program);
        let (holds, costs) = race.costing(|| clock.get()).measure(effort).report(effort);
        assert!(holds, "a second for four things is a quarter for one");
        assert_eq!(costs, [0.5]);
        let late = Claim::TimeAtMost(Duration::from_millis(249));
        assert!(!Race::new("test").with_program("a", late, program).run(effort));
    }

    #[test]
    fn claims_can_be_missed() {
        assert_eq!(Claim::TimesFirstAtMost(1.1).judge(1.0, 1.2).1, Some(false));
        assert_eq!(Claim::FasterThanFirst(1.5).judge(1.0, 0.5).1, Some(true));
        assert_eq!(Claim::FasterThanFirst(1.5).judge(1.0, 0.9).1, Some(false));
        assert_eq!(Claim::TimeAtMost(Duration::from_millis(1)).judge(0.002, 1.0).1, Some(false));
        assert_eq!(Claim::RateAtLeast { bytes: 1_000, per_second: 1e6 }.judge(0.002, 1.0).1, Some(false));
    }

    #[test]
    fn more_work_is_slower_and_the_claim_notices() {
        let work = |amount: u64| {
            move || {
                black_box((0..black_box(amount)).fold(0_u64, |a, b| a ^ black_box(b)));
            }
        };
        let effort = Effort { rounds: 5, sample: Duration::from_millis(1), judges: true };
        let race =
            |claim| Race::new("test").with("less", Claim::None, work(100)).with("more", claim, work(2_000));
        assert!(race(Claim::TimesFirstAtMost(100.0)).run(effort));
        assert!(!race(Claim::TimesFirstAtMost(1.5)).run(effort));
    }
}
