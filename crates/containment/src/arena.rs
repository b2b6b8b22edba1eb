//! Formulas of schemas. Documents of every dialect are lowered into one arena of hash-consed nodes, so that schemas
//! of equal meaning often get the same node (an inlined `$ref`, reordered keys, a type list written as `anyOf`). A
//! [`Lit`] is a node or its negation. An atom constrains only values of its own kind and holds for every other value.

use ahash::AHashMap;

use crate::kind::{Kind, Kinds};
use crate::pattern::PatternId;
use crate::rational::Rational;

/// A node or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lit(u32);

impl Lit {
    pub(crate) const TRUE: Lit = Lit(0);
    pub(crate) const FALSE: Lit = Lit(1);

    fn positive(index: usize) -> Lit {
        Lit(u32::try_from(index).unwrap_or(u32::MAX / 2) << 1)
    }
    pub(crate) fn index(self) -> usize {
        (self.0 >> 1) as usize
    }
    pub(crate) fn negated(self) -> bool {
        self.0 & 1 == 1
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;
    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// Atom or connective of a formula; an atom is described by when it is true.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// Always true.
    True,
    /// True if the value is of one of these kinds.
    Kinds(Kinds),
    /// Conjunction. A disjunction is the negation of one.
    All(Box<[Lit]>),
    /// True if exactly one literal holds.
    One(Box<[Lit]>),
    /// Body of a recursive definition; index into [`Arena::loops`].
    Loop(u32),
    /// True for the boolean `true`.
    Truth,
    /// True if the number is at least this.
    Least(Rational),
    /// True if the number is greater than this.
    Above(Rational),
    /// True if the number is a multiple of this.
    Multiple(Rational),
    /// True if the number is one of these; sorted.
    NumberIn(Box<[Rational]>),
    /// True if the string has at least this many characters.
    LengthMin(u64),
    /// True if the pattern matches somewhere in the string.
    Matches(PatternId),
    /// True if the string has the format; used only where formats are asserted.
    Format(Box<str>),
    /// True if the string is one of these; sorted.
    TextIn(Box<[Box<str>]>),
    /// True if the array has at least this many items.
    ItemsMin(u64),
    /// True if no two items are equal.
    Unique,
    /// True if every item satisfies its literal: `prefix` by position, `rest` for all later items.
    Items { prefix: Box<[Lit]>, rest: Lit },
    /// True if at least `count` items satisfy the literal.
    Has { item: Lit, count: u64 },
    /// True if the object has at least this many properties.
    PropertiesMin(u64),
    /// True if the object has this property.
    Key(Box<str>),
    /// True if every property satisfies its literals: those for its name and its matching patterns, else `rest`.
    Properties(Box<Fields>),
    /// True if the name of every property satisfies the literal.
    Names(Lit),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fields {
    /// Sorted by name.
    pub(crate) named: Vec<(Box<str>, Lit)>,
    pub(crate) patterns: Vec<(PatternId, Lit)>,
    pub(crate) rest: Lit,
}

impl Fields {
    pub(crate) fn named(&self, name: &str) -> Option<Lit> {
        let at = self.named.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        self.named.get(at).map(|(_, lit)| *lit)
    }
}

impl Node {
    /// Returns the kinds that an atom constrains; `None` for a connective.
    pub(crate) fn kinds(&self) -> Option<Kinds> {
        Some(match self {
            Node::True | Node::Kinds(_) | Node::All(_) | Node::One(_) | Node::Loop(_) => return None,
            Node::Truth => Kinds::BOOLEAN,
            Node::Least(_) | Node::Above(_) | Node::Multiple(_) | Node::NumberIn(_) => Kinds::NUMBER,
            Node::LengthMin(_) | Node::Matches(_) | Node::Format(_) | Node::TextIn(_) => Kinds::STRING,
            Node::ItemsMin(_) | Node::Unique | Node::Items { .. } | Node::Has { .. } => Kinds::ARRAY,
            Node::PropertiesMin(_) | Node::Key(_) | Node::Properties(_) | Node::Names(_) => Kinds::OBJECT,
        })
    }
}

/// Store of all nodes; node 0 is [`Node::True`].
#[derive(Debug)]
pub(crate) struct Arena {
    nodes: Vec<Node>,
    index: AHashMap<Node, Lit>,
    loops: Vec<Lit>,
    special: AHashMap<(Lit, Kind), Lit>,
    /// `true` if some formula distinguishes an integer from the same number written as a float.
    spelled: bool,
}

static TRUE_NODE: Node = Node::True;

impl Arena {
    pub(crate) fn new() -> Arena {
        let mut index = AHashMap::new();
        index.insert(Node::True, Lit::TRUE);
        Arena { nodes: vec![Node::True], index, loops: Vec::new(), special: AHashMap::new(), spelled: false }
    }

    /// `true` if the spelling of a number (`1` or `1.0`) can change the answer.
    pub(crate) fn spelled(&self) -> bool {
        self.spelled
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, lit: Lit) -> &Node {
        self.nodes.get(lit.index()).unwrap_or(&TRUE_NODE)
    }

    pub(crate) fn intern(&mut self, node: Node) -> Lit {
        if let Some(lit) = self.index.get(&node) {
            return *lit;
        }
        let lit = Lit::positive(self.nodes.len());
        self.nodes.push(node.clone());
        self.index.insert(node, lit);
        lit
    }

    pub(crate) fn open_loop(&mut self) -> u32 {
        self.loops.push(Lit::TRUE);
        u32::try_from(self.loops.len() - 1).unwrap_or(u32::MAX)
    }

    pub(crate) fn close_loop(&mut self, slot: u32, body: Lit) {
        if let Some(entry) = self.loops.get_mut(slot as usize) {
            *entry = body;
        }
    }

    /// Replaces a loop by its body; returns any other literal unchanged.
    pub(crate) fn unfold(&self, lit: Lit) -> Lit {
        let mut lit = lit;
        for _ in 0..=self.loops.len() {
            let Node::Loop(slot) = self.node(lit) else { return lit };
            let body = self.loops.get(*slot as usize).copied().unwrap_or(Lit::TRUE);
            lit = if lit.negated() { !body } else { body };
        }
        lit
    }

    /// `true` if a definition refers to itself under an odd number of negations. `oneOf` does not count.
    pub(crate) fn recurs_under_negation(&self) -> bool {
        (0..self.loops.len()).any(|slot| self.reaches_itself_negated(slot))
    }

    fn reaches_itself_negated(&self, slot: usize) -> bool {
        let mut seen = ahash::AHashSet::new();
        let mut queue: Vec<Lit> = self.loops.get(slot).copied().into_iter().collect();
        while let Some(lit) = queue.pop() {
            if !seen.insert(lit) {
                continue;
            }
            let signed = |child: &Lit| if lit.negated() { !*child } else { *child };
            match self.node(lit) {
                Node::Loop(own) if *own as usize == slot && lit.negated() => return true,
                Node::Loop(own) if *own as usize == slot => {}
                Node::Loop(own) => queue.extend(self.loops.get(*own as usize).map(signed)),
                Node::All(children) | Node::One(children) => queue.extend(children.iter().map(signed)),
                Node::Items { prefix, rest } => queue.extend(prefix.iter().chain([rest]).map(signed)),
                Node::Has { item, .. } => queue.push(signed(item)),
                Node::Names(name) => queue.push(signed(name)),
                Node::Properties(fields) => {
                    let named = fields.named.iter().map(|(_, lit)| lit);
                    let patterns = fields.patterns.iter().map(|(_, lit)| lit);
                    queue.extend(named.chain(patterns).chain([&fields.rest]).map(signed));
                }
                _ => {}
            }
        }
        false
    }

    pub(crate) fn kinds(&mut self, kinds: Kinds) -> Lit {
        match kinds {
            Kinds::ALL => Lit::TRUE,
            Kinds::NONE => Lit::FALSE,
            _ => {
                self.spelled |= kinds.has(Kind::Integer) != kinds.has(Kind::WholeFloat);
                self.intern(Node::Kinds(kinds))
            }
        }
    }

    /// Returns the conjunction, simplified.
    pub(crate) fn all(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        let mut flat: Vec<Lit> = Vec::new();
        let mut kinds = Kinds::ALL;
        let mut queue: Vec<Lit> = lits.into_iter().collect();
        queue.reverse();
        while let Some(lit) = queue.pop() {
            match (self.node(lit), lit.negated()) {
                (Node::True, false) => {}
                (Node::True, true) => return Lit::FALSE,
                (Node::Kinds(own), false) => kinds = kinds.and(*own),
                (Node::Kinds(own), true) => kinds = kinds.and(own.not()),
                (Node::All(children), false) => queue.extend(children.iter().rev()),
                _ => flat.push(lit),
            }
        }
        if kinds == Kinds::NONE {
            return Lit::FALSE;
        }
        self.merge_sets(&mut flat);
        flat.sort_unstable();
        flat.dedup();
        if flat.contains(&Lit::FALSE) || flat.windows(2).any(|pair| matches!(pair, [a, b] if *a == !*b)) {
            return Lit::FALSE;
        }
        // A positive atom of no admitted kind is always true here; a negated atom admits only its own kind.
        flat.retain(|lit| match self.node(*lit).kinds() {
            Some(own) if !lit.negated() => own.and(kinds) != Kinds::NONE,
            _ => true,
        });
        if kinds != Kinds::ALL {
            let lit = self.kinds(kinds);
            flat.push(lit);
            flat.sort_unstable();
        }
        match flat.as_slice() {
            [] => Lit::TRUE,
            [only] => *only,
            _ => self.intern(Node::All(flat.into_boxed_slice())),
        }
    }

    pub(crate) fn any(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        let negated: Vec<Lit> = lits.into_iter().map(|lit| !lit).collect();
        !self.all(negated)
    }

    /// Returns the formula that exactly one of the literals holds.
    pub(crate) fn one(&mut self, lits: Vec<Lit>) -> Lit {
        let mut open: Vec<Lit> = lits.into_iter().filter(|lit| *lit != Lit::FALSE).collect();
        if let Some(at) = open.iter().position(|lit| *lit == Lit::TRUE) {
            open.remove(at);
            return self.all(open.into_iter().map(|lit| !lit));
        }
        open.sort_unstable();
        // A branch that occurs twice can never be the only one that holds.
        let twice: Vec<Lit> = open
            .windows(2)
            .filter_map(|pair| matches!(pair, [a, b] if a == b).then(|| pair.first().copied())?)
            .collect();
        if !twice.is_empty() {
            open.retain(|lit| !twice.contains(lit));
            let rest = self.one(open);
            return self.all(twice.into_iter().map(|lit| !lit).chain([rest]));
        }
        if let Some(union) = self.disjoint_union(&open) {
            return union;
        }
        match open.as_slice() {
            [] => Lit::FALSE,
            [only] => *only,
            _ => self.intern(Node::One(open.into_boxed_slice())),
        }
    }

    /// Converts `oneOf` over distinct constants of one kind to their set.
    fn disjoint_union(&mut self, lits: &[Lit]) -> Option<Lit> {
        let mut texts: Vec<Box<str>> = Vec::new();
        let mut numbers: Vec<Rational> = Vec::new();
        for lit in lits {
            match (self.node(*lit), lit.negated()) {
                (Node::TextIn(set), false) => texts.extend(set.iter().cloned()),
                (Node::NumberIn(set), false) => numbers.extend(set.iter().cloned()),
                _ => return None,
            }
        }
        if texts.is_empty() == numbers.is_empty() {
            return None;
        }
        let (before_texts, before_numbers) = (texts.len(), numbers.len());
        texts.sort_unstable();
        texts.dedup();
        numbers.sort_unstable();
        numbers.dedup();
        if (texts.len(), numbers.len()) != (before_texts, before_numbers) {
            return None;
        }
        Some(if numbers.is_empty() { self.text_in(texts) } else { self.number_in(numbers) })
    }

    pub(crate) fn text_in(&mut self, mut texts: Vec<Box<str>>) -> Lit {
        texts.sort_unstable();
        texts.dedup();
        self.intern(Node::TextIn(texts.into_boxed_slice()))
    }

    pub(crate) fn number_in(&mut self, mut numbers: Vec<Rational>) -> Lit {
        numbers.sort_unstable();
        numbers.dedup();
        self.intern(Node::NumberIn(numbers.into_boxed_slice()))
    }

    /// Merges the sets of the same kind and sign in a conjunction into one set.
    fn merge_sets(&mut self, lits: &mut Vec<Lit>) {
        let is_set =
            |arena: &Arena, lit: &Lit| matches!(arena.node(*lit), Node::TextIn(_) | Node::NumberIn(_));
        if lits.iter().filter(|lit| is_set(self, lit)).count() < 2 {
            return;
        }
        let sets: Vec<Lit> = lits.iter().copied().filter(|lit| is_set(self, lit)).collect();
        lits.retain(|lit| !sets.contains(lit));
        let mut texts: [Option<Vec<Box<str>>>; 2] = [None, None];
        let mut numbers: [Option<Vec<Rational>>; 2] = [None, None];
        for lit in sets {
            let [positive_texts, negative_texts] = &mut texts;
            let [positive_numbers, negative_numbers] = &mut numbers;
            match (self.node(lit), lit.negated()) {
                (Node::TextIn(set), false) => meet(positive_texts, set),
                (Node::TextIn(set), true) => join(negative_texts, set),
                (Node::NumberIn(set), false) => meet(positive_numbers, set),
                (Node::NumberIn(set), true) => join(negative_numbers, set),
                _ => {}
            }
        }
        let [positive_texts, negative_texts] = texts;
        let [positive_numbers, negative_numbers] = numbers;
        lits.extend(positive_texts.map(|set| self.text_in(set)));
        lits.extend(negative_texts.map(|set| !self.text_in(set)));
        lits.extend(positive_numbers.map(|set| self.number_in(set)));
        lits.extend(negative_numbers.map(|set| !self.number_in(set)));
    }

    /// Specialises the literal to values of one kind: atoms of other kinds become constants.
    pub(crate) fn specialise(&mut self, lit: Lit, kind: Kind) -> Lit {
        let lit = self.unfold(lit);
        if let Some(known) = self.special.get(&(lit, kind)) {
            return *known;
        }
        let own = kind.set();
        let positive = if lit.negated() { !lit } else { lit };
        let result = match self.node(positive) {
            Node::True => Lit::TRUE,
            Node::Kinds(kinds) if kinds.and(own) == Kinds::NONE => Lit::FALSE,
            Node::Kinds(_) => Lit::TRUE,
            Node::All(children) => {
                let children = children.clone();
                let mut special = Vec::with_capacity(children.len());
                for child in children {
                    special.push(self.specialise(child, kind));
                }
                self.all(special)
            }
            Node::One(children) => {
                let children = children.clone();
                let mut special = Vec::with_capacity(children.len());
                for child in children {
                    special.push(self.specialise(child, kind));
                }
                self.one(special)
            }
            node => match node.kinds() {
                Some(kinds) if kinds.and(own) == Kinds::NONE => Lit::TRUE,
                _ => positive,
            },
        };
        let result = if lit.negated() { !result } else { result };
        self.special.insert((lit, kind), result);
        result
    }
}

fn meet<T: Clone + Ord>(into: &mut Option<Vec<T>>, set: &[T]) {
    match into {
        None => *into = Some(set.to_vec()),
        Some(own) => own.retain(|item| set.binary_search(item).is_ok()),
    }
}

fn join<T: Clone>(into: &mut Option<Vec<T>>, set: &[T]) {
    into.get_or_insert_with(Vec::new).extend(set.iter().cloned());
}
