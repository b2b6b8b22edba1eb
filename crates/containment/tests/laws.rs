//! Laws of containment as properties over random schemas.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use support::random::Random;
use support::validators::Validators;
use support::{instances, schemas};
use toolcrib_containment::{Dialect, Options, Prover, Verdict, World, crosscheck};

fn verdict(producer: &Value, consumer: &Value, world: World) -> Verdict {
    let prover = Prover::new(Options { world, ..Options::default() });
    prover.judge(producer, consumer, (Dialect::default(), Dialect::default())).unwrap().verdict
}

fn not_breaking(producer: &Value, consumer: &Value, world: World) {
    if let Verdict::Breaking(witness) = verdict(producer, consumer, world) {
        panic!("{} separates\nP {producer}\nC {consumer}", witness.value);
    }
}

fn draw(seed: u64) -> (Value, Value, Random) {
    let mut random = Random::new(seed);
    let first = schemas::document(&mut random);
    let second = schemas::document(&mut random);
    (first, second, random)
}

/// Prepares a document for use as a subschema: with an `$id`, its `$defs` stay reachable.
fn embedded(schema: &Value, name: &str) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.insert("$id".to_owned(), json!(format!("https://schema.test/{name}")));
    }
    schema
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        Value::Object(map) => Value::Object(
            map.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect::<Map<_, _>>(),
        ),
        other => other.clone(),
    }
}

fn inlined(value: &Value, root: &Value, depth: usize) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(|item| inlined(item, root, depth)).collect()),
        Value::Object(map) => {
            if let Some(target) =
                map.get("$ref").and_then(Value::as_str).and_then(|text| root.pointer(&text[1..]))
                && map.len() == 1
                && depth > 0
            {
                return inlined(target, root, depth - 1);
            }
            Value::Object(
                map.iter()
                    .map(|(key, value)| (key.clone(), inlined(value, root, depth)))
                    .collect::<Map<_, _>>(),
            )
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// R7.3: A ⊆ A, in both worlds.
    #[test]
    fn containment_is_reflexive(seed in any::<u64>()) {
        let (schema, _, _) = draw(seed);
        for world in [World::Open, World::Declared] {
            let compatible = matches!(verdict(&schema, &schema, world), Verdict::Compatible(_));
            prop_assert!(compatible, "{schema}");
        }
    }

    /// R7.3: A ⊆ A ∪ B and A ∩ B ⊆ A.
    #[test]
    fn unions_widen_and_intersections_narrow(seed in any::<u64>()) {
        let (first, second, _) = draw(seed);
        let (first_inside, second_inside) = (embedded(&first, "a"), embedded(&second, "b"));
        not_breaking(&first, &json!({"anyOf": [first_inside, second_inside]}), World::Open);
        let (first_inside, second_inside) = (embedded(&first, "a"), embedded(&second, "b"));
        not_breaking(&json!({"allOf": [first_inside, second_inside]}), &first, World::Open);
    }

    /// R7.3: A ⊆ B and B ⊆ C imply A ⊆ C.
    #[test]
    fn containment_is_transitive(seed in any::<u64>()) {
        let (first, _, mut random) = draw(seed);
        let second = schemas::mutated(&first, &mut random);
        let third = schemas::mutated(&second, &mut random);
        let holds = |a: &Value, b: &Value| matches!(verdict(a, b, World::Open), Verdict::Compatible(_));
        if holds(&first, &second) && holds(&second, &third) {
            not_breaking(&first, &third, World::Open);
        }
    }

    /// R7.3: containment in both directions implies the same set of values.
    #[test]
    fn containment_both_ways_is_equivalence(seed in any::<u64>()) {
        let (first, _, mut random) = draw(seed);
        let second = schemas::mutated(&first, &mut random);
        let holds = |a: &Value, b: &Value| matches!(verdict(a, b, World::Open), Verdict::Compatible(_));
        if holds(&first, &second) && holds(&second, &first) {
            let (one, other) = (Validators::new(&first, Dialect::default()), Validators::new(&second, Dialect::default()));
            let (Some(one), Some(other)) = (one, other) else { return Ok(()) };
            for _ in 0..60 {
                let value = instances::steered(&first, &first, &mut random, 4);
                prop_assert_eq!(one.first(&value), other.first(&value), "{}", value);
            }
        }
    }

    /// R7.3: key order and inlining of references do not change the verdict.
    #[test]
    fn order_of_keys_and_inlining_change_no_verdict(seed in any::<u64>()) {
        let (schema, _, _) = draw(seed);
        let turned = reversed(&schema);
        let flat = inlined(&schema, &schema, 3);
        for other in [&turned, &flat] {
            for (producer, consumer) in [(&schema, other), (other, &schema)] {
                let compatible = matches!(verdict(producer, consumer, World::Open), Verdict::Compatible(_));
                prop_assert!(compatible, "P {producer}\nC {consumer}");
            }
        }
    }

    /// R7.2: a closed producer sends no value that the open one would not: close(A) ⊆ A.
    #[test]
    fn closing_only_removes_values(seed in any::<u64>()) {
        let (schema, _, mut random) = draw(seed);
        let Some(validators) = Validators::new(&schema, Dialect::default()) else { return Ok(()) };
        for _ in 0..60 {
            let value = instances::steered(&schema, &schema, &mut random, 4);
            if crosscheck::declared(&schema, Dialect::default(), &value) {
                prop_assert!(validators.first(&value), "{schema}\n{value}");
            }
        }
    }

    /// R7.2: the normalised formula has the meaning of the original document.
    #[test]
    fn normalised_and_original_agree_on_values(seed in any::<u64>()) {
        let (schema, _, mut random) = draw(seed);
        let Some(validators) = Validators::new(&schema, Dialect::default()) else { return Ok(()) };
        let normal = crosscheck::normal_form(&schema, Dialect::default())
            .and_then(|normal| Validators::new(&normal, Dialect::Draft202012));
        for _ in 0..60 {
            let value = instances::steered(&schema, &schema, &mut random, 4);
            let own = crosscheck::normalised(&schema, Dialect::default(), &value);
            prop_assert_eq!(own, Some(validators.first(&value)), "{}\n{}", schema, value);
            if let Some(normal) = &normal {
                prop_assert_eq!(normal.first(&value), validators.first(&value), "{}\n{}", schema, value);
            }
        }
    }

    /// R7.3: `{const: v} ⊆ S` exactly when v is valid under S.
    #[test]
    fn a_constant_is_contained_where_it_is_valid(seed in any::<u64>()) {
        let (schema, _, mut random) = draw(seed);
        let Some(validators) = Validators::new(&schema, Dialect::default()) else { return Ok(()) };
        for _ in 0..6 {
            let value = instances::steered(&schema, &schema, &mut random, 3);
            let verdict = verdict(&json!({"const": value}), &schema, World::Open);
            match verdict {
                Verdict::Compatible(_) => prop_assert!(validators.first(&value), "{schema}\n{value}"),
                Verdict::Breaking(_) => prop_assert!(!validators.first(&value), "{schema}\n{value}"),
                Verdict::Unknown(obstacle) => prop_assert!(false, "{obstacle}\n{schema}\n{value}"),
            }
        }
    }
}
