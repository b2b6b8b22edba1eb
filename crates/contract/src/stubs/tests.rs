use super::*;

const WEATHER: &str = r##"{"name":"get_weather","description":"Tells */ the weather.","inputSchema":{"type":"object","required":["location"],
    "properties":{"location":{"type":"string","description":"City."},"units":{"enum":["c","f"]},"x-day":{"type":["integer","null"]}}},
    "outputSchema":{"type":"object","required":["tree"],"properties":{"tree":{"$ref":"#/$defs/node"}},
    "$defs":{"node":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/node"}},"up":{"$ref":"#/$defs/node"}}}}}}"##;

fn of(language: Language) -> String {
    stubs(&[Definition::parse(WEATHER).unwrap()], language)
}

/// R8.3: typed stubs describe the same types in each language; tests with the languages' own compilers prove that
/// they compile.
#[test]
fn typescript_reads_as_people_write_it() {
    let text = of(Language::TypeScript);
    for line in [
        "export type GetWeatherArguments = {",
        "  location: string;",
        "  units?: \"c\" | \"f\";",
        "  \"x-day\"?: number | null;",
        "  kids?: Array<GetWeatherResultTreeNode>;",
        "  /** Tells *\\/ the weather. */",
        "  \"get_weather\": { arguments: GetWeatherArguments; result: GetWeatherResult };",
    ] {
        assert!(text.lines().any(|own| own == line), "{line}\n{text}");
    }
}

/// R8.3: a key that is not a valid attribute name leads to the functional form of `TypedDict`.
#[test]
fn python_reads_as_people_write_it() {
    let text = of(Language::Python);
    for line in [
        "GetWeatherArguments = TypedDict(\"GetWeatherArguments\", {",
        "    \"units\": \"NotRequired[Literal[\\\"c\\\", \\\"f\\\"]]\",",
        "    kids: NotRequired[List[GetWeatherResultTreeNode]]",
        "    \"get_weather\": (\"GetWeatherArguments\", \"GetWeatherResult\"),",
    ] {
        assert!(text.lines().any(|own| own == line), "{line}\n{text}");
    }
}

/// R8.3: recursion is boxed, null becomes `Option`, and a choice becomes an enumeration.
#[test]
fn rust_reads_as_people_write_it() {
    let text = of(Language::Rust);
    for line in [
        "pub struct GetWeatherArguments {",
        "    pub location: String,",
        "    pub units: Option<GetWeatherArgumentsUnits>,",
        "    pub x_day: Option<i64>,",
        "    pub up: Option<Box<GetWeatherResultTreeNode>>,",
        "pub enum GetWeatherArgumentsUnits {",
        "    type Result = GetWeatherResult;",
    ] {
        assert!(text.lines().any(|own| own == line), "{line}\n{text}");
    }
}
