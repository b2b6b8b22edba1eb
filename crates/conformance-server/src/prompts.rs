//! Prompts, and the completion of their arguments.

use toolcrib::{
    Content, Context, PromptArgument, PromptArguments, PromptResult, RegisterError, ResourceContents, Role,
    Server,
};

use crate::media::PNG;
use crate::rounds::ask_text;

pub(crate) fn register(server: &Server) -> Result<(), RegisterError> {
    server
        .prompt("test_simple_prompt", "A prompt without arguments", Vec::new(), |_, _: Context| async {
            Ok(PromptResult::new().say(Role::User, "This is a simple prompt for testing."))
        })?
        .prompt(
            "test_prompt_with_arguments",
            "A prompt with two arguments",
            vec![
                PromptArgument::required("arg1", "First test argument"),
                PromptArgument::required("arg2", "Second test argument"),
            ],
            |arguments: PromptArguments, _: Context| async move {
                let get = |name: &str| arguments.get(name).cloned().unwrap_or_default();
                let text = format!("Prompt with arguments: arg1='{}', arg2='{}'", get("arg1"), get("arg2"));
                Ok(PromptResult::new().say(Role::User, text))
            },
        )?
        .prompt(
            "test_prompt_with_embedded_resource",
            "A prompt that holds a resource",
            vec![PromptArgument::required("resourceUri", "URI of the resource to embed")],
            |arguments: PromptArguments, _: Context| async move {
                let uri = arguments.get("resourceUri").cloned().unwrap_or_default();
                let contents =
                    ResourceContents::text(&uri, "text/plain", "Embedded resource content for testing.");
                Ok(PromptResult::new()
                    .say(Role::User, Content::resource(&contents))
                    .say(Role::User, "Please process the embedded resource above."))
            },
        )?
        .prompt(
            "test_prompt_with_image",
            "A prompt that holds an image",
            Vec::new(),
            |_, _: Context| async {
                Ok(PromptResult::new()
                    .say(Role::User, Content::image(PNG, "image/png"))
                    .say(Role::User, "Please analyze the image above."))
            },
        )?
        .prompt(
            "test_input_required_result_prompt",
            "A prompt that asks first",
            Vec::new(),
            |_, context: Context| async move {
                let question = "What context should the prompt use?";
                let text = ask_text(&context, "user_context", question, "context").await?;
                Ok(PromptResult::new().say(Role::User, format!("Use this context: {text}")))
            },
        )?;
    server.complete_prompt("test_prompt_with_arguments", "arg1", |typed, _| {
        ["paris", "park", "party", "testing", "testValue1"]
            .into_iter()
            .filter(|value| value.starts_with(typed))
            .map(str::to_owned)
            .collect()
    });
    Ok(())
}
