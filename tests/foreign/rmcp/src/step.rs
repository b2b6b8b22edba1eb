//! The steps of a plan.

use std::collections::BTreeSet;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorCode, Tool};
use rmcp::{ClientCacheConfig, ServiceError};
use serde_json::{Map, Value, json};

use crate::Client;

const HEADER_MISMATCH: ErrorCode = ErrorCode(-32020);
const RECOVERIES_MAX: usize = 5;
/// How long notifications may take to be handled after the result has come.
const SETTLE_TIME_MAX: Duration = Duration::from_secs(2);

pub(crate) async fn take(client: &Client, step: &str, options: &Value) -> Result<(), String> {
    match step {
        "list" => list(client, options).await,
        "call" => call_once(client, options).await,
        "progress" => progress(client, options).await,
        "badArguments" => bad_arguments(client, options).await,
        "unknownTool" => refused_with_code(client, options).await,
        "refused" => refused(client, options).await,
        "relist" => relist(client, options).await,
        "same" => same(client, options).await,
        "callers" => callers(client, options).await,
        "ask" => ask(client, options).await,
        "twoStep" => two_step(client, options).await,
        "queue" => queue(client, options).await,
        _ => Err("no such step".to_owned()),
    }
}

async fn list(client: &Client, options: &Value) -> Result<(), String> {
    let tools = client.list_all_tools().await.map_err(|error| error.to_string())?;
    for wanted in
        options.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        let tool = tools.iter().find(|tool| tool.name == wanted);
        let tool = tool.ok_or_else(|| format!("{wanted} is not listed"))?;
        expect(tool.description.is_some(), || format!("{wanted} has no description"))?;
        let kind = tool.input_schema.get("type").and_then(Value::as_str);
        expect(kind == Some("object"), || format!("{wanted} has no input schema"))?;
    }
    Ok(())
}

async fn call_once(client: &Client, options: &Value) -> Result<(), String> {
    let result = succeed(client, options).await?;
    if let Some(wanted) = options.get("structured").and_then(Value::as_object) {
        let none = Map::new();
        let structured = result.structured_content.as_ref().and_then(Value::as_object).unwrap_or(&none);
        for (key, value) in wanted {
            expect(structured.get(key) == Some(value), || format!("structured content: {structured:?}"))?;
        }
        for key in
            options.get("members").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            expect(structured.contains_key(key), || format!("no {key} in {structured:?}"))?;
        }
        let mirrors = |text: &String| {
            serde_json::from_str::<Value>(text).is_ok_and(|json| json.as_object() == Some(structured))
        };
        expect(text(&result).iter().any(mirrors), || {
            format!("no text mirrors the structured content: {result:?}")
        })?;
    }
    match options.get("text").and_then(Value::as_str) {
        Some(wanted) => says(&result, wanted),
        None => Ok(()),
    }
}

async fn progress(client: &Client, options: &Value) -> Result<(), String> {
    let before = client.service().seen().progress.len();
    succeed(client, options).await?;
    let least = options.get("least").and_then(Value::as_u64).unwrap_or(1);
    let seen = || -> Vec<f64> { client.service().seen().progress.iter().skip(before).copied().collect() };
    let enough = || u64::try_from(seen().len()).is_ok_and(|count| count >= least);
    // The SDK hands notifications to tasks of their own, which may run after the result is here.
    let settled = tokio::time::timeout(SETTLE_TIME_MAX, async {
        while !enough() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    settled.await.map_err(|_| format!("notifications: {:?}", seen()))?;
    let seen = seen();
    let increasing = seen.iter().zip(seen.iter().skip(1)).all(|(a, b)| a < b);
    expect(increasing, || format!("not increasing: {seen:?}"))
}

async fn bad_arguments(client: &Client, options: &Value) -> Result<(), String> {
    if options.get("as").and_then(Value::as_str) == Some("error") {
        return refused_with_code(client, options).await;
    }
    let result = call(client, options).await.map_err(|error| error.to_string())?;
    expect(result.is_error == Some(true), || format!("not refused: {result:?}"))?;
    expect(text(&result).iter().any(|text| !text.is_empty()), || "a refusal without words".to_owned())
}

async fn refused(client: &Client, options: &Value) -> Result<(), String> {
    let result = call(client, options).await.map_err(|error| error.to_string())?;
    expect(result.is_error == Some(true), || format!("not refused: {result:?}"))?;
    says(&result, options.get("says").and_then(Value::as_str).unwrap_or_default())
}

/// Asked of the server, whatever is still fresh.
async fn list_anew(client: &Client) -> Result<Vec<Tool>, String> {
    client.set_response_cache_config(ClientCacheConfig::disabled()).await;
    client.list_all_tools().await.map_err(|error| error.to_string())
}

fn named<'a>(options: &'a Value, member: &str) -> Vec<&'a str> {
    options.get(member).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

async fn relist(client: &Client, options: &Value) -> Result<(), String> {
    let appear = named(options, "appear");
    let listed = |tools: &[Tool], name: &str| tools.iter().any(|tool| tool.name == name);
    let before = list_anew(client).await?;
    expect(!appear.iter().any(|name| listed(&before, name)), || "listed already".to_owned())?;
    let told = client.service().seen().changes;
    succeed(client, options).await?;
    let heard = tokio::time::timeout(SETTLE_TIME_MAX, async {
        while client.service().seen().changes == told {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    heard.await.map_err(|_| "no list_changed came".to_owned())?;
    let after = list_anew(client).await?;
    let missing = appear.iter().find(|name| !listed(&after, name));
    missing.map_or(Ok(()), |name| Err(format!("{name} is not listed")))
}

async fn same(client: &Client, options: &Value) -> Result<(), String> {
    let before = list_anew(client).await?;
    for one in options.get("calls").and_then(Value::as_array).into_iter().flatten() {
        call(client, one).await.map_err(|error| error.to_string())?;
        let after = list_anew(client).await?;
        expect(after == before, || format!("another list after {one}"))?;
    }
    Ok(())
}

async fn callers(client: &Client, options: &Value) -> Result<(), String> {
    let tools = list_anew(client).await?;
    let carries =
        |tool: &&Tool| tool.meta.as_ref().is_some_and(|meta| meta.contains_key("anthropic/allowed_callers"));
    let carrying: BTreeSet<&str> = tools.iter().filter(carries).map(|tool| &*tool.name).collect();
    expect(carrying == named(options, "tools").into_iter().collect(), || format!("callers: {carrying:?}"))
}

async fn refused_with_code(client: &Client, options: &Value) -> Result<(), String> {
    match call(client, options).await {
        Err(ServiceError::McpError(error)) if error.code == ErrorCode::INVALID_PARAMS => Ok(()),
        Err(error) => Err(format!("refused otherwise: {error}")),
        Ok(result) => Err(format!("not refused: {result:?}")),
    }
}

async fn ask(client: &Client, options: &Value) -> Result<(), String> {
    let result = succeed(client, options).await?;
    let asked = client.service().seen().asked.first().cloned();
    let (message, has_schema) = asked.ok_or_else(|| "nobody was asked".to_owned())?;
    expect(!message.is_empty(), || "asked without a message".to_owned())?;
    expect(has_schema, || "asked without a schema".to_owned())?;
    says(&result, options.get("says").and_then(Value::as_str).unwrap_or_default())
}

async fn two_step(client: &Client, options: &Value) -> Result<(), String> {
    let wish = json!({"action": options.get("tool"), "params_summary": options.get("summary"),
        "arguments": options.get("arguments")});
    let given = succeed(client, &json!({"tool": "get_confirmation_token", "arguments": wish})).await?;
    let token = given.structured_content.as_ref().and_then(|content| content.get("token")?.as_str());
    confirmed(client, options, token.ok_or_else(|| format!("no token: {given:?}"))?).await
}

async fn queue(client: &Client, options: &Value) -> Result<(), String> {
    let waits = call(client, options).await.map_err(|error| error.to_string())?;
    expect(waits.is_error == Some(true), || format!("it did not wait: {waits:?}"))?;
    let said = text(&waits).join("");
    let handle =
        said.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').find(|word| word.starts_with("apr_"));
    let handle = handle.ok_or_else(|| format!("no handle: {said}"))?;
    let words: Vec<&str> = options
        .get("approve")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let [program, words @ ..] = words.as_slice() else { return Err("no command".to_owned()) };
    let approved = tokio::process::Command::new(program).args(words).arg(handle).status().await;
    expect(approved.is_ok_and(|status| status.success()), || "not approved".to_owned())?;
    confirmed(client, options, handle).await
}

async fn confirmed(client: &Client, options: &Value, token: &str) -> Result<(), String> {
    let mut arguments = options.get("arguments").cloned().unwrap_or_else(|| json!({}));
    if let Some(members) = arguments.as_object_mut() {
        members.insert("confirmation_token".to_owned(), token.into());
    }
    let result = succeed(client, &json!({"tool": options.get("tool"), "arguments": arguments})).await?;
    says(&result, options.get("says").and_then(Value::as_str).unwrap_or_default())
}

async fn call(client: &Client, options: &Value) -> Result<CallToolResult, ServiceError> {
    let tool = options.get("tool").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut params = CallToolRequestParams::new(tool);
    params.arguments = options.get("arguments").and_then(Value::as_object).cloned();
    let mut outcome = client.call_tool(params.clone()).await;
    // The SDK's transport learns from the list which arguments to repeat in headers, but loses a list that came as a
    // stream if it sees the end of the stream first. The specification's recovery is to list again and resend.
    for _ in 0..RECOVERIES_MAX {
        match outcome {
            Err(ServiceError::McpError(ref error)) if error.code == HEADER_MISMATCH => {
                client.set_response_cache_config(ClientCacheConfig::disabled()).await;
                client.list_all_tools().await?;
                outcome = client.call_tool(params.clone()).await;
            }
            _ => break,
        }
    }
    outcome
}

async fn succeed(client: &Client, options: &Value) -> Result<CallToolResult, String> {
    let result = call(client, options).await.map_err(|error| error.to_string())?;
    expect(result.is_error != Some(true), || format!("error result: {result:?}"))?;
    Ok(result)
}

fn text(result: &CallToolResult) -> Vec<String> {
    result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone()).collect()
}

fn says(result: &CallToolResult, wanted: &str) -> Result<(), String> {
    expect(text(result).iter().any(|text| text.contains(wanted)), || format!("text: {result:?}"))
}

fn expect(truth: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if truth { Ok(()) } else { Err(otherwise()) }
}
