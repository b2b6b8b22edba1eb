//! Lowering of a schema document to formulas. This is the normaliser: dialect differences (`items`, siblings of
//! `$ref`, boolean `exclusiveMinimum`, `integer`) are settled here, references are followed, `unevaluated*` is
//! resolved into ordinary constraints, and annotations are dropped. It refuses a schema that it cannot translate
//! exactly; it never approximates.

mod closing;
mod constant;
mod evaluated;
mod keywords;

use ahash::AHashMap;
use referencing::Resolver;
use serde_json::{Map, Value};

use crate::arena::{Arena, Lit, Node};
use crate::dialect::Dialect;
use crate::error::SchemaFault;
use crate::limits::PROVER_EXPANSION_MAX;
use crate::obstacle::Obstacle;
use crate::pattern::{PatternId, Patterns};

pub(crate) use constant::constant;

/// Reason why lowering stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    Fault(SchemaFault),
    /// The schema is valid, but over a budget or without an exact translation.
    Obstacle(Obstacle),
}

impl From<SchemaFault> for Stop {
    fn from(fault: SchemaFault) -> Stop {
        Stop::Fault(fault)
    }
}

/// `Closed` if objects have only their declared properties (declared world, producer only).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    Open,
    Closed,
}

/// Context of a subschema in its document.
#[derive(Clone)]
pub(crate) struct Place<'r> {
    pub(crate) resolver: Resolver<'r>,
    pub(crate) dialect: Dialect,
    pub(crate) mode: Mode,
    /// `true` if the subschema applies to a child value, `false` if to a value that another schema already judges.
    pub(crate) fresh: bool,
}

impl<'r> Place<'r> {
    fn inside(&self, fresh: bool) -> Place<'r> {
        Place { fresh, ..self.clone() }
    }
    fn open(&self) -> Place<'r> {
        Place { mode: Mode::Open, fresh: false, ..self.clone() }
    }
    fn open_child(&self) -> Place<'r> {
        Place { mode: Mode::Open, fresh: true, ..self.clone() }
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    address: usize,
    mode: Mode,
    closing: bool,
    scope: Box<str>,
}

enum Memo {
    Open { slot: Option<u32> },
    Done { lit: Lit, in_place: u64 },
}

/// State of lowering one document.
pub(crate) struct Lowering<'a> {
    pub(crate) arena: &'a mut Arena,
    pub(crate) patterns: &'a mut Patterns,
    pub(crate) assert_formats: bool,
    /// `true` if the document uses references that depend on the dynamic scope.
    pub(crate) dynamic: bool,
    memo: AHashMap<Key, Memo>,
    chain: Vec<Key>,
    steps: usize,
    /// Number of schema objects that the current value is tested against.
    weight: u64,
    heaviest: u64,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(
        arena: &'a mut Arena,
        patterns: &'a mut Patterns,
        assert_formats: bool,
        dynamic: bool,
    ) -> Self {
        Lowering {
            arena,
            patterns,
            assert_formats,
            dynamic,
            memo: AHashMap::new(),
            chain: Vec::new(),
            steps: 0,
            weight: 0,
            heaviest: 0,
        }
    }

    /// Returns the maximum number of schema objects that one value is tested against.
    pub(crate) fn in_place(&self) -> u64 {
        self.heaviest
    }

    /// Lowers a subschema in its context.
    pub(crate) fn lower<'r>(&mut self, schema: &'r Value, place: &Place<'r>) -> Result<Lit, Stop> {
        let place = self.enter(schema, place)?;
        self.lower_entered(schema, &place)
    }

    fn enter<'r>(&mut self, schema: &'r Value, place: &Place<'r>) -> Result<Place<'r>, Stop> {
        let mut place = place.clone();
        let Some(map) = schema.as_object() else { return Ok(place) };
        let dialect = embedded_dialect(map, place.dialect)?;
        if map.contains_key("$id") || map.contains_key("id") {
            let resource = dialect.draft().create_resource_ref(schema);
            place.resolver =
                place.resolver.in_subresource(resource).map_err(|error| reference_fault("", &error))?;
            place.dialect = dialect;
        } else if dialect != place.dialect {
            // Only a resource of its own may have a dialect of its own; engines differ on anything else.
            return Err(Stop::Obstacle(Obstacle::EmbeddedDialect));
        }
        Ok(place)
    }

    pub(crate) fn lower_entered<'r>(&mut self, schema: &'r Value, place: &Place<'r>) -> Result<Lit, Stop> {
        let map = match schema {
            Value::Bool(true) => return Ok(Lit::TRUE),
            Value::Bool(false) => return Ok(Lit::FALSE),
            Value::Object(map) => map,
            _ => {
                return Err(Stop::Fault(SchemaFault::NotASchema {
                    message: "a schema is an object or a boolean".to_owned(),
                    path: String::new(),
                }));
            }
        };
        self.steps += 1;
        if self.steps > PROVER_EXPANSION_MAX {
            return Err(Stop::Obstacle(Obstacle::Limit {
                what: "schema expansion",
                limit: PROVER_EXPANSION_MAX as u64,
            }));
        }
        let key = self.key(schema, place);
        if !place.fresh && self.chain.contains(&key) {
            return Err(Stop::Obstacle(Obstacle::ReferenceLoop));
        }
        match self.memo.get_mut(&key) {
            Some(Memo::Done { lit, in_place }) => {
                if !place.fresh {
                    self.weight = self.weight.saturating_add(*in_place);
                }
                return Ok(*lit);
            }
            Some(Memo::Open { slot }) => {
                let slot = match slot {
                    Some(slot) => *slot,
                    None => {
                        let new = self.arena.open_loop();
                        *slot = Some(new);
                        new
                    }
                };
                return Ok(self.arena.intern(Node::Loop(slot)));
            }
            None => {}
        }
        self.memo.insert(key.clone(), Memo::Open { slot: None });
        let outer = if place.fresh { std::mem::take(&mut self.chain) } else { Vec::new() };
        self.chain.push(key.clone());
        let before = std::mem::replace(&mut self.weight, 1);
        let lowered = self.keywords(map, place);
        let in_place = std::mem::replace(&mut self.weight, before);
        self.heaviest = self.heaviest.max(in_place);
        if !place.fresh {
            self.weight = self.weight.saturating_add(in_place);
        }
        self.chain.pop();
        if place.fresh {
            self.chain = outer;
        }
        let lit = lowered?;
        if let Some(Memo::Open { slot: Some(slot) }) = self.memo.get(&key) {
            self.arena.close_loop(*slot, lit);
        }
        self.memo.insert(key, Memo::Done { lit, in_place });
        Ok(lit)
    }

    fn key(&self, schema: &Value, place: &Place<'_>) -> Key {
        let mut scope = String::new();
        if self.dynamic {
            // Entering a resource again changes nothing, so first and last entries identify the dynamic scope.
            scope.push_str(place.resolver.base_uri().as_str());
            let uris = place.resolver.dynamic_scope();
            let uris: Vec<&str> = uris.iter().map(referencing::Uri::as_str).collect();
            let innermost =
                uris.iter().enumerate().filter(|(at, uri)| !uris.iter().take(*at).any(|own| own == *uri));
            let outermost =
                uris.iter().enumerate().filter(|(at, uri)| !uris.iter().skip(at + 1).any(|own| own == *uri));
            for (_, uri) in innermost.chain(outermost) {
                scope.push(' ');
                scope.push_str(uri);
            }
        }
        Key {
            address: std::ptr::from_ref(schema) as usize,
            mode: place.mode,
            closing: place.mode == Mode::Closed && place.fresh,
            scope: scope.into(),
        }
    }

    /// Follows a reference keyword to its target.
    pub(crate) fn follow<'r>(
        &mut self,
        keyword: &str,
        reference: &Value,
        place: &Place<'r>,
    ) -> Result<(&'r Value, Place<'r>), Stop> {
        let text = reference.as_str().unwrap_or("#");
        let resolved = if keyword == "$recursiveRef" {
            place.resolver.lookup_recursive_ref()
        } else {
            place.resolver.lookup(text)
        }
        .map_err(|error| reference_fault(text, &error))?;
        let (contents, resolver, draft) = resolved.into_inner();
        let declared = contents.get("$schema").is_some();
        let dialect = match Dialect::from_draft(draft) {
            Some(dialect) => dialect,
            None if declared => Dialect::of(contents, place.dialect)?,
            None => place.dialect,
        };
        Ok((contents, Place { resolver, dialect, mode: place.mode, fresh: place.fresh }))
    }

    pub(crate) fn pattern(&mut self, source: &str) -> Result<PatternId, Stop> {
        self.patterns
            .intern(source)
            .ok_or_else(|| Stop::Fault(SchemaFault::InvalidPattern { pattern: source.to_owned() }))
    }
}

fn embedded_dialect(map: &Map<String, Value>, outer: Dialect) -> Result<Dialect, SchemaFault> {
    match map.get("$schema").and_then(Value::as_str) {
        None => Ok(outer),
        Some(uri) => Dialect::from_draft(jsonschema::Draft::from_schema_uri(uri))
            .ok_or_else(|| SchemaFault::UnknownDialect { uri: uri.to_owned() }),
    }
}

/// Converts the error of a failed look-up to a named fault.
pub(crate) fn reference_fault(reference: &str, error: &referencing::Error) -> SchemaFault {
    match error {
        referencing::Error::Unretrievable { uri, .. } => SchemaFault::RemoteReference { uri: uri.clone() },
        referencing::Error::UnknownSpecification { specification } => {
            SchemaFault::UnknownDialect { uri: specification.clone() }
        }
        other => SchemaFault::UnresolvedReference {
            reference: if reference.is_empty() { other.to_string() } else { reference.to_owned() },
        },
    }
}
