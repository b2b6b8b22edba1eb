//! The server an author writes: register, look up, serve.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_contract::Definition;
use toolcrib_engine::completion::Reference;
use toolcrib_engine::entry::Entry;
use toolcrib_engine::hub::Change;
use toolcrib_engine::prompt::{Prompt, PromptArgument, PromptArguments, PromptResult};
use toolcrib_engine::resource::{About, Resource, ResourceTemplate};
use toolcrib_engine::stage::caller;
use toolcrib_engine::{
    BadArguments, Context, Engine, Explanation, Fault, Filter, OnFault, Options, Principal, RegisterError,
    ResourceContents, Safety, ServerInfo, StartError, Tool, ToolError, Toolset, ToolsetOptions,
};
use toolcrib_protocol::{ClientCapabilities, Era};
use toolcrib_server::{Endpoint, HttpOptions, Listener, Tls, TrustedProxies, stdio};

use crate::answer::{IntoAnswer, Json};
use crate::handler::{CompleteFunction, Function, PromptFunction, ReadFunction};
use crate::spec::ToolSpec;

/// A server of tools, resources and prompts. Clones are the same server; it can change while it serves.
#[derive(Debug, Clone)]
pub struct Server {
    engine: Arc<Engine>,
}

/// How a server behaves where it has a choice.
pub struct ServerBuilder {
    info: ServerInfo,
    options: Options,
    on_fault: Option<OnFault>,
}

impl std::fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerBuilder").field("info", &self.info).finish_non_exhaustive()
    }
}

impl ServerBuilder {
    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// What the model is told about the server as a whole.
    #[must_use]
    pub fn instructions(mut self, instructions: &str) -> Self {
        self.info.instructions = Some(instructions.into());
        self
    }

    /// Forces how bad arguments are told, whatever revision a peer speaks (R2.4).
    #[must_use]
    pub fn bad_arguments(mut self, how: BadArguments) -> Self {
        self.options.bad_arguments = how;
        self
    }

    /// Items of one page of a list.
    #[must_use]
    pub fn page_items(mut self, items: usize) -> Self {
        self.options.page_items = items;
        self
    }

    /// How long a handler may run, in milliseconds.
    #[must_use]
    pub fn call_ms_max(mut self, ms: u64) -> Self {
        self.options.call_ms_max = ms;
        self
    }

    /// Everything else.
    #[must_use]
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Is told of every handler failure, panic and broken output schema, in full.
    #[must_use]
    pub fn on_fault(mut self, hear: impl Fn(&Fault<'_>) + Send + Sync + 'static) -> Self {
        self.on_fault = Some(Arc::new(hear));
        self
    }

    /// Declares a toolset. With one declared, the discovery tools are there too.
    #[must_use]
    pub fn toolset(mut self, toolset: Toolset) -> Self {
        self.options.toolsets.declared.push(toolset);
        self
    }

    pub(crate) fn toolsets_mut(&mut self) -> &mut ToolsetOptions {
        &mut self.options.toolsets
    }

    /// Switches on the gate, the emergency stop and the audit. Without it nothing is gated.
    #[must_use]
    pub fn safety(mut self, safety: Arc<Safety>) -> Self {
        self.options.safety = Some(safety);
        self
    }

    pub fn build(self) -> Result<Server, StartError> {
        Ok(Server { engine: Arc::new(Engine::new(self.info, self.options, self.on_fault)?) })
    }
}

impl Server {
    /// Fails only when the system has no randomness for the keys that seal cursors and request state.
    pub fn new(name: &str, version: &str) -> Result<Self, StartError> {
        Self::builder(name, version).build()
    }

    #[must_use]
    pub fn builder(name: &str, version: &str) -> ServerBuilder {
        ServerBuilder { info: ServerInfo::new(name, version), options: Options::default(), on_fault: None }
    }

    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The short form: a name, a description, a schema, a function.
    pub fn register<F, Fut, R>(
        &self,
        name: &str,
        description: &str,
        input_schema: Value,
        handler: F,
    ) -> Result<&Self, RegisterError>
    where
        F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: IntoAnswer + 'static,
    {
        self.add(ToolSpec::new(name, description).input_schema(input_schema), handler)
    }

    /// The short form with both schemas derived from Rust types.
    pub fn register_typed<A, R, F, Fut>(
        &self,
        name: &str,
        description: &str,
        handler: F,
    ) -> Result<&Self, RegisterError>
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        self.add_typed(ToolSpec::new(name, description), handler)
    }

    /// The full form with schemas as JSON.
    pub fn add<F, Fut, R>(&self, spec: ToolSpec, handler: F) -> Result<&Self, RegisterError>
    where
        F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: IntoAnswer + 'static,
    {
        self.add_tool(spec, Arc::new(Function::<Value, F>::new(handler)))
    }

    /// The full form with schemas derived from Rust types, unless the spec has its own.
    pub fn add_typed<A, R, F, Fut>(&self, spec: ToolSpec, handler: F) -> Result<&Self, RegisterError>
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        let spec = if spec.has_input() { spec } else { spec.input::<A>() };
        let spec = if spec.has_output() { spec } else { spec.output::<R>() };
        let wrapped = move |arguments: A, context: Context| {
            let answer = handler(arguments, context);
            async move { answer.await.map(Json) }
        };
        self.add_tool(spec, Arc::new(Function::<A, _>::new(wrapped)))
    }

    /// The full form with anything that is a [`Tool`].
    pub fn add_tool(&self, spec: ToolSpec, tool: Arc<dyn Tool>) -> Result<&Self, RegisterError> {
        let (definition, toolset) = spec.finish()?;
        self.engine.registry().register(definition, toolset.as_deref(), tool)?;
        Ok(self)
    }

    /// A whole definition as JSON.
    pub fn add_definition(
        &self,
        definition: Definition,
        tool: Arc<dyn Tool>,
    ) -> Result<&Self, RegisterError> {
        self.engine.registry().register(definition, None, tool)?;
        Ok(self)
    }

    /// A resource at a fixed address.
    pub fn resource<F, Fut>(&self, uri: &str, about: &About, read: F) -> Result<&Self, RegisterError>
    where
        F: Fn(String, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<ResourceContents>, ToolError>> + Send + 'static,
    {
        let read = move |uri: String, _: BTreeMap<String, String>, context: Context| read(uri, context);
        let resource = Resource::new(uri, about, Arc::new(ReadFunction(read)));
        self.engine.registry().register_resource(resource)?;
        Ok(self)
    }

    /// Resources at every address that fits a template.
    pub fn template<F, Fut>(&self, uri_template: &str, about: &About, read: F) -> Result<&Self, RegisterError>
    where
        F: Fn(String, BTreeMap<String, String>, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<ResourceContents>, ToolError>> + Send + 'static,
    {
        let template = ResourceTemplate::new(uri_template, about, Arc::new(ReadFunction(read)))
            .map_err(|cause| RegisterError::InvalidTemplate { template: uri_template.into(), cause })?;
        self.engine.registry().register_template(template)?;
        Ok(self)
    }

    pub fn prompt<F, Fut>(
        &self,
        name: &str,
        description: &str,
        arguments: Vec<PromptArgument>,
        get: F,
    ) -> Result<&Self, RegisterError>
    where
        F: Fn(PromptArguments, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<PromptResult, ToolError>> + Send + 'static,
    {
        let prompt = Prompt::new(name, None, description, arguments, Arc::new(PromptFunction(get)));
        self.engine.registry().register_prompt(prompt)?;
        Ok(self)
    }

    /// What completes an argument of a prompt, from what was typed so far and what is filled in already.
    pub fn complete_prompt<F>(&self, prompt: &str, argument: &str, complete: F) -> &Self
    where
        F: Fn(&str, &BTreeMap<String, String>) -> Vec<String> + Send + Sync + 'static,
    {
        let reference = Reference::Prompt(prompt.into());
        self.engine.registry().register_completer(reference, argument, Arc::new(CompleteFunction(complete)));
        self
    }

    /// What completes a variable of a resource template.
    pub fn complete_template<F>(&self, uri_template: &str, variable: &str, complete: F) -> &Self
    where
        F: Fn(&str, &BTreeMap<String, String>) -> Vec<String> + Send + Sync + 'static,
    {
        let reference = Reference::Template(uri_template.into());
        self.engine.registry().register_completer(reference, variable, Arc::new(CompleteFunction(complete)));
        self
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.engine.registry().load().tools.get(name).is_some()
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Entry>> {
        self.engine.registry().load().tools.get(name).cloned()
    }

    /// The tools that pass a filter, by priority, then name.
    #[must_use]
    pub fn list(&self, filter: &Filter) -> Vec<Arc<Entry>> {
        self.engine.registry().load().tools.list(filter).cloned().collect()
    }

    /// Takes a tool out; clients are told that the list changed.
    pub fn unregister(&self, name: &str) -> bool {
        self.engine.registry().unregister(name)
    }

    /// Tells followers that a resource's content changed.
    pub fn resource_changed(&self, uri: &str) {
        self.engine.hub().publish(&Change::Resource(uri.into()));
    }

    /// Why a client of this name sees a tool and can call it, or why not; `None` if there is no such tool.
    #[must_use]
    pub fn explain(&self, tool: &str, client: &str) -> Option<Explanation> {
        let (nothing, approach) = (ClientCapabilities::default(), Arc::default());
        let caller = caller::supposed(client, Era::Legacy, nothing, Principal::Local, approach);
        self.engine.explain(&caller, tool)
    }

    /// Serves stdin and stdout until stdin ends.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.engine.check_toolsets().map_err(|error| io::Error::other(error.to_string()))?;
        stdio::serve(self.engine.clone()).await
    }

    /// Serves MCP at `http://<address>/mcp` until the process is told to stop.
    pub async fn serve_http(&self, address: &str) -> io::Result<()> {
        self.serve_http_with(address, HttpOptions::default()).await
    }

    /// The same with options: another path, other hosts, authentication.
    pub async fn serve_http_with(&self, address: &str, options: HttpOptions) -> io::Result<()> {
        self.bind_http(address, options).await?.serve(stop_signal()).await
    }

    /// Binds first, so that the address is known; then [`BoundServer::serve`].
    pub async fn bind_http(&self, address: &str, options: HttpOptions) -> io::Result<BoundServer> {
        self.engine.check_toolsets().map_err(|error| io::Error::other(error.to_string()))?;
        let endpoint = Endpoint::new(self.engine.clone(), options);
        Ok(BoundServer { listener: Listener::bind(endpoint, address).await? })
    }
}

/// A server that has an address.
#[derive(Debug)]
pub struct BoundServer {
    listener: Listener,
}

impl BoundServer {
    /// So many threads that serve connections, each its own, beside the runtime: for a proxy under load.
    #[must_use]
    pub fn on_threads(self, count: usize) -> Self {
        Self { listener: self.listener.workers(count) }
    }

    /// Serves HTTPS with this certificate; HTTP/2 or HTTP/1 by ALPN.
    #[must_use]
    pub fn tls(self, tls: Arc<Tls>) -> Self {
        Self { listener: self.listener.tls(tls) }
    }

    /// Serves HTTP/2 without TLS to clients that begin with it.
    #[must_use]
    pub fn http2_prior_knowledge(self, is_served: bool) -> Self {
        Self { listener: self.listener.http2_prior_knowledge(is_served) }
    }

    /// Believes these proxies about the addresses of their clients.
    #[must_use]
    pub fn trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self { listener: self.listener.trusted_proxies(proxies) }
    }

    /// Returns the network address; an error for a unix socket, which has none.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Returns where this listens, to put a path behind: `http://ADDRESS`, `https://ADDRESS` or `unix:SOCKET:`.
    pub fn origin(&self) -> io::Result<String> {
        self.listener.origin()
    }

    /// Serves until `stop` is done, then lets what is under way finish.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        self.listener.serve(stop).await
    }
}

/// Ctrl-C, or SIGTERM where there is one.
async fn stop_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
