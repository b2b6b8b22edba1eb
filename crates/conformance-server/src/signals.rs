//! Tools that send progress or logs before they return, and tools that change the lists.

use std::time::Duration;

use tokio::time::sleep;
use toolcrib::serde_json::{Value, json};
use toolcrib::{Context, Level, PromptResult, RegisterError, Role, Server, ToolError, ToolSpec};

const STEP_MS: u64 = 50;
const RECONNECT_MS: u64 = 500;

pub(crate) fn register(server: &Server) -> Result<(), RegisterError> {
    let step = Duration::from_millis(STEP_MS);
    server
        .add(
            ToolSpec::new("test_tool_with_progress", "Reports 0, 50 and 100 of 100").read_only(true),
            move |_: Value, context: Context| async move {
                for done in [0.0, 50.0, 100.0] {
                    context.progress(done, Some(100.0), Some(&format!("Completed step {done} of 100")));
                    sleep(step).await;
                }
                Ok("Progress reported")
            },
        )?
        .add(
            ToolSpec::new("test_tool_with_logging", "Logs three messages").read_only(true),
            move |_: Value, context: Context| async move {
                for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                    context.log(Level::Info, Some("conformance"), &json!(text));
                    sleep(step).await;
                }
                Ok("Logged three messages")
            },
        )?
        .add(
            ToolSpec::new("test_logging_tool", "Logs, where the request allows it").read_only(true),
            |_: Value, context: Context| async move {
                context.log(
                    Level::Info,
                    Some("conformance"),
                    &json!("a message for clients that asked for it"),
                );
                Ok("Logged, if that was allowed")
            },
        )?
        .add(
            ToolSpec::new("test_reconnection", "Closes its stream in the middle of the call").read_only(true),
            move |_: Value, context: Context| async move {
                context.close_stream(RECONNECT_MS);
                sleep(Duration::from_millis(RECONNECT_MS / 2)).await;
                Ok("Reconnection test completed")
            },
        )?;
    let changed = server.clone();
    server.add(
        ToolSpec::new("test_trigger_tool_change", "Adds a tool, or takes it away again").destructive(false),
        move |_: Value, _: Context| {
            let server = changed.clone();
            async move {
                toggle_tool(&server)?;
                Ok("The list of tools changed")
            }
        },
    )?;
    let changed = server.clone();
    server.add(
        ToolSpec::new("test_trigger_prompt_change", "Adds a prompt, or takes it away again")
            .destructive(false),
        move |_: Value, _: Context| {
            let server = changed.clone();
            async move {
                toggle_prompt(&server)?;
                Ok("The list of prompts changed")
            }
        },
    )?;
    Ok(())
}

fn toggle_tool(server: &Server) -> Result<(), ToolError> {
    const NAME: &str = "test_dynamic_tool";
    if !server.unregister(NAME) {
        server.add(ToolSpec::new(NAME, "Comes and goes").read_only(true), |_: Value, _: Context| async {
            Ok::<_, ToolError>("Here for now")
        })?;
    }
    Ok(())
}

fn toggle_prompt(server: &Server) -> Result<(), ToolError> {
    const NAME: &str = "test_dynamic_prompt";
    if !server.engine().registry().unregister_prompt(NAME) {
        server.prompt(NAME, "Comes and goes", Vec::new(), |_, _: Context| async {
            Ok(PromptResult::new().say(Role::User, "Here for now"))
        })?;
    }
    Ok(())
}
