//! Everything a server offers, as it said it.

use toolcrib_contract::{Definition, DefinitionError};

use crate::connection::Introduction;

/// One tool of a list: its definition, or why it is none. One bad tool never empties a list.
#[derive(Debug, Clone)]
pub struct Listed {
    /// As far as it can be read.
    pub name: Box<str>,
    pub definition: Result<Definition, DefinitionError>,
}

/// One look at a server.
#[derive(Debug, Clone)]
pub struct Catalogue {
    pub introduction: Introduction,
    pub tools: Vec<Listed>,
    /// Raw JSON objects, in the server's order.
    pub resources: Vec<Box<str>>,
    pub templates: Vec<Box<str>>,
    pub prompts: Vec<Box<str>>,
}
