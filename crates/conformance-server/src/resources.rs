//! Resources and a resource template.

use std::collections::BTreeMap;

use toolcrib::serde_json::json;
use toolcrib::{About, Context, RegisterError, ResourceContents, Server};

use crate::media::PNG;

pub(crate) fn register(server: &Server) -> Result<(), RegisterError> {
    server
        .resource(
            "test://static-text",
            &About::new("Static text", "A text that never changes").mime_type("text/plain"),
            |uri: String, _: Context| async move {
                let text = "This is the content of the static text resource.";
                Ok(vec![ResourceContents::text(&uri, "text/plain", text)])
            },
        )?
        .resource(
            "test://static-binary",
            &About::new("Static binary", "An image that never changes").mime_type("image/png"),
            |uri: String, _: Context| async move { Ok(vec![ResourceContents::blob(&uri, "image/png", PNG)]) },
        )?
        .resource(
            "test://watched-resource",
            &About::new("Watched resource", "A text that clients may follow").mime_type("text/plain"),
            |uri: String, _: Context| async move {
                Ok(vec![ResourceContents::text(&uri, "text/plain", "Watched resource content")])
            },
        )?
        .template(
            "test://template/{id}/data",
            &About::new("Template", "Data by id").mime_type("application/json"),
            |uri: String, variables: BTreeMap<String, String>, _: Context| async move {
                let id = variables.get("id").cloned().unwrap_or_default();
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                Ok(vec![ResourceContents::text(&uri, "application/json", &data.to_string())])
            },
        )?;
    server.complete_template("test://template/{id}/data", "id", |typed, _| vec![format!("{typed}1")]);
    Ok(())
}
