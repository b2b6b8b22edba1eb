use super::*;
use crate::json::{Limits, OwnedDocument};

fn read(text: &str) -> Annotations {
    Annotations::read(OwnedDocument::parse(text, &Limits::message()).unwrap().root())
}

fn hints(read_only: Option<bool>, destructive: Option<bool>) -> Hints {
    Hints { read_only, destructive, ..Hints::default() }
}

/// R1.2: the bare names mean the same as the specification's.
#[test]
fn both_spellings_mean_the_same() {
    let spec = read(
        r#"{"title":"T","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"audience":"user","priority":3}"#,
    );
    let bare = read(
        r#"{"title":"T","readOnly":true,"destructive":false,"idempotent":true,"openWorld":false,"audience":"user","priority":3}"#,
    );
    assert_eq!(spec, bare);
    assert_eq!(spec.audience, Some(Audience::User));
    assert_eq!(spec.priority, Some(3));
}

/// R1.2: audience has three values, priority is an integer; anything else counts as absent.
#[test]
fn wrong_types_count_as_absent() {
    let odd = read(r#"{"readOnlyHint":"yes","audience":"everybody","priority":1.5,"title":7}"#);
    assert_eq!(odd, Annotations::default());
    for name in ["user", "assistant", "system"] {
        assert_eq!(Audience::from_name(name).map(Audience::name), Some(name));
    }
}

/// R1.3: an absent hint is its default, and an unannotated tool is never safe.
#[test]
fn unannotated_tool_is_destructive_and_open_world() {
    let effect = Annotations::default().effect();
    assert_eq!(effect, Effect { read_only: false, destructive: true, idempotent: false, open_world: true });
}

/// R1.3: destructive and idempotent mean something only when the tool is not read-only.
#[test]
fn read_only_tool_is_not_destructive_whatever_it_claims() {
    let effect = read(r#"{"readOnlyHint":true,"destructiveHint":true,"idempotentHint":false}"#).effect();
    assert!(effect.read_only && !effect.destructive && effect.idempotent);
}

/// R1.2: if both spellings are present and disagree, the stricter counts, in either order.
#[test]
fn contradicting_spellings_read_as_the_stricter() {
    for text in [r#"{"readOnly":true,"readOnlyHint":false}"#, r#"{"readOnlyHint":false,"readOnly":true}"#] {
        assert_eq!(read(text).hints.read_only, Some(false));
    }
    assert_eq!(read(r#"{"destructive":false,"destructiveHint":true}"#).hints.destructive, Some(true));
}

/// R1.4: the operator's override wins over everything.
#[test]
fn override_wins() {
    let live = hints(None, None);
    let effect = Effect::effective(&hints(Some(true), None), None, &live);
    assert!(effect.read_only && !effect.destructive);
    let strict = Effect::effective(&hints(Some(false), None), None, &hints(Some(true), None));
    assert!(!strict.read_only && strict.destructive && !strict.idempotent);
}

/// R1.4: without an override the stricter of the locked and the live value counts, both ways round.
#[test]
fn stricter_of_locked_and_live_wins() {
    let safe = hints(Some(true), None);
    let bare = hints(None, None);
    let none = Hints::default();
    for (locked, live) in [(&safe, &bare), (&bare, &safe)] {
        let effect = Effect::effective(&none, Some(locked), live);
        assert!(!effect.read_only && effect.destructive && !effect.idempotent && effect.open_world);
    }
    let additive = hints(Some(false), Some(false));
    assert!(!Effect::effective(&none, Some(&additive), &additive).destructive);
    assert!(!Effect::effective(&none, Some(&safe), &additive).destructive);
}

/// R1.2: on the wire the specification's names are emitted, everything else stays as it was.
#[test]
fn wire_form_has_the_spec_names_and_keeps_the_rest() {
    let text =
        r#"{"x-vendor":{"b":1,"a":2.50},"readOnly":true,"audience":"user","destructive":false,"priority":1}"#;
    let document = OwnedDocument::parse(text, &Limits::message()).unwrap();
    assert_eq!(
        wire(document.root()).unwrap(),
        r#"{"x-vendor":{"b":1,"a":2.50},"readOnlyHint":true,"audience":"user","destructiveHint":false,"priority":1}"#
    );
    let spec = OwnedDocument::parse(r#"{"readOnlyHint":true}"#, &Limits::message()).unwrap();
    assert_eq!(wire(spec.root()), None);
}

/// R1.2: two spellings of one hint become one member, with the stricter value.
#[test]
fn wire_form_never_has_a_hint_twice() {
    let text = r#"{"readOnlyHint":true,"readOnly":false,"destructive":"odd"}"#;
    let document = OwnedDocument::parse(text, &Limits::message()).unwrap();
    assert_eq!(wire(document.root()).unwrap(), r#"{"readOnlyHint":false,"destructiveHint":"odd"}"#);
}
