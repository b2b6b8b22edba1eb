//! Tests of every check of a token, with really signed tokens.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_testkit::signer::Signer;

use super::*;
use crate::limits::{JWKS_AGE_MS_MAX, JWKS_BYTES_MAX, JWKS_KEYS_MAX, JWKS_REFETCH_MS_MIN, JWT_LEEWAY_S};
use crate::mirrors::head_with;

const ISSUER: &str = "https://issuer";
const RESOURCE: &str = "https://gateway/mcp";
const NOW: u64 = 1_800_000_000;

fn claims() -> Value {
    json!({"iss": ISSUER, "aud": RESOURCE, "sub": "ada", "exp": NOW + 300, "scope": "mcp other"})
}

/// Verifier with the keys of `set`.
fn verifier(set: &Value) -> Arc<JwtBearer> {
    let bearer = Bearer::new(None).with("operator", "s3cret");
    let jwt = JwtBearer::new(bearer, ISSUER, RESOURCE, &["mcp".to_owned()]);
    jwt.set_keys(&set.to_string()).unwrap();
    jwt
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn ada() -> Principal {
    Principal::subject("https://issuer#ada")
}

/// Verifies a token of a known key with changes to its header.
fn with_header(changes: &[(&str, Value)]) -> Result<Principal, TokenRefusal> {
    let signer = Signer::new("k1").unwrap();
    let mut header = signer.header();
    for (name, value) in changes {
        header[*name] = value.clone();
    }
    verifier(&signer.keys()).verify(&signer.signed(&header.to_string(), &claims().to_string()), at(NOW))
}

/// Verifies a token with a change to one claim; `None` removes the claim.
fn with_claim(name: &str, value: Option<Value>) -> Result<Principal, TokenRefusal> {
    let signer = Signer::new("k1").unwrap();
    let mut claims = claims();
    match value {
        Some(value) => claims[name] = value,
        None => drop(claims.as_object_mut().unwrap().remove(name)),
    }
    verifier(&signer.keys()).verify(&signer.token(&claims), at(NOW))
}

/// Verifies a token whose key was published with a change.
fn with_key(algorithm: &str, name: &str, value: Option<Value>) -> Result<Principal, TokenRefusal> {
    let signer = Signer::with(algorithm, "k1").unwrap();
    let mut key = signer.key();
    match value {
        Some(value) => key[name] = value,
        None => drop(key.as_object_mut().unwrap().remove(name)),
    }
    verifier(&json!({ "keys": [key] })).verify(&signer.token(&claims()), at(NOW))
}

/// R5.9: JWT via JWKS: every accepted algorithm verifies with its own key, and with no other.
#[test]
fn a_signature_of_each_algorithm_is_verified_with_its_own_key_only() {
    for algorithm in ["EdDSA", "ES256", "ES384", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] {
        let signer = Signer::with(algorithm, "k1").unwrap();
        let jwt = verifier(&signer.keys());
        let token = signer.token(&claims());
        assert_eq!(jwt.verify(&token, at(NOW)), Ok(ada()), "{algorithm}");
        let forged = format!("{}A{}", &token[..60], &token[61..]);
        assert_ne!(forged, token);
        assert!(jwt.verify(&forged, at(NOW)).is_err(), "{algorithm}: a changed claim");
        let (message, signature) = token.rsplit_once('.').unwrap();
        let other = if signature.starts_with('A') { "B" } else { "A" };
        let forged = format!("{message}.{other}{}", &signature[1..]);
        assert_eq!(jwt.verify(&forged, at(NOW)), Err(TokenRefusal::Signature), "{algorithm}");
        assert!(jwt.verify(&format!("{message}."), at(NOW)).is_err(), "{algorithm}: no signature");
    }
    let (mine, other) = (Signer::new("k1").unwrap(), Signer::new("k1").unwrap());
    assert_eq!(verifier(&mine.keys()).verify(&other.token(&claims()), at(NOW)), Err(TokenRefusal::Signature));
}

/// R5.9: JWT with audience check: each claim is required, exact and of its type.
#[test]
fn a_malformed_claim_refuses_the_token_and_is_never_ignored() {
    for name in ["exp", "nbf", "iat"] {
        for bad in
            [json!("1900000000"), json!(null), json!(-1), json!(-0.5), json!(true), json!([]), json!({})]
        {
            let expected = "seconds since 1970";
            assert_eq!(
                with_claim(name, Some(bad.clone())),
                Err(TokenRefusal::Malformed { name, expected }),
                "{name} {bad}"
            );
        }
    }
    for name in ["iss", "sub"] {
        for bad in [json!(7), json!(null), json!(""), json!(["ada"]), json!({})] {
            let expected = "a string with text";
            assert_eq!(
                with_claim(name, Some(bad.clone())),
                Err(TokenRefusal::Malformed { name, expected }),
                "{name} {bad}"
            );
        }
    }
    for bad in [json!(7), json!(null), json!(""), json!([]), json!([RESOURCE, 7]), json!([RESOURCE, ""])] {
        let expected = "a string or an array of strings, with text";
        let malformed = TokenRefusal::Malformed { name: "aud", expected };
        assert_eq!(with_claim("aud", Some(bad.clone())), Err(malformed), "aud {bad}");
    }
    for (name, bad) in [("scope", json!(null)), ("scope", json!(1)), ("scp", json!(["mcp", 1]))] {
        let expected = "a string or an array of strings";
        assert_eq!(with_claim(name, Some(bad)), Err(TokenRefusal::Malformed { name, expected }));
    }
    for name in ["iss", "sub", "aud", "exp"] {
        assert_eq!(with_claim(name, None), Err(TokenRefusal::Missing(name)));
    }
    // A number beyond the range of a double is invalid JSON to the parser.
    let signer = Signer::new("k1").unwrap();
    let endless = claims().to_string().replace(&format!("{}", NOW + 300), "1e999");
    let refused =
        verifier(&signer.keys()).verify(&signer.signed(&signer.header().to_string(), &endless), at(NOW));
    assert!(matches!(refused, Err(TokenRefusal::Json(Part::Claims, _))), "{refused:?}");
}

/// R5.9: JWT with audience check: issuer, audience and scopes have to match.
#[test]
fn a_token_counts_only_for_this_issuer_this_audience_and_these_scopes() {
    for other in ["https://evil", "https://issuer/", "HTTPS://ISSUER", "https://issuer.evil"] {
        assert_eq!(with_claim("iss", Some(json!(other))), Err(TokenRefusal::Issuer), "{other}");
    }
    assert_eq!(with_claim("aud", Some(json!("https://elsewhere"))), Err(TokenRefusal::Audience));
    assert_eq!(with_claim("aud", Some(json!(["https://elsewhere"]))), Err(TokenRefusal::Audience));
    assert_eq!(with_claim("aud", Some(json!(["https://elsewhere", RESOURCE]))), Ok(ada()));
    assert_eq!(with_claim("scope", Some(json!("other mcp2"))), Err(TokenRefusal::Scope));
    assert_eq!(with_claim("scope", None), Err(TokenRefusal::Scope));
    let signer = Signer::new("k1").unwrap();
    for scp in [json!("other mcp"), json!(["other", "mcp"])] {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove("scope");
        claims["scp"] = scp;
        assert_eq!(verifier(&signer.keys()).verify(&signer.token(&claims), at(NOW)), Ok(ada()));
    }
}

/// R5.9: a token is valid from `nbf` until `exp`, with a tolerance of `JWT_LEEWAY_S`.
#[test]
fn a_token_is_valid_between_nbf_and_exp_with_jwt_leeway_s() {
    let valid = |name, second| with_claim(name, Some(json!(second)));
    assert_eq!(valid("exp", NOW - JWT_LEEWAY_S + 1), Ok(ada()));
    assert_eq!(valid("exp", NOW - JWT_LEEWAY_S), Err(TokenRefusal::Expired));
    assert_eq!(valid("exp", 0), Err(TokenRefusal::Expired));
    assert_eq!(valid("nbf", NOW + JWT_LEEWAY_S), Ok(ada()));
    assert_eq!(valid("nbf", NOW + JWT_LEEWAY_S + 1), Err(TokenRefusal::NotYetValid));
    assert_eq!(with_claim("exp", Some(json!(NOW as f64 + 0.5))), Ok(ada()));
    // A clock before 1970 accepts nothing.
    let signer = Signer::new("k1").unwrap();
    let before = UNIX_EPOCH - Duration::from_secs(1);
    assert_eq!(verifier(&signer.keys()).verify(&signer.token(&claims()), before), Err(TokenRefusal::Expired));
}

/// R5.9: `none`, symmetric algorithms, unknown extensions and other kinds of tokens are refused.
#[test]
fn a_header_decides_nothing_that_the_issuer_did_not_publish() {
    for (alg, refusal) in [
        (json!("none"), TokenRefusal::Unsigned),
        (json!("nOnE"), TokenRefusal::Unsigned),
        (json!("HS256"), TokenRefusal::Symmetric),
        (json!("HS512"), TokenRefusal::Symmetric),
        (json!("ES256K"), TokenRefusal::UnknownAlgorithm),
        (json!("eddsa"), TokenRefusal::UnknownAlgorithm),
        (json!("RS256"), TokenRefusal::AlgorithmOfKey),
        (json!(null), TokenRefusal::Malformed { name: "alg", expected: "a string with text" }),
        (json!(""), TokenRefusal::Malformed { name: "alg", expected: "a string with text" }),
    ] {
        assert_eq!(with_header(&[("alg", alg.clone())]), Err(refusal), "{alg}");
    }
    for crit in [json!(["b64"]), json!(["exp"]), json!([]), json!(null), json!("b64")] {
        assert_eq!(with_header(&[("crit", crit.clone()), ("b64", json!(true))]), Err(TokenRefusal::Critical));
    }
    for kind in ["JWT", "jwt", "at+jwt", "application/at+jwt"] {
        assert_eq!(with_header(&[("typ", json!(kind))]), Ok(ada()), "{kind}");
    }
    assert_eq!(with_header(&[("typ", json!("logout+jwt"))]), Err(TokenRefusal::Kind));
    let malformed = TokenRefusal::Malformed { name: "kid", expected: "a string with text" };
    assert_eq!(with_header(&[("kid", json!(1))]), Err(malformed));
    assert_eq!(with_header(&[("kid", json!("k2"))]), Err(TokenRefusal::UnknownKey));
    // A key inside the token is not used.
    let (mine, evil) = (Signer::new("k1").unwrap(), Signer::new("k1").unwrap());
    let mut header = evil.header();
    header["jwk"] = evil.key();
    let token = evil.signed(&header.to_string(), &claims().to_string());
    assert_eq!(verifier(&mine.keys()).verify(&token, at(NOW)), Err(TokenRefusal::Signature));
}

/// R5.9: two parsers cannot read different values from a token.
#[test]
fn duplicate_members_and_loose_encodings_are_refused() {
    let signer = Signer::new("k1").unwrap();
    let jwt = verifier(&signer.keys());
    let (header, body) = (signer.header().to_string(), claims().to_string());
    let twice = |text: &str, member: &str| text.replacen('{', &format!("{{{member},"), 1);
    let token = signer.signed(&header, &twice(&body, "\"sub\":\"eve\""));
    assert!(jwt.verify(&token, at(NOW)).unwrap_err().to_string().contains("duplicate key \"sub\""));
    let token = signer.signed(&twice(&header, "\"alg\":\"none\""), &body);
    assert!(jwt.verify(&token, at(NOW)).unwrap_err().to_string().contains("duplicate key \"alg\""));
    let token = signer.signed(&header, &twice(&body, "\"s\\u0075b\":\"eve\""));
    assert!(jwt.verify(&token, at(NOW)).unwrap_err().to_string().contains("duplicate key \"sub\""));
    for (header, body, refusal) in [
        ("[]", &*body, TokenRefusal::NotObject(Part::Header)),
        (&*header, "\"x\"", TokenRefusal::NotObject(Part::Claims)),
    ] {
        assert_eq!(jwt.verify(&signer.signed(header, body), at(NOW)), Err(refusal));
    }
    let token = signer.token(&claims());
    for (bad, refusal) in [
        (String::new(), TokenRefusal::NotCompact),
        ("abc".to_owned(), TokenRefusal::NotCompact),
        ("a.b".to_owned(), TokenRefusal::NotCompact),
        (format!("{token}.x"), TokenRefusal::NotCompact),
        (format!("{token}=="), TokenRefusal::Encoding(Part::Signature)),
        (format!("{token} "), TokenRefusal::Encoding(Part::Signature)),
        (format!("+{token}"), TokenRefusal::Encoding(Part::Header)),
    ] {
        assert_eq!(jwt.verify(&bad, at(NOW)), Err(refusal), "{bad}");
    }
}

/// R5.9: a published key verifies only what it was published for.
#[test]
fn a_key_is_used_only_for_its_use_operations_algorithm_and_type() {
    use TokenRefusal::UnusableKey;
    for (name, value, refusal) in [
        ("use", json!("enc"), UnusableKey(Unusable::Use)),
        ("use", json!(1), UnusableKey(Unusable::Use)),
        ("key_ops", json!(["sign"]), UnusableKey(Unusable::Operations)),
        ("key_ops", json!([]), UnusableKey(Unusable::Operations)),
        ("key_ops", json!("verify"), UnusableKey(Unusable::Operations)),
        ("alg", json!("RS256"), UnusableKey(Unusable::Algorithm)),
        ("alg", json!("HS256"), UnusableKey(Unusable::Algorithm)),
        ("alg", json!(null), UnusableKey(Unusable::Algorithm)),
        ("kty", json!("oct"), UnusableKey(Unusable::Kind)),
        ("crv", json!("X25519"), UnusableKey(Unusable::Kind)),
        ("x", json!("AAAA"), UnusableKey(Unusable::Material)),
        ("x", json!("not base64!"), UnusableKey(Unusable::Material)),
    ] {
        assert_eq!(with_key("EdDSA", name, Some(value.clone())), Err(refusal), "{name} {value}");
    }
    for (name, value) in [("use", None), ("alg", None), ("key_ops", Some(json!(["sign", "verify"])))] {
        assert_eq!(with_key("EdDSA", name, value), Ok(ada()), "{name}");
    }
    // A key for one RSA algorithm is not used with another.
    assert_eq!(with_key("RS256", "alg", Some(json!("PS256"))), Err(TokenRefusal::AlgorithmOfKey));
    assert_eq!(with_key("PS512", "alg", None), Ok(ada()));
    let short = "AQAB".repeat(85);
    assert_eq!(with_key("RS256", "n", Some(json!(short))), Err(UnusableKey(Unusable::Material)));
    // Leading zeros do not change the number.
    let signer = Signer::with("RS256", "k1").unwrap();
    let n = URL_SAFE_NO_PAD.decode(signer.key()["n"].as_str().unwrap()).unwrap();
    let padded = URL_SAFE_NO_PAD.encode([vec![0], n].concat());
    assert_eq!(with_key("RS256", "n", Some(json!(padded))), Ok(ada()));
}

/// R5.9: a token without `kid` is verified only if it can refer to exactly one key.
#[test]
fn a_token_must_mean_exactly_one_key() {
    let (one, two) = (Signer::new("k1").unwrap(), Signer::new("k2").unwrap());
    let curve = Signer::with("ES256", "k3").unwrap();
    let header = |signer: &Signer| {
        let mut header = signer.header();
        header.as_object_mut().unwrap().remove("kid");
        header.to_string()
    };
    let token = one.signed(&header(&one), &claims().to_string());
    assert_eq!(verifier(&json!({"keys": [one.key(), curve.key()]})).verify(&token, at(NOW)), Ok(ada()));
    let refused = verifier(&json!({"keys": [one.key(), two.key()]})).verify(&token, at(NOW));
    assert_eq!(refused, Err(TokenRefusal::AmbiguousKey));
    assert_eq!(verifier(&json!({"keys": []})).verify(&token, at(NOW)), Err(TokenRefusal::UnknownKey));
}

/// R5.9: `JWT_BYTES_MAX`, `JWKS_BYTES_MAX` and `JWKS_KEYS_MAX` are refused by name.
#[test]
fn tokens_and_key_sets_over_their_limits_are_refused_by_name() {
    let signer = Signer::new("k1").unwrap();
    let jwt = verifier(&signer.keys());
    let padded = |bytes: usize| {
        let mut claims = claims();
        claims["groups"] = json!("x".repeat(bytes));
        signer.token(&claims)
    };
    // Three bytes of claims become four bytes of the token.
    let mut fill = (JWT_BYTES_MAX - padded(0).len()) / 4 * 3 - 6;
    while padded(fill + 1).len() <= JWT_BYTES_MAX {
        fill += 1;
    }
    assert_eq!(jwt.verify(&padded(fill), at(NOW)), Ok(ada()));
    let refused = jwt.verify(&padded(fill + 1), at(NOW)).unwrap_err();
    assert_eq!(refused.to_string(), "JWT_BYTES_MAX: the token is longer than 16384 bytes");

    let set = |count: usize| json!({"keys": vec![signer.key(); count]}).to_string();
    assert_eq!(jwt.set_keys(&set(JWKS_KEYS_MAX)), Ok(()));
    let refused = jwt.set_keys(&set(JWKS_KEYS_MAX + 1)).unwrap_err().to_string();
    assert_eq!(refused, "JWKS_KEYS_MAX: the key set has more than 64 keys");
    let one = signer.keys().to_string();
    let padded = |bytes: usize| format!("{one}{}", " ".repeat(bytes - one.len()));
    assert_eq!(jwt.set_keys(&padded(JWKS_BYTES_MAX)), Ok(()));
    let refused = jwt.set_keys(&padded(JWKS_BYTES_MAX + 1)).unwrap_err().to_string();
    assert_eq!(refused, "JWKS_BYTES_MAX: the key set is longer than 524288 bytes");
    for bad in ["{}", "[]", "", "{\"keys\":{}}", "{\"keys\":[1]}", "{\"keys\":[],\"keys\":[]}"] {
        assert!(jwt.set_keys(bad).is_err(), "{bad}");
    }
    assert_eq!(jwt.verify(&signer.token(&claims()), at(NOW)), Ok(ada()), "a refused set changes nothing");
}

/// R5.9: made-up key ids cause one fetch per `JWKS_REFETCH_MS_MIN`, and without them there is one per
/// `JWKS_AGE_MS_MAX`.
#[tokio::test(start_paused = true)]
async fn unknown_key_ids_cause_one_fetch_per_interval() {
    let (first, second) = (Signer::new("k1").unwrap(), Signer::new("k2").unwrap());
    let jwt = verifier(&json!({"keys": []}));
    let fetches = Arc::new(AtomicUsize::new(0));
    let (count, keys) = (fetches.clone(), [first.keys(), second.keys()]);
    let following = tokio::spawn(jwt.clone().follow_keys(move || {
        let answer = keys.get(count.fetch_add(1, Ordering::Relaxed)).map(Value::to_string);
        async move { answer.ok_or("the issuer is down") }
    }));
    let interval = Duration::from_millis(JWKS_REFETCH_MS_MIN);
    tokio::time::sleep(interval / 2).await;
    assert_eq!(jwt.verify(&first.token(&claims()), at(NOW)), Ok(ada()));
    assert_eq!(jwt.verify(&second.token(&claims()), at(NOW)), Err(TokenRefusal::UnknownKey));
    tokio::time::sleep(interval).await;
    assert_eq!(jwt.verify(&second.token(&claims()), at(NOW)), Ok(ada()), "the new key was fetched");
    for id in 0..1_000 {
        let stranger = Signer::new(&format!("made-up-{id}")).unwrap();
        assert_eq!(jwt.verify(&stranger.token(&claims()), at(NOW)), Err(TokenRefusal::UnknownKey));
        tokio::time::sleep(interval / 100).await;
    }
    let caused = fetches.load(Ordering::Relaxed) - 2;
    assert!((9..=11).contains(&caused), "{caused} fetches in ten intervals");
    assert_eq!(jwt.verify(&second.token(&claims()), at(NOW)), Ok(ada()), "failed fetches keep the keys");
    tokio::time::sleep(interval * 2).await;
    let before = fetches.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(JWKS_AGE_MS_MAX)).await;
    assert_eq!(fetches.load(Ordering::Relaxed), before + 1);
    following.abort();
}

/// R5.9: operator's tokens are accepted beside those of an issuer; a client gets RFC 6750 error codes only.
#[test]
fn a_client_learns_the_error_code_and_not_the_reason() {
    let signer = Signer::new("k1").unwrap();
    let jwt = verifier(&signer.keys());
    let ask = |token: &str| {
        let head = head_with(&[("Authorization", &format!("Bearer {token}"))]);
        jwt.principal(&head).map_err(|challenge| challenge.www_authenticate)
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut claims = claims();
    claims["exp"] = json!(now + 300);
    assert_eq!(ask(&signer.token(&claims)), Ok(ada()));
    assert_eq!(ask("s3cret"), Ok(Principal::subject("operator")));
    assert_eq!(ask("abc").unwrap_err(), "Bearer realm=\"toolcrib\", error=\"invalid_token\"");
    claims["scope"] = json!("other");
    let refused = ask(&signer.token(&claims)).unwrap_err();
    assert_eq!(refused, "Bearer realm=\"toolcrib\", error=\"insufficient_scope\", scope=\"mcp\"");
}
