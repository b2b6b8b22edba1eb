//! The token that goes with every request to one server, renewed before it ends and when it is refused.
//!
//! Guarantees: one renewal at a time, however many calls need it; a token that another process renewed is taken from
//! the file instead of renewing it twice (refresh tokens are often good once); a renewal that fails is told, never
//! guessed around.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::Mutex;

use super::client::{Ask, token};
use super::discovery::{Found, discover, joined};
use super::error::{OAuthError, plain};
use super::store::{Client, Kept, Tokens, read, write};
use super::wire::Way;
use super::{Grant, OAuth};
use crate::spec::Endpoint;

pub(crate) struct Bearer {
    name: Box<str>,
    way: Way,
    settings: OAuth,
    current: ArcSwapOption<Token>,
    /// Where tokens come from, once known; held while one is had.
    source: Mutex<Option<Found>>,
}

/// What is sent.
pub(crate) struct Token {
    tokens: Tokens,
}

impl Token {
    pub(crate) fn text(&self) -> &str {
        &self.tokens.access
    }
}

impl Bearer {
    /// For a server of this name; `None` where the operator gave it another credential or none is wanted.
    pub(crate) fn of(name: &str, endpoint: &Endpoint) -> Option<Arc<Self>> {
        let settings = endpoint.oauth.clone()?;
        let name = settings.known_as.as_deref().unwrap_or(name).to_owned();
        let way = Way::new(endpoint);
        let kept = read(settings.folder.as_deref(), &name, &endpoint.url);
        let current = kept.map(|kept| Arc::new(Token { tokens: kept.tokens }));
        Some(Arc::new(Self {
            name: name.into(),
            way,
            settings,
            current: ArcSwapOption::new(current),
            source: Mutex::default(),
        }))
    }

    pub(crate) fn current(&self) -> Option<Arc<Token>> {
        self.current.load_full()
    }

    /// A token that is good for now. `None` where the operator asked for none and nobody logged in.
    pub(crate) async fn ready(&self) -> Result<Option<Arc<Token>>, OAuthError> {
        match self.current() {
            Some(token) if token.tokens.is_fresh() => Ok(Some(token)),
            None if self.settings.is_implicit => Ok(None),
            stale => Box::pin(self.renew(stale.as_ref())).await.map(Some),
        }
    }

    /// Another token than this one, which has ended or was refused.
    pub(crate) async fn renew(&self, refused: Option<&Arc<Token>>) -> Result<Arc<Token>, OAuthError> {
        let mut source = self.source.lock().await;
        let kept = read(self.folder(), &self.name, &self.way.server);
        if let Some(token) = self.another(refused, kept.as_ref()) {
            return Ok(token);
        }
        if let Some(kept) = kept.filter(|kept| kept.tokens.refresh.is_some()) {
            match self.refresh(&mut source, &kept).await {
                Ok(tokens) => return self.keep_as(Kept { tokens, ..kept }),
                // It was used up or taken back; whoever can start anew does.
                Err(OAuthError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if self.settings.grant != Grant::ClientCredentials {
            return Err(OAuthError::LoggedOut { server: self.name.clone() });
        }
        let client = self.own_client()?;
        let found = self.found(&mut source, self.settings.issuer.as_deref()).await?;
        let tokens = token(&self.way, &found, &client, &Ask::Credentials).await?;
        self.keep(&found, &client, tokens)
    }

    /// A token with these rights as well; the server refused this one for the want of them. Where a person has to agree,
    /// what is wanted is remembered for the next login.
    pub(crate) async fn widen(
        &self,
        refused: Option<&Arc<Token>>,
        scopes: &[String],
    ) -> Result<Arc<Token>, OAuthError> {
        let mut source = self.source.lock().await;
        let kept = read(self.folder(), &self.name, &self.way.server);
        if let Some(token) = self.another(refused, kept.as_ref()) {
            return Ok(token);
        }
        let shown = plain(&scopes.join(" "));
        if self.settings.grant != Grant::ClientCredentials {
            if let Some(mut kept) = kept {
                kept.wanted = joined(joined(kept.scopes.clone(), &kept.wanted), scopes);
                write(self.folder(), &self.name, &kept)?;
            }
            return Err(OAuthError::MoreScopes { server: self.name.clone(), scopes: shown });
        }
        let mut found = self.found(&mut source, self.settings.issuer.as_deref()).await?;
        let wanted = joined(found.scopes.clone(), scopes);
        // It was given what it asked for and asks again: once more would not help.
        if wanted == found.scopes {
            return Err(OAuthError::Insufficient { scopes: shown });
        }
        found.scopes = wanted;
        let client = self.own_client()?;
        let tokens = token(&self.way, &found, &client, &Ask::Credentials).await?;
        let kept = self.keep(&found, &client, tokens);
        *source = Some(found);
        kept
    }

    /// A token that somebody else has brought meanwhile, in this process or beside it.
    fn another(&self, refused: Option<&Arc<Token>>, kept: Option<&Kept>) -> Option<Arc<Token>> {
        let is_other = |tokens: &Tokens| {
            tokens.is_fresh() && refused.is_none_or(|refused| refused.tokens.access != tokens.access)
        };
        let held = self.current().filter(|token| is_other(&token.tokens));
        held.or_else(|| Some(self.take(kept.filter(|kept| is_other(&kept.tokens))?.tokens.clone())))
    }

    /// The client that the operator named.
    fn own_client(&self) -> Result<Client, OAuthError> {
        let (Some(id), Some(secret)) = (&self.settings.client_id, &self.settings.client_secret) else {
            return Err(OAuthError::NoCredentials);
        };
        Ok(Client { id: id.clone(), secret: Some(secret.clone()) })
    }

    async fn refresh(&self, source: &mut Option<Found>, kept: &Kept) -> Result<Tokens, OAuthError> {
        let refresh = kept.tokens.refresh.as_deref().unwrap_or_default();
        let found = self.found(source, Some(&kept.issuer)).await?;
        token(&self.way, &found, &kept.client, &Ask::Refresh { token: refresh }).await
    }

    /// Where tokens come from; looked for once.
    async fn found(&self, source: &mut Option<Found>, issuer: Option<&str>) -> Result<Found, OAuthError> {
        if let Some(found) = source {
            return Ok(found.clone());
        }
        let found = discover(&self.way, issuer, &self.settings.scopes).await?;
        *source = Some(found.clone());
        Ok(found)
    }

    fn folder(&self) -> Option<&Path> {
        self.settings.folder.as_deref()
    }

    fn keep(&self, found: &Found, client: &Client, tokens: Tokens) -> Result<Arc<Token>, OAuthError> {
        self.keep_as(Kept {
            server: self.way.server.to_string(),
            issuer: found.issuer.issuer.clone(),
            client: client.clone(),
            tokens,
            scopes: found.scopes.clone(),
            wanted: Vec::new(),
        })
    }

    fn keep_as(&self, kept: Kept) -> Result<Arc<Token>, OAuthError> {
        let written = write(self.folder(), &self.name, &kept);
        let token = self.take(kept.tokens);
        // A token that cannot be kept is still good; who cannot be told of it later is told now.
        if let Err(error) = written {
            tracing::warn!(target: "toolcrib", upstream = &*self.name, "{error}");
        }
        Ok(token)
    }

    fn take(&self, tokens: Tokens) -> Arc<Token> {
        let token = Arc::new(Token { tokens });
        self.current.store(Some(token.clone()));
        token
    }
}
