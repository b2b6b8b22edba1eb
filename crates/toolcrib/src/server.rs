//! [`Server`]: registration and look-up of tools, and serving them.

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

/// Server of tools, resources and prompts. Clones share state; tools can be added and removed while it serves.
#[derive(Debug, Clone)]
pub struct Server {
    engine: Arc<Engine>,
}

/// Builder of a [`Server`] with its settings.
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
    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Sets the instructions that the model gets about the server as a whole.
    #[must_use]
    pub fn instructions(mut self, instructions: &str) -> Self {
        self.info.instructions = Some(instructions.into());
        self
    }

    /// Forces the form in which bad arguments are reported, for peers of every revision (R2.4).
    #[must_use]
    pub fn bad_arguments(mut self, how: BadArguments) -> Self {
        self.options.bad_arguments = how;
        self
    }

    /// Sets the maximum items of one page of a list.
    #[must_use]
    pub fn page_items(mut self, items: usize) -> Self {
        self.options.page_items = items;
        self
    }

    /// Sets the deadline of a handler, in milliseconds.
    #[must_use]
    pub fn call_ms_max(mut self, ms: u64) -> Self {
        self.options.call_ms_max = ms;
        self
    }

    /// Changes any of the engine's options.
    #[must_use]
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Sets a callback for every handler failure, panic and broken output schema, with full details.
    #[must_use]
    pub fn on_fault(mut self, hear: impl Fn(&Fault<'_>) + Send + Sync + 'static) -> Self {
        self.on_fault = Some(Arc::new(hear));
        self
    }

    /// Declares a toolset. Declaring one also registers the discovery tools.
    #[must_use]
    pub fn toolset(mut self, toolset: Toolset) -> Self {
        self.options.toolsets.declared.push(toolset);
        self
    }

    pub(crate) fn toolsets_mut(&mut self) -> &mut ToolsetOptions {
        &mut self.options.toolsets
    }

    /// Switches on the gate, the emergency stop and the audit. Without this, no call is gated.
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
    /// Creates a server with default settings. Fails only if the system's random source fails, which makes the keys
    /// that seal cursors and request state.
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

    /// Registers a tool by name, description, input schema and handler.
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

    /// Registers a tool with both schemas derived from Rust types.
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

    /// Registers a tool by its spec, with schemas as JSON.
    pub fn add<F, Fut, R>(&self, spec: ToolSpec, handler: F) -> Result<&Self, RegisterError>
    where
        F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: IntoAnswer + 'static,
    {
        self.add_tool(spec, Arc::new(Function::<Value, F>::new(handler)))
    }

    /// Registers a tool by its spec, with schemas derived from Rust types unless the spec sets them.
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

    /// Registers any implementation of [`Tool`] by its spec.
    pub fn add_tool(&self, spec: ToolSpec, tool: Arc<dyn Tool>) -> Result<&Self, RegisterError> {
        let (definition, toolset) = spec.finish()?;
        self.engine.registry().register(definition, toolset.as_deref(), tool)?;
        Ok(self)
    }

    /// Registers a tool by its whole definition as JSON.
    pub fn add_definition(
        &self,
        definition: Definition,
        tool: Arc<dyn Tool>,
    ) -> Result<&Self, RegisterError> {
        self.engine.registry().register(definition, None, tool)?;
        Ok(self)
    }

    /// Registers a resource at a fixed URI.
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

    /// Registers a resource template: resources at every URI that matches it.
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

    /// Registers a prompt.
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

    /// Sets the completer of a prompt's argument. It gets the text typed so far and the arguments filled in already.
    pub fn complete_prompt<F>(&self, prompt: &str, argument: &str, complete: F) -> &Self
    where
        F: Fn(&str, &BTreeMap<String, String>) -> Vec<String> + Send + Sync + 'static,
    {
        let reference = Reference::Prompt(prompt.into());
        self.engine.registry().register_completer(reference, argument, Arc::new(CompleteFunction(complete)));
        self
    }

    /// Sets the completer of a resource template's variable.
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

    /// Returns the tools that pass a filter, sorted by priority, then name.
    #[must_use]
    pub fn list(&self, filter: &Filter) -> Vec<Arc<Entry>> {
        self.engine.registry().load().tools.list(filter).cloned().collect()
    }

    /// Removes a tool; clients are notified that the list changed. Returns false if there is none of that name.
    pub fn unregister(&self, name: &str) -> bool {
        self.engine.registry().unregister(name)
    }

    /// Notifies subscribers that a resource's content changed.
    pub fn resource_changed(&self, uri: &str) {
        self.engine.hub().publish(&Change::Resource(uri.into()));
    }

    /// Explains why a client of this name can or cannot see and call a tool; `None` if there is no such tool.
    #[must_use]
    pub fn explain(&self, tool: &str, client: &str) -> Option<Explanation> {
        let (nothing, approach) = (ClientCapabilities::default(), Arc::default());
        let caller = caller::supposed(client, Era::Legacy, nothing, Principal::Local, approach);
        self.engine.explain(&caller, tool)
    }

    /// Serves MCP over stdin and stdout until stdin ends.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.engine.check_toolsets().map_err(|error| io::Error::other(error.to_string()))?;
        stdio::serve(self.engine.clone()).await
    }

    /// Serves MCP at `http://<address>/mcp` until the process gets a stop signal.
    pub async fn serve_http(&self, address: &str) -> io::Result<()> {
        self.serve_http_with(address, HttpOptions::default()).await
    }

    /// Serves MCP over HTTP with options: path, allowed hosts, authentication and others.
    pub async fn serve_http_with(&self, address: &str, options: HttpOptions) -> io::Result<()> {
        self.bind_http(address, options).await?.serve(stop_signal()).await
    }

    /// Binds the address without serving yet, so that it is known before [`BoundServer::serve`].
    pub async fn bind_http(&self, address: &str, options: HttpOptions) -> io::Result<BoundServer> {
        self.engine.check_toolsets().map_err(|error| io::Error::other(error.to_string()))?;
        let endpoint = Endpoint::new(self.engine.clone(), options);
        Ok(BoundServer { listener: Listener::bind(endpoint, address).await? })
    }
}

/// Server with a bound address.
#[derive(Debug)]
pub struct BoundServer {
    listener: Listener,
}

impl BoundServer {
    /// Serves connections on `count` worker threads with a runtime each, beside the caller's runtime: for a proxy
    /// under load.
    #[must_use]
    pub fn on_threads(self, count: usize) -> Self {
        Self { listener: self.listener.workers(count) }
    }

    /// Serves HTTPS with this certificate; ALPN chooses HTTP/2 or HTTP/1.
    #[must_use]
    pub fn tls(self, tls: Arc<Tls>) -> Self {
        Self { listener: self.listener.tls(tls) }
    }

    /// Serves HTTP/2 without TLS to clients that begin with it (prior knowledge).
    #[must_use]
    pub fn http2_prior_knowledge(self, is_served: bool) -> Self {
        Self { listener: self.listener.http2_prior_knowledge(is_served) }
    }

    /// Trusts these proxies' headers about the addresses of their clients.
    #[must_use]
    pub fn trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self { listener: self.listener.trusted_proxies(proxies) }
    }

    /// Returns the bound network address; an error for a Unix socket, which has none.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Returns the origin to put before a path: `http://ADDRESS`, `https://ADDRESS` or `unix:SOCKET:`.
    pub fn origin(&self) -> io::Result<String> {
        self.listener.origin()
    }

    /// Serves until `stop` completes, then lets requests in flight finish.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        self.listener.serve(stop).await
    }
}

/// Completes at Ctrl-C, or SIGTERM on Unix.
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
