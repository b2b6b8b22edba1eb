//! R8.3: the stubs compile with each language's own compiler, for real definitions and for awkward ones.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop and say why"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use toolcrib_testkit::deps::Deps;

/// Names, keys and shapes that are hard for a generator.
const AWKWARD: &str = r##"{"tools":[
 {"name":"type","inputSchema":{"type":"object","required":["class","2nd"],"properties":{"class":{"type":"string","description":"a */ \"\"\" comment\n// and more"},"2nd":{"type":"integer"},"x-api-key":{},"self":{"type":"boolean"},"Self":{"type":"boolean"},"a b":{"const":"it's \"so\""},"__dunder":{"type":"null"},"match":{"enum":[1,2,null]},"éa":{"enum":["", "a-b", "a_b", "self", "Self", "1", "\u2028", "\ud83d\ude80"]}}},
  "outputSchema":{"type":"object","properties":{"mixed":{"anyOf":[{"type":"string"},{"type":"object","properties":{"deep":{"type":"object","additionalProperties":{"type":["number","string"]}}}},{"type":"array","items":{"oneOf":[{"type":"integer"},{"type":"boolean"}]}}]}}}},
 {"name":"Type","inputSchema":{"type":"object"}},
 {"name":"type_","inputSchema":{"$ref":"#/$defs/root","$defs":{"root":{"type":"object","properties":{"next":{"$ref":"#/$defs/root"},"all":{"type":"array","items":{"$ref":"#"}},"other":{"$ref":"#/$defs/other"}}},"other":{"anyOf":[{"$ref":"#/$defs/root"},{"$ref":"#/$defs/other"},{"type":"null"}]}}}},
 {"name":"123","inputSchema":{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"$ref":"#/$defs/b"}],"$defs":{"b":{"type":"object","properties":{"b":{"type":["object","null"],"properties":{"c":{"enum":[true]}}}}}}}},
 {"name":"日本語","description":"東京 \u202e","inputSchema":true,"outputSchema":false},
 {"name":"around","inputSchema":{"type":"object","properties":{"l":{"$ref":"#/$defs/l"},"m":{"$ref":"#/$defs/m"},"u":{"$ref":"#/$defs/u"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}},"m":{"type":"object","additionalProperties":{"$ref":"#/$defs/m"}},"u":{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/u"}},{"type":"null"}]},"v":{"$ref":"#/$defs/v"}}}},
 {"name":"bare"},
 {"name":"Json","inputSchema":{"type":"object","properties":{"String":{"type":"string"},"Vec":{"type":"array","prefixItems":[{"type":"string"}]},"Option":{"$ref":"https://elsewhere/x"},"num":{"enum":[1.5,2]},"big":{"const":9007199254740993}}}}
]}"##;

struct Stubs {
    folder: PathBuf,
    inputs: Vec<(String, PathBuf)>,
}

fn inputs(name: &str) -> Stubs {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stubs-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let awkward = folder.join("awkward.json");
    std::fs::write(&awkward, AWKWARD).unwrap();
    let mut inputs = vec![("awkward".to_owned(), awkward)];
    let data = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|at| at.join("shared/data"))
        .find(|path| path.is_dir());
    match data {
        Some(data) => {
            for (name, file) in [
                ("github", "github-mcp-server/v0.33.0.tools.json"),
                ("github_null", "github-mcp-server/v0.24.0.tools.json"),
                ("keboola", "docker-mcp-registry/keboola-mcp.tools.json"),
                ("alfresco", "docker-mcp-registry/alfresco.tools.json"),
                ("everything", "toolhive-catalog/everything@2026.8.31.server.json"),
            ] {
                inputs.push((name.to_owned(), data.join(file)));
            }
        }
        None => {
            eprintln!("SKIPPED: no shared/data beside the repository, so no real definitions were compiled");
        }
    }
    Stubs { folder, inputs }
}

impl Stubs {
    fn write(&self, lang: &str, ending: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for (name, input) in &self.inputs {
            let file = self.folder.join(format!("{name}.{ending}"));
            let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
                .args(["types", input.to_str().unwrap(), "--lang", lang, "-o", file.to_str().unwrap()])
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            files.push(file);
        }
        files
    }
}

fn must(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(4_000).collect::<String>();
    assert!(output.status.success(), "{command:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// R8.3: TypeScript's own compiler accepts the stubs in strict mode.
#[test]
fn typescript_stubs_compile() {
    let stubs = inputs("ts");
    let files = stubs.write("ts", "ts");
    let deps = Deps::of_this_workspace();
    let (Ok(node), compiler) = (deps.node(), deps.npm_project().join("node_modules/typescript/bin/tsc"))
    else {
        panic!("no Node: `cargo run -p xtask -- provision`");
    };
    must(Command::new(node).arg(compiler).args(["--noEmit", "--strict", "--target", "es2022"]).args(files));
}

/// R8.3: Python compiles the stubs, and a strict type checker finds nothing.
#[test]
fn python_stubs_compile_and_check() {
    let stubs = inputs("python");
    let files = stubs.write("python", "py");
    let python = Deps::of_this_workspace().python().unwrap();
    must(Command::new(&python).args(["-m", "py_compile"]).args(&files));
    for file in &files {
        must(Command::new(&python).arg(file));
    }
    must(
        Command::new(&python)
            .args(["-m", "mypy", "--strict", "--python-version", "3.12", "--cache-dir"])
            .arg(stubs.folder.join("cache"))
            .args(&files),
    );
}

/// R8.3: rustc accepts the stubs without any crate.
#[test]
fn rust_stubs_compile() {
    let stubs = inputs("rust");
    for file in stubs.write("rust", "rs") {
        must(
            Command::new("rustc")
                .args([
                    "--edition",
                    "2024",
                    "--crate-type",
                    "lib",
                    "--emit",
                    "metadata",
                    "-D",
                    "warnings",
                    "-A",
                    "uncommon_codepoints",
                ])
                .args(["--check-cfg", "cfg(feature, values(\"serde\"))", "--out-dir"])
                .arg(&stubs.folder)
                .arg(&file),
        );
    }
}
