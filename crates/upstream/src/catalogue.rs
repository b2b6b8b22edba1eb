//! Everything that a server offers, as it wrote it.

use toolcrib_contract::{Definition, DefinitionError};

use crate::connection::Introduction;

/// One tool of a list: its definition, or the reason why it is invalid. An invalid tool never empties a list.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Name of the tool; empty if it has none that can be read.
    pub name: Box<str>,
    pub definition: Result<Definition, DefinitionError>,
}

/// All lists of a server at one moment.
#[derive(Debug, Clone)]
pub struct Catalogue {
    pub introduction: Introduction,
    pub tools: Vec<Listed>,
    /// Raw JSON objects, in the server's order.
    pub resources: Vec<Box<str>>,
    pub templates: Vec<Box<str>>,
    pub prompts: Vec<Box<str>>,
}
