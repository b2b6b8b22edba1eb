//! Collection of violations while a value is explained.

use super::super::graph::Graph;
use super::Walk;
use super::trail::Trail;
use crate::json::{Node, Pointer};
use crate::limits;
use crate::violation::{Ended, Shown, Violation, Violations};

/// Violations of a subschema, or of the closest branch of an `anyOf` or `oneOf`.
#[derive(Debug)]
pub(super) struct Report {
    list: Vec<Violation>,
    count_max: usize,
    bytes: usize,
    /// Number of enclosing branches; causes are not collected beyond a maximum.
    pub(super) depth: usize,
}

impl Report {
    pub(super) fn new(count_max: usize) -> Self {
        Self { list: Vec::new(), count_max, bytes: 0, depth: 0 }
    }

    /// Creates a report about one branch of an `anyOf` or `oneOf` that this report describes.
    pub(super) fn of_branch(&self, count_max: usize, explains_branches: bool) -> Self {
        let depth = if explains_branches { self.depth.saturating_add(1) } else { usize::MAX };
        Self { list: Vec::new(), count_max, bytes: self.bytes, depth }
    }

    pub(super) fn as_slice(&self) -> &[Violation] {
        &self.list
    }

    pub(super) fn into_list(self) -> Vec<Violation> {
        self.list
    }

    /// Adds a violation.
    ///
    /// # Errors
    /// The limit of the report that is reached: its violations or its bytes.
    pub(super) fn push(&mut self, violation: Violation) -> Result<(), Ended> {
        if self.list.len() >= self.count_max {
            return Err(Ended::Violations);
        }
        self.bytes += violation.bytes();
        if self.bytes > limits::VIOLATION_BYTES_MAX && !self.list.is_empty() {
            return Err(Ended::Bytes);
        }
        self.list.push(violation);
        Ok(())
    }

    pub(super) fn finish(self, instance: Node<'_>, ended: Option<Ended>) -> Violations {
        if self.list.is_empty() {
            Violations::unexplained(instance, ended)
        } else {
            Violations::new(self.list, ended)
        }
    }
}

impl Walk<'_> {
    /// Reports that `keyword` refuses `node`; `describe` fills in the violation. Always returns `false`, so that a
    /// keyword can return its result.
    pub(super) fn refuse(
        &mut self,
        out: Option<&mut Report>,
        at: u32,
        keyword: &str,
        node: Node<'_>,
        trail: &Trail<'_>,
        describe: impl FnOnce(&mut Violation),
    ) -> Result<bool, Ended> {
        let Some(report) = out else { return Ok(false) };
        // Formatting costs more than a step; the charge bounds the time of a report with many branches.
        self.spend(REPORTED_STEPS)?;
        let mut violation = blank(self.graph, at, keyword, trail);
        violation.found = Some(Shown::of(node, &violation.instance_path));
        describe(&mut violation);
        report.push(violation)?;
        Ok(false)
    }
}

/// Steps charged for formatting one violation.
const REPORTED_STEPS: u64 = 100;

fn blank(graph: &Graph<'_>, at: u32, keyword: &str, trail: &Trail<'_>) -> Violation {
    let mut schema_path = graph.pointer(at);
    if keyword != "false schema" {
        schema_path.push(keyword);
    }
    if schema_path.as_str().len() > limits::VIOLATION_PATH_BYTES_MAX {
        schema_path = Pointer::root().join("…").join(keyword);
    }
    Violation {
        instance_path: trail.pointer(),
        schema_path,
        keyword: keyword.to_owned(),
        expected: String::new(),
        found: None,
        allowed: Vec::new(),
        nearest: None,
        causes: Vec::new(),
    }
}
