//! Budget of steps and stack for one validation.
//!
//! The validator cannot be interrupted, but it reads a value only through [`super::Tape`]. Each look-up takes steps
//! from the budget of the running thread. Once the budget is used up, containers look empty, so the validator has
//! nothing to descend into and returns from the frames it has open. Its verdict is then discarded, and the value is
//! refused by the name of the limit.
//!
//! The validator matches regular expressions itself. A pattern whose DFA fits its cache reads each byte once. For any
//! other pattern, a text is refused in advance if its bytes times the active states exceed
//! [`CHECK_PATTERN_PAIRS_MAX`](crate::limits::CHECK_PATTERN_PAIRS_MAX), and the CPU time of matching is charged
//! afterwards, because only then is it known how many states the text really met.
//!
//! Guarantees: the steps of one validation are bounded for every schema and value; recursion stops before the
//! thread's stack is used up; without a budget nothing is cut.

use std::cell::Cell;

use rustix::time::{ClockId, clock_gettime};

use crate::limits::{CHECK_PATTERN_PAIRS_MAX, CHECK_STACK_BYTES_MAX};

/// CPU time that one step stands for, in nanoseconds.
const STEP_NS: u64 = 10;

/// Pairs of text bytes and states after which the CPU clock is read; matching them takes about as long as 100
/// readings.
const PAIRS_PER_READING: u64 = 16 * 1024;

/// Budget of one validation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Maximum look-ups of the validation, weighted by their cost.
    pub(crate) steps: u64,
    /// Steps for each member or element handed out: applying a subschema costs time even if it reads nothing.
    pub(crate) child_steps: u64,
    /// Maximum states that matching may follow one by one for each byte of text; 0 if the DFA suffices.
    pub(crate) pattern_states: u64,
    /// Steps for each string handed out, besides those for its length: it may be matched against a pattern.
    pub(crate) text_steps: u64,
    /// Steps for each member name handed out: it may be matched against several patterns.
    pub(crate) name_steps: u64,
}

impl Budget {
    /// Returns a budget for a schema without patterns.
    pub(crate) const fn plain(steps: u64) -> Self {
        Self { steps, child_steps: 1, pattern_states: 0, text_steps: 1, name_steps: 1 }
    }
}

/// Limit that ended a validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    Steps,
    Stack,
    /// A text is too long for the patterns it would be matched against.
    Pattern,
}

struct Meter {
    left: Cell<u64>,
    child_steps: Cell<u64>,
    pattern_states: Cell<u64>,
    text_steps: Cell<u64>,
    name_steps: Cell<u64>,
    /// Pairs of text bytes and states since the CPU clock was last read.
    pairs: Cell<u64>,
    /// CPU time of the thread at the last reading, in nanoseconds.
    read_at: Cell<u64>,
    /// Lowest stack address at which the validator may still descend.
    floor: Cell<usize>,
    exhausted: Cell<Option<Exhausted>>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            left: Cell::new(u64::MAX),
            child_steps: Cell::new(1),
            pattern_states: Cell::new(0),
            text_steps: Cell::new(1),
            name_steps: Cell::new(1),
            pairs: Cell::new(0),
            read_at: Cell::new(0),
            floor: Cell::new(0),
            exhausted: Cell::new(None),
        }
    };
}

/// Runs `validate` under `budget`.
///
/// # Errors
/// The limit that was reached; the result of `validate` is then meaningless and dropped.
pub(crate) fn within<T>(budget: Budget, validate: impl FnOnce() -> T) -> Result<T, Exhausted> {
    counted(budget, validate).map(|(outcome, _)| outcome)
}

/// Runs `validate` under `budget`, as [`within`] does, and also returns the remaining steps.
pub(crate) fn counted<T>(budget: Budget, validate: impl FnOnce() -> T) -> Result<(T, u64), Exhausted> {
    /// Guard that lifts the budget, also when `validate` panics.
    struct Lift;
    impl Drop for Lift {
        fn drop(&mut self) {
            METER.with(|meter| {
                meter.left.set(u64::MAX);
                meter.child_steps.set(1);
                meter.pattern_states.set(0);
                meter.text_steps.set(1);
                meter.name_steps.set(1);
                meter.floor.set(0);
                meter.exhausted.set(None);
            });
        }
    }
    METER.with(|meter| {
        meter.left.set(budget.steps);
        meter.child_steps.set(budget.child_steps);
        meter.pattern_states.set(budget.pattern_states);
        meter.text_steps.set(budget.text_steps);
        meter.name_steps.set(budget.name_steps);
        if budget.pattern_states > 0 {
            meter.pairs.set(0);
            meter.read_at.set(thread_cpu_ns());
        }
        meter.floor.set(stack_address().saturating_sub(CHECK_STACK_BYTES_MAX));
        meter.exhausted.set(None);
    });
    let _lift = Lift;
    let outcome = validate();
    METER.with(|meter| {
        if meter.pattern_states.get() > 0 {
            meter.charge_time();
        }
        meter.exhausted.get().map_or(Ok((outcome, meter.left.get())), Err)
    })
}

/// Takes `steps` from the budget; returns `false` once it is used up.
#[inline]
pub(super) fn spend(steps: u64) -> bool {
    METER.with(|meter| match meter.left.get().checked_sub(steps) {
        Some(left) => {
            meter.left.set(left);
            true
        }
        None => {
            meter.end(Exhausted::Steps);
            false
        }
    })
}

/// Takes the steps for a string of `bytes` bytes, which may be matched against patterns; returns `false` if the
/// string must not be handed out.
#[inline]
pub(super) fn spend_text(bytes: usize) -> bool {
    let steps = METER.with(|meter| {
        let fits = meter.pattern_states.get() == 0 || meter.matches(bytes);
        fits.then(|| meter.text_steps.get())
    });
    steps.is_some_and(|steps| spend(steps + text_steps(bytes)))
}

/// Takes the steps for a member whose name has `bytes` bytes; returns `false` if it must not be handed out.
#[inline]
pub(super) fn spend_member(bytes: usize) -> bool {
    let steps = METER.with(|meter| {
        let fits = meter.pattern_states.get() == 0 || meter.matches(bytes);
        fits.then(|| meter.name_steps.get())
    });
    steps.is_some_and(|steps| spend_child(steps + text_steps(bytes)))
}

/// Takes the steps for a member or element plus `more`; returns `false` if it must not be handed out.
#[inline]
pub(super) fn spend_child(more: u64) -> bool {
    METER.with(|meter| {
        if stack_address() < meter.floor.get() {
            meter.end(Exhausted::Stack);
            return false;
        }
        match meter.left.get().checked_sub(meter.child_steps.get() + more) {
            Some(left) => {
                meter.left.set(left);
                true
            }
            None => {
                meter.end(Exhausted::Steps);
                false
            }
        }
    })
}

/// Returns the steps for reading `bytes` bytes of text.
#[inline]
pub(super) const fn text_steps(bytes: usize) -> u64 {
    1 + (bytes as u64 >> 4)
}

impl Meter {
    /// Charges a text of `bytes` bytes against the patterns of the schema; returns `false` if it must not be matched.
    #[cold]
    fn matches(&self, bytes: usize) -> bool {
        let pairs = self.pattern_states.get().saturating_mul(bytes as u64);
        if pairs > CHECK_PATTERN_PAIRS_MAX {
            self.end(Exhausted::Pattern);
            return false;
        }
        // The texts before this one have been matched by now, so their time can be charged.
        if self.pairs.get() >= PAIRS_PER_READING {
            self.charge_time();
        }
        // Matching takes at most about one step for two pairs.
        if pairs / 2 > self.left.get() {
            self.end(Exhausted::Steps);
            return false;
        }
        self.pairs.set(self.pairs.get() + pairs);
        self.exhausted.get().is_none()
    }

    fn charge_time(&self) {
        let now = thread_cpu_ns();
        let steps = now.saturating_sub(self.read_at.replace(now)) / STEP_NS;
        self.pairs.set(0);
        match self.left.get().checked_sub(steps) {
            Some(left) => self.left.set(left),
            None => self.end(Exhausted::Steps),
        }
    }

    #[cold]
    fn end(&self, why: Exhausted) {
        self.left.set(0);
        if self.exhausted.get().is_none() {
            self.exhausted.set(Some(why));
        }
    }
}

/// Returns the CPU time of this thread, which unlike wall-clock time does not depend on other processes.
fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + nanos.unwrap_or_default()
}

/// Returns the address of the current stack frame. Stacks grow downwards on every supported platform.
#[inline]
pub(crate) fn stack_address() -> usize {
    let marker = 0u8;
    std::ptr::from_ref(&marker) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends_by_its_steps_and_is_lifted_afterwards() {
        let budget = Budget { child_steps: 3, ..Budget::plain(10) };
        assert_eq!(within(budget, || spend(4) && spend_child(0) && spend_child(0)), Ok(true));
        assert_eq!(within(budget, || spend(8) && spend_child(0)), Err(Exhausted::Steps));
        assert!(spend(1 << 40) && spend_child(1 << 40), "no budget, no end");
    }

    /// `CHECK_STACK_BYTES_MAX`
    #[test]
    fn a_deep_stack_ends_a_budget() {
        fn descend(levels: u32) -> bool {
            let frame = std::hint::black_box([0u8; 4096]);
            spend_child(0) && (levels == 0 || descend(levels - 1)) && std::hint::black_box(frame).len() > 1
        }
        let budget = Budget::plain(u64::MAX);
        assert_eq!(within(budget, || descend(4)), Ok(true));
        let levels = u32::try_from(CHECK_STACK_BYTES_MAX / 4096).unwrap();
        assert_eq!(within(budget, || descend(levels + 8)), Err(Exhausted::Stack));
    }
}
