//! Bearer token for the requests to one server; renewed before it expires and after a refusal.
//!
//! Guarantees: one renewal at a time, however many calls need it. A token that another process renewed is read from
//! the file instead of being renewed again, because refresh tokens often work only once. A failed renewal is reported
//! as an error.

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

/// Token source of one server.
pub(crate) struct Bearer {
    name: Box<str>,
    way: Way,
    settings: OAuth,
    current: ArcSwapOption<Token>,
    /// Discovered source of tokens; locked during a renewal.
    source: Mutex<Option<Found>>,
}

/// Tokens in use.
pub(crate) struct Token {
    tokens: Tokens,
}

impl Token {
    pub(crate) fn text(&self) -> &str {
        &self.tokens.access
    }
}

impl Bearer {
    /// Creates the token source of a server; `None` if no OAuth is configured for it.
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

    /// Returns a token that is valid for now; `None` if OAuth is not configured and nobody has logged in.
    pub(crate) async fn ready(&self) -> Result<Option<Arc<Token>>, OAuthError> {
        match self.current() {
            Some(token) if token.tokens.is_fresh() => Ok(Some(token)),
            None if self.settings.is_implicit => Ok(None),
            stale => Box::pin(self.renew(stale.as_ref())).await.map(Some),
        }
    }

    /// Returns a token other than `refused`, which has expired or was refused.
    pub(crate) async fn renew(&self, refused: Option<&Arc<Token>>) -> Result<Arc<Token>, OAuthError> {
        let mut source = self.source.lock().await;
        let kept = read(self.folder(), &self.name, &self.way.server);
        if let Some(token) = self.another(refused, kept.as_ref()) {
            return Ok(token);
        }
        if let Some(kept) = kept.filter(|kept| kept.tokens.refresh.is_some()) {
            match self.refresh(&mut source, &kept).await {
                Ok(tokens) => return self.keep_as(Kept { tokens, ..kept }),
                // The refresh token was used up or revoked. The client credentials grant can start anew.
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

    /// Returns a token with additional scopes, after the server refused the current one for missing them. If a person
    /// has to agree, the scopes are stored for the next login and an error is returned.
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
        // The token has these scopes already; requesting them again would not help.
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

    /// Returns a fresh token that another task or process has obtained in the meantime.
    fn another(&self, refused: Option<&Arc<Token>>, kept: Option<&Kept>) -> Option<Arc<Token>> {
        let is_other = |tokens: &Tokens| {
            tokens.is_fresh() && refused.is_none_or(|refused| refused.tokens.access != tokens.access)
        };
        let held = self.current().filter(|token| is_other(&token.tokens));
        held.or_else(|| Some(self.take(kept.filter(|kept| is_other(&kept.tokens))?.tokens.clone())))
    }

    /// Returns the client that the operator configured.
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

    /// Returns the source of tokens; discovers it once.
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
        // A token that cannot be stored is still usable; the failure is only logged.
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
