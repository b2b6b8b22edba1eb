//! Judgement of a pair: normalises, proves or refutes, confirms, shrinks and explains.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::arena::Arena;
use crate::canonical;
use crate::dialect::Dialect;
use crate::document::{Document, Limits, Lowered};
use crate::error::{SchemaError, SchemaFault, Side};
use crate::limits::PROVER_PAIR_MS_MAX;
use crate::lower::{Mode, Stop};
use crate::obstacle::Obstacle;
use crate::pattern::Patterns;
use crate::solve::{Budget, Outcome, Reach, Solver};
use crate::witness::{Oracle, Witness};

/// Bytes of stack for a judgement; lowering and search recurse along the schema.
const STACK_BYTES: usize = 256 << 20;

/// Assumption about the values that a producer sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum World {
    /// Only properties that its schema declares.
    #[default]
    Declared,
    /// Every value that its schema accepts.
    Open,
}

/// Direction in which two versions of a schema are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Input schema: callers follow the old version and the new one validates, so the producer is the old side.
    #[default]
    Input,
    /// Output schema: the server follows the new version and readers rely on the old, so the producer is the new
    /// side.
    Output,
}

/// Options of a prover.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Assumption about the producer.
    pub world: World,
    /// `true` if `format` is asserted; by default it is an annotation in every dialect.
    pub assert_formats: bool,
    /// Maximum time for one pair; beyond it the answer is *unknown*.
    pub timeout: Duration,
    /// Limits of size and search.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            world: World::Declared,
            assert_formats: false,
            timeout: Duration::from_millis(PROVER_PAIR_MS_MAX),
            limits: Limits::default(),
        }
    }
}

/// Kind of proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Both schemas have the same formula.
    Identical,
    /// The search for a counterexample was exhausted without a result.
    Exhausted,
    /// The canonical engine proved containment.
    Canonical,
}

/// Answer for one pair.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every value that the producer sends is accepted.
    Compatible(Proof),
    /// The producer sends the witness and the consumer refuses it.
    Breaking(Box<Witness>),
    /// Neither was proved.
    Unknown(Obstacle),
}

/// Verdict with its cost.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Time taken, in microseconds.
    pub micros: u64,
}

/// Prover of containment between schemas.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prover {
    options: Options,
    /// Deadline of all judgements together.
    until: Option<Instant>,
}

impl Prover {
    /// Creates a prover with these options.
    pub fn new(options: Options) -> Prover {
        Prover { options, until: None }
    }

    /// Limits the time of all judgements together, starting now; later judgements are answered *unknown*.
    #[must_use]
    pub fn within(self, all: Duration) -> Prover {
        Prover { until: Instant::now().checked_add(all), ..self }
    }

    /// Returns the prover with another world.
    #[must_use]
    pub fn in_world(self, world: World) -> Prover {
        Prover { options: Options { world, ..self.options }, ..self }
    }

    /// Options of the prover.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Judges whether every value valid under `producer` is valid under `consumer`, on a new thread with a large
    /// stack.
    ///
    /// # Errors
    /// One of the schemas is unusable.
    pub fn judge(
        &self,
        producer: &Value,
        consumer: &Value,
        dialects: (Dialect, Dialect),
    ) -> Result<Judgement, SchemaError> {
        self.on_large_stack(|| self.judge_here(producer, consumer, dialects))
    }

    /// Judges two versions of a schema.
    ///
    /// # Errors
    /// One of the schemas is unusable.
    pub fn judge_change(
        &self,
        old: &Value,
        new: &Value,
        direction: Direction,
        dialect: Dialect,
    ) -> Result<Judgement, SchemaError> {
        match direction {
            Direction::Input => self.judge(old, new, (dialect, dialect)),
            Direction::Output => self.judge(new, old, (dialect, dialect)),
        }
    }

    /// Runs `work` on a thread with a stack large enough for the search, for many calls of [`Prover::judge_here`].
    pub fn on_large_stack<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let spawned = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
            match spawned.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(result)) => result,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(error) => std::panic::resume_unwind(Box::new(error)),
            }
        })
    }

    /// Judges as [`Prover::judge`] does, on the current thread, whose stack must be large.
    ///
    /// # Errors
    /// One of the schemas is unusable.
    pub fn judge_here(
        &self,
        producer: &Value,
        consumer: &Value,
        dialects: (Dialect, Dialect),
    ) -> Result<Judgement, SchemaError> {
        let start = Instant::now();
        if self.until.is_some_and(|until| start >= until) {
            return Ok(Judgement { verdict: Verdict::Unknown(Obstacle::Budget), micros: 0 });
        }
        let verdict = match self.verdict(producer, consumer, dialects, start) {
            Ok(verdict) => verdict,
            Err((_, Stop::Obstacle(obstacle))) => Verdict::Unknown(obstacle),
            Err((side, Stop::Fault(fault))) => return Err(SchemaError { side, fault }),
        };
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(Judgement { verdict, micros })
    }

    /// Checks that a schema is usable, on the current thread, whose stack must be large. A schema over a limit of the
    /// search is usable: a judgement on it is *unknown* and names the limit.
    ///
    /// # Errors
    /// The reason why it is unusable.
    pub fn examine_here(&self, schema: &Value, dialect: Dialect) -> Result<(), SchemaFault> {
        let Options { assert_formats, limits, .. } = self.options;
        let lowered = Document::admit(schema, dialect, &limits).and_then(|document| {
            document.lower(&mut Arena::new(), &mut Patterns::default(), assert_formats, Mode::Open)
        });
        match lowered {
            Ok(_) | Err(Stop::Obstacle(_)) => Ok(()),
            Err(Stop::Fault(fault)) => Err(fault),
        }
    }

    fn verdict(
        &self,
        producer: &Value,
        consumer: &Value,
        (producer_dialect, consumer_dialect): (Dialect, Dialect),
        start: Instant,
    ) -> Result<Verdict, (Side, Stop)> {
        let Options { world, assert_formats, timeout, limits } = self.options;
        let of_producer = |stop: Stop| (Side::Producer, stop);
        let of_consumer = |stop: Stop| (Side::Consumer, stop);
        let given = Document::admit(producer, producer_dialect, &limits).map_err(of_producer)?;
        let wanted = Document::admit(consumer, consumer_dialect, &limits).map_err(of_consumer)?;
        let (mut arena, mut patterns) = (Arena::new(), Patterns::default());
        let mode = if world == World::Declared { Mode::Closed } else { Mode::Open };
        let p = given.lower(&mut arena, &mut patterns, assert_formats, mode).map_err(of_producer)?;
        let c = wanted.lower(&mut arena, &mut patterns, assert_formats, Mode::Open).map_err(of_consumer)?;
        if p.lit == c.lit {
            return Ok(Verdict::Compatible(Proof::Identical));
        }
        let deadline = self.until.map_or(start + timeout, |until| until.min(start + timeout));
        let reach = if arena.spelled() { Reach::Spelled } else { Reach::Every };
        let budget = Budget { deadline, steps_max: limits.steps_max, nodes_max: limits.nodes_max, reach };
        let mut outcome = Solver::new(&mut arena, &mut patterns, budget).solve_all([p.lit, !c.lit]);
        if let Outcome::Found(value) = &outcome
            && engine_dependent(value)
        {
            let plain = Budget { reach: Reach::Plain, ..budget };
            let again = Solver::new(&mut arena, &mut patterns, plain).solve_all([p.lit, !c.lit]);
            if again == Outcome::Nothing {
                return Ok(Verdict::Unknown(Obstacle::Engines(value.to_string())));
            }
            outcome = again;
        }
        if let Outcome::Found(value) = &outcome
            && nested(value)
            && arena.recurs_under_negation()
        {
            return Ok(Verdict::Unknown(Obstacle::NegativeRecursion(value.to_string())));
        }
        let obstacle = match &outcome {
            Outcome::Nothing => return Ok(Verdict::Compatible(Proof::Exhausted)),
            Outcome::Found(value) => Obstacle::Validator(value.to_string()),
            Outcome::Undecided(obstacle) => obstacle.clone(),
        };
        if let Some(obstacle) = too_heavy(p, c, &limits) {
            return Ok(Verdict::Unknown(obstacle));
        }
        let fault = |fault: SchemaFault| Stop::Fault(fault);
        let oracle = Oracle {
            producer: given.validator(assert_formats).map_err(|own| of_producer(fault(own)))?,
            consumer: wanted.validator(assert_formats).map_err(|own| of_consumer(fault(own)))?,
            closed: (world == World::Declared).then_some(p.lit),
            arena: &arena,
            patterns: &patterns,
            deadline,
        };
        if let Outcome::Found(value) = outcome
            && oracle.separates(&value)
        {
            return Ok(Verdict::Breaking(Box::new(oracle.witness(value))));
        }
        if Instant::now() < deadline && canonical::covers(&arena, &patterns, p.lit, c.lit) == Some(true) {
            return Ok(Verdict::Compatible(Proof::Canonical));
        }
        match oracle.hunt(&[given.value, wanted.value]) {
            Some(value) => Ok(Verdict::Breaking(Box::new(oracle.witness(value)))),
            None => Ok(Verdict::Unknown(obstacle)),
        }
    }
}

fn too_heavy(producer: Lowered, consumer: Lowered, limits: &Limits) -> Option<Obstacle> {
    let limit = limits.in_place_max;
    let heavy = producer.in_place.max(consumer.in_place) > limit;
    heavy.then_some(Obstacle::Limit { what: "in-place expansion", limit })
}

/// `true` if a part of the value is read differently by different engines.
fn engine_dependent(value: &Value) -> bool {
    let breaks = |text: &str| text.contains(['\n', '\r', '\u{2028}', '\u{2029}']);
    match value {
        Value::String(text) => breaks(text),
        Value::Number(_) => crate::kind::Kind::of(value) == crate::kind::Kind::WholeFloat,
        Value::Array(items) => items.iter().any(engine_dependent),
        Value::Object(map) => map.iter().any(|(key, value)| breaks(key) || engine_dependent(value)),
        _ => false,
    }
}

/// `true` if a container contains a container; only such a value can follow a recursive definition.
fn nested(value: &Value) -> bool {
    let container = |value: &Value| value.is_array() || value.is_object();
    match value {
        Value::Array(items) => items.iter().any(container),
        Value::Object(map) => map.values().any(container),
        _ => false,
    }
}
