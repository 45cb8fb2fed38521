//! Access control, and the security headers of every response.

use crate::html;
use axum::extract::{Query, Request};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};

/// A secret that every request must contain. It is required for access from other machines.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The minimum length: 16 random letters and digits cannot be guessed.
    pub const LEAST: usize = 16;

    /// A token of at least [`Token::LEAST`] letters, digits or `-._~`, which need no
    /// escaping in a URL; `None` for any other text.
    pub fn new(text: &str) -> Option<Self> {
        (text.len() >= Self::LEAST && text.chars().all(is_unreserved))
            .then(|| Self(text.to_owned()))
    }

    /// Whether a text equals the token. The comparison takes constant time: its duration does not
    /// depend on where they differ.
    fn matches(&self, other: &str) -> bool {
        let pairs = self.0.bytes().zip(other.bytes());
        let differs = pairs.fold(0, |differs, (a, b)| std::hint::black_box(differs | (a ^ b)));
        self.0.len() == other.len() && differs == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Token(…)")
    }
}

/// The access rules of one server.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    address: SocketAddr,
    token: Option<Token>,
}

impl Access {
    pub(crate) fn new(address: SocketAddr, token: Option<Token>) -> Self {
        Self { address, token }
    }

    /// `None` if a request is allowed, otherwise the response that refuses it.
    pub(crate) fn refusal(&self, request: &Request) -> Option<Response> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let page = refuse(
                StatusCode::METHOD_NOT_ALLOWED,
                "Read-only",
                "These pages can only be read (GET and HEAD).",
            );
            return Some(([(header::ALLOW, "GET, HEAD")], page).into_response());
        }
        if is_loopback(self.address.ip()) && !self.is_for_this_machine(request) {
            let text = "These pages are for this machine only: open them as http://127.0.0.1 or \
                http://localhost.";
            return Some(refuse(StatusCode::FORBIDDEN, "Unknown host name", text));
        }
        if from_another_site(request.headers()) {
            let text = "Other web sites may link to these pages, but not load them.";
            return Some(refuse(StatusCode::FORBIDDEN, "Request from another site", text));
        }
        self.token.as_ref().and_then(|token| self.without_token(token, request))
    }

    /// Whether the request names this machine. A malicious site can let its own name resolve to
    /// 127.0.0.1, so that a browser treats our responses as the site's (DNS rebinding); its
    /// requests then have its own name as `Host`.
    fn is_for_this_machine(&self, request: &Request) -> bool {
        let hosts: Vec<&HeaderValue> = request.headers().get_all(header::HOST).iter().collect();
        let named =
            request.uri().authority().is_none_or(|authority| self.is_ours(authority.as_str()));
        named
            && matches!(hosts.as_slice(), [host] if host.to_str().is_ok_and(|host| self.is_ours(host)))
    }

    /// Whether a host name, with or without a port, is one of this machine.
    fn is_ours(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let own = match self.address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        name.eq_ignore_ascii_case("localhost") || ["127.0.0.1", "[::1]", &own].contains(&name)
    }

    /// The response to a request without the token, or with the token in the URL. The latter is
    /// redirected to a URL without it, because browsers show and store URLs, and gets a cookie.
    fn without_token(&self, token: &Token, request: &Request) -> Option<Response> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(request.uri())
            .map_or_else(|_| Vec::new(), |q| q.0);
        let given = pairs.iter().find(|(key, _)| key == "token").map(|(_, value)| value.as_str());
        if given.is_some_and(|given| token.matches(given)) {
            return self.set_cookie(token, request);
        }
        let bearer =
            request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let cookie = cookie(request.headers(), &self.cookie_name());
        if given.is_none()
            && [bearer, cookie].into_iter().flatten().any(|given| token.matches(given))
        {
            return None;
        }
        let text = "Add ?token= and the token of `boostfgl serve --token` to the address.";
        let page = refuse(StatusCode::UNAUTHORIZED, "A token is needed", text);
        Some(([(header::WWW_AUTHENTICATE, "Bearer")], page).into_response())
    }

    /// Redirects to the same URL without the token, which goes into a cookie.
    fn set_cookie(&self, token: &Token, request: &Request) -> Option<Response> {
        let path = request.uri().path().trim_start_matches('/');
        let query = request
            .uri()
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.starts_with("token="));
        let query = query.collect::<Vec<_>>().join("&");
        let place = if query.is_empty() { format!("/{path}") } else { format!("/{path}?{query}") };
        let cookie =
            format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), token.0);
        Some(
            (StatusCode::SEE_OTHER, [(header::LOCATION, place), (header::SET_COOKIE, cookie)])
                .into_response(),
        )
    }

    /// Cookies belong to a host, not to a port: two servers must not share one.
    fn cookie_name(&self) -> String {
        format!("boostfgl-{}", self.address.port())
    }
}

/// Whether only this machine can reach an address.
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// Whether the browser reports that another site makes the request. Following a link from there is
/// allowed: only the user sees the page.
fn from_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    let is_link = headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
    site.is_some_and(|site| site == "cross-site" || site == "same-site") && !is_link
}

/// The value of a cookie.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Whether a character needs no escaping in a URL.
fn is_unreserved(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~".contains(c)
}

fn refuse(status: StatusCode, title: &str, text: &str) -> Response {
    (status, Html(html::notice(title, text))).into_response()
}

/// Adds the security headers: only our own files may be loaded, and pages may not be framed,
/// sniffed or cached.
pub(crate) fn add_security_headers(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_equals_only_itself() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.matches("0123456789abcdef"));
        for other in
            ["", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0", "x123456789abcdef"]
        {
            assert!(!token.matches(other), "{other}");
        }
        for wrong in ["short", "with a space in it", "semi;colon;semi;colon", "äääääääääääääääää"]
        {
            assert!(Token::new(wrong).is_none(), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
    }

    #[test]
    fn only_names_of_this_machine_are_accepted() {
        let access = Access::new(SocketAddr::from(([127, 0, 0, 2], 8410)), None);
        for host in [
            "localhost",
            "LocalHost:1",
            "127.0.0.1:8410",
            "127.0.0.1",
            "[::1]",
            "[::1]:80",
            "127.0.0.2:8410",
        ] {
            assert!(access.is_ours(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "127.0.0.3",
            "::1",
        ] {
            assert!(!access.is_ours(host), "{host}");
        }
    }
}
