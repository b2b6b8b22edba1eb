//! R2.8: resources, templates, prompts and completions are registered like tools and served in both eras.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use support::*;
use toolcrib::engine::limits::{ANSWER_BYTES_MAX, COMPLETION_VALUES_MAX, QUESTIONS_MAX, URI_BYTES_MAX};
use toolcrib::{
    About, Content, Context, PromptArgument, PromptArguments, PromptResult, Question, RegisterError,
    ResourceContents, Role, Server, ToolError,
};

fn server() -> Server {
    let server = Server::new("offers", "1").unwrap();
    server
        .resource("doc://a", &About::new("a", "A text").mime_type("text/plain"), |uri: String, _: Context| async move {
            Ok(vec![ResourceContents::text(&uri, "text/plain", "alpha")])
        })
        .unwrap()
        .resource("doc://gone", &About::new("gone", "Not there any more"), |_, _: Context| async {
            Err(ToolError::NotFound)
        })
        .unwrap()
        .template(
            "doc://by/{name}",
            &About::new("by", "By name"),
            |uri: String, variables: BTreeMap<String, String>, _: Context| async move {
                Ok(vec![ResourceContents::text(&uri, "text/plain", &variables["name"])])
            },
        )
        .unwrap()
        .prompt(
            "greet",
            "Greets",
            vec![PromptArgument::required("who", "Whom"), PromptArgument::optional("how", "How")],
            |arguments: PromptArguments, _: Context| async move {
                Ok(PromptResult::new()
                    .describe("A greeting")
                    .say(Role::User, format!("Greet {}", arguments["who"]))
                    .say(Role::Assistant, Content::audio(b"x", "audio/wav")))
            },
        )
        .unwrap();
    server.complete_prompt("greet", "who", |typed, given| {
        let suffix = given.get("how").cloned().unwrap_or_default();
        (0..150).map(|number| format!("{typed}{number}{suffix}")).collect()
    });
    server
}

#[tokio::test]
async fn resources_and_templates_are_listed_and_read() {
    let running = serve(&server()).await;
    let to = running.address;
    let listed = modern(to, "resources/list", json!({})).await.result();
    assert_eq!(
        listed["resources"][0],
        json!({"uri": "doc://a", "name": "a", "description": "A text", "mimeType": "text/plain"})
    );
    let templates = modern(to, "resources/templates/list", json!({})).await.result();
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "doc://by/{name}");
    let read = modern(to, "resources/read", json!({"uri": "doc://a"})).await.result();
    assert_eq!(read["contents"][0]["text"], "alpha");
    assert_eq!((&read["ttlMs"], &read["cacheScope"]), (&json!(0), &json!("private")));
    let by = modern(to, "resources/read", json!({"uri": "doc://by/ada%20l"})).await.result();
    assert_eq!(by["contents"][0]["text"], "ada l");
    let session = initialize(to, "2024-11-05", json!({}), &[]).await;
    assert_eq!(
        legacy(to, &session, "resources/read", json!({"uri": "doc://a"})).await.result()["contents"][0]["text"],
        "alpha"
    );
}

#[tokio::test]
async fn a_missing_resource_has_the_code_of_its_era() {
    let running = serve(&server()).await;
    let to = running.address;
    let session = initialize(to, LEGACY, json!({}), &[]).await;
    for uri in ["doc://nobody", "doc://gone"] {
        let answer = modern(to, "resources/read", json!({"uri": uri})).await;
        assert_eq!(answer.code(), -32602);
        assert_eq!(answer.json()["error"]["data"]["uri"], uri);
        assert_eq!(legacy(to, &session, "resources/read", json!({"uri": uri})).await.code(), -32002);
    }
}

#[tokio::test]
async fn prompts_are_listed_and_got_with_their_arguments() {
    let running = serve(&server()).await;
    let to = running.address;
    let listed = modern(to, "prompts/list", json!({})).await.result();
    assert_eq!(
        listed["prompts"][0]["arguments"][0],
        json!({"name": "who", "description": "Whom", "required": true})
    );
    let got = modern(to, "prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}})).await.result();
    assert_eq!(got["messages"][0]["content"]["text"], "Greet Ada");
    assert_eq!(got["messages"][1]["content"]["type"], "audio");
    for params in [
        json!({"name": "greet"}),
        json!({"name": "greet", "arguments": {"how": "x"}}),
        json!({"name": "greet", "arguments": {"who": 7}}),
        json!({"name": "nobody"}),
    ] {
        assert_eq!(modern(to, "prompts/get", params.clone()).await.code(), -32602, "{params}");
    }
    let old = initialize(to, "2024-11-05", json!({}), &[]).await;
    let got =
        legacy(to, &old, "prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}})).await.result();
    assert_eq!(got["messages"][1]["content"]["type"], "text", "2024-11-05 knows no audio");
}

#[tokio::test]
async fn completions_are_bounded_by_completion_values_max() {
    let running = serve(&server()).await;
    let to = running.address;
    let ask = |reference: Value, argument: &str| json!({"ref": reference, "argument": {"name": argument, "value": "a"}, "context": {"arguments": {"how": "!"}}});
    let greet = json!({"type": "ref/prompt", "name": "greet"});
    let completion =
        modern(to, "completion/complete", ask(greet.clone(), "who")).await.result()["completion"].clone();
    assert_eq!(completion["values"].as_array().unwrap().len(), COMPLETION_VALUES_MAX);
    assert_eq!(
        (&completion["values"][0], &completion["total"], &completion["hasMore"]),
        (&json!("a0!"), &json!(150), &json!(true))
    );
    let none = modern(to, "completion/complete", ask(greet, "how")).await.result();
    assert_eq!(none["completion"]["values"], json!([]));
    for reference in
        [json!({"type": "ref/prompt", "name": "nobody"}), json!({"type": "ref/nothing"}), json!({})]
    {
        assert_eq!(modern(to, "completion/complete", ask(reference, "x")).await.code(), -32602);
    }
}

/// Only registered kinds are advertised, and only advertised kinds are answered.
#[tokio::test]
async fn a_server_of_tools_alone_offers_nothing_else() {
    let running = serve(&Server::new("bare", "1").unwrap()).await;
    let to = running.address;
    let capabilities = modern(to, "server/discover", json!({})).await.result()["capabilities"].clone();
    assert_eq!(capabilities, json!({"tools": {"listChanged": true}}));
    for method in ["resources/list", "prompts/list", "completion/complete"] {
        assert_eq!(modern(to, method, json!({})).await.code(), -32601, "{method}");
    }
    let all = modern_capabilities(&server()).await;
    for name in ["tools", "resources", "prompts", "completions"] {
        assert!(all.get(name).is_some(), "{name}");
    }
}

async fn modern_capabilities(server: &Server) -> Value {
    let running = serve(server).await;
    modern(running.address, "server/discover", json!({})).await.result()["capabilities"].clone()
}

#[tokio::test]
async fn variables_of_a_query_reach_the_handler() {
    let server = server();
    let about = About::new("find", "Finds");
    let read = |uri: String, variables: BTreeMap<String, String>, _: Context| async move {
        Ok(vec![ResourceContents::text(&uri, "text/plain", &format!("{variables:?}"))])
    };
    server.template("doc://find/{kind}{?q,page}", &about, read).unwrap();
    let running = serve(&server).await;
    for (uri, variables) in [
        ("doc://find/book", r#"{"kind": "book"}"#),
        ("doc://find/book?q=a%26b&page=2", r#"{"kind": "book", "page": "2", "q": "a&b"}"#),
    ] {
        let read = modern(running.address, "resources/read", json!({"uri": uri})).await.result();
        assert_eq!(read["contents"][0]["text"], variables, "{uri}");
    }
}

#[tokio::test]
async fn what_is_registered_twice_or_cannot_be_matched_is_refused() {
    let server = server();
    let again = server.resource("doc://a", &About::new("a", "x"), |_, _: Context| async { Ok(vec![]) });
    assert!(matches!(again, Err(RegisterError::Duplicate(_))));
    let bad = server.template("doc://{a}{b", &About::new("x", "x"), |_, _, _: Context| async { Ok(vec![]) });
    let error = bad.unwrap_err();
    assert!(matches!(error, RegisterError::InvalidTemplate { .. }));
    assert!(error.to_string().contains("the `{` at byte 9 is never closed"), "{error}");
    let long = format!("doc://{}", "x".repeat(URI_BYTES_MAX));
    let long = server.resource(&long, &About::new("a", "x"), |_, _: Context| async { Ok(vec![]) });
    assert!(matches!(long, Err(RegisterError::InvalidUri(_))));
}

#[tokio::test]
async fn an_answer_over_answer_bytes_max_does_not_leave() {
    let server = Server::new("big", "1").unwrap();
    let object = json!({"type": "object"});
    server
        .register("big", "x", object.clone(), |_, _: Context| async {
            Ok::<_, ToolError>("x".repeat(ANSWER_BYTES_MAX))
        })
        .unwrap();
    server
        .register("curious", "x", object, |_, context: Context| async move {
            let questions =
                (0..=QUESTIONS_MAX).map(|number| (number.to_string(), Question::roots())).collect();
            context.ask_all(questions).await?;
            Ok::<_, ToolError>("")
        })
        .unwrap();
    let result = server.call("big", json!({})).await.unwrap();
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().contains(&ANSWER_BYTES_MAX.to_string()));
    let result = server.call("curious", json!({})).await.unwrap();
    assert!(result["content"][0]["text"].as_str().unwrap().contains("too many questions"), "{result}");
}
