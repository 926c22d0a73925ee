//! What guests reach through the bridge's address: an HTTP shim in front of all plain HTTP, and a
//! name service forwarder.
//!
//! Both run on the machine, so guests reach whatever the machine reaches, also through a proxy or a
//! resolver on loopback. The shim is where HTTP faults strike and serves the files under `www/`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::error::{Error, Result};
use super::fault::{FaultKind, Faults};
use super::layout::{Layout, Settings};
use super::machine;
use super::network::GatewayPorts;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const NAME_TIMEOUT: Duration = Duration::from_secs(5);
/// Headers that belong to one connection and are not passed on.
const HOP_HEADERS: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::PROXY_AUTHORIZATION];

struct Shim {
    client: reqwest::Client,
    faults: Faults,
    site: PathBuf,
    gateway: String,
}

/// What was started.
#[derive(Debug)]
pub struct Gateway {
    /// Where the listeners are.
    pub ports: GatewayPorts,
    /// Lines for the guests' apt configuration, when the machine needs a proxy for HTTPS.
    pub apt_configuration: String,
}

/// Starts everything on free ports of the bridge's address; it lives as long as the runtime.
///
/// # Errors
/// When an address cannot be bound.
pub async fn start(layout: &Layout, settings: &Settings) -> Result<Gateway> {
    let address: Ipv4Addr =
        settings.gateway().parse().map_err(|_| Error::Supervisor("the subnet is no IPv4 network".to_owned()))?;
    let failed = |error: std::io::Error| Error::Supervisor(format!("listening on {address}: {error}"));
    let http = TcpListener::bind((address, 0)).await.map_err(failed)?;
    let dns_tcp = TcpListener::bind((address, 0)).await.map_err(failed)?;
    let port = dns_tcp.local_addr().map_err(failed)?.port();
    let dns_udp = UdpSocket::bind((address, port)).await.map_err(failed)?;
    let ports = GatewayPorts { http: http.local_addr().map_err(failed)?.port(), dns: port };

    let mut client =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).connect_timeout(CONNECT_TIMEOUT);
    if let Some(proxy) = machine::apt_proxy("http").and_then(|address| reqwest::Proxy::http(address).ok()) {
        client = client.proxy(proxy);
    }
    let client = client.build().map_err(|error| Error::Supervisor(format!("the HTTP client: {error}")))?;
    let shim = Shim { client, faults: Faults::new(layout), site: layout.site(), gateway: settings.gateway() };
    let router = Router::new().fallback(serve).with_state(Arc::new(shim));
    tokio::spawn(async move {
        if let Err(error) = axum::serve(http, router).await {
            eprintln!("stand-in: the HTTP shim ended: {error}");
        }
    });
    if let Some(server) = machine::nameservers().first() {
        let upstream = format!("{server}:53");
        tokio::spawn(forward_queries(dns_udp, upstream.clone()));
        tokio::spawn(forward_connections(dns_tcp, upstream));
    }
    let apt_configuration = match machine::apt_proxy("https") {
        Some(proxy) => https_proxy(&proxy, address).await.map_err(failed)?,
        None => String::new(),
    };
    Ok(Gateway { ports, apt_configuration })
}

/// The machine's proxy for HTTPS as guests may use it: one on loopback through a port of the bridge.
async fn https_proxy(proxy: &str, address: Ipv4Addr) -> std::io::Result<String> {
    let authority = proxy.split("://").last().unwrap_or(proxy).trim_end_matches('/');
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let reachable = if host == "localhost" || host.starts_with("127.") {
        let listener = TcpListener::bind((address, 0)).await?;
        let port = listener.local_addr()?.port();
        tokio::spawn(forward_connections(listener, authority.to_owned()));
        format!("http://{address}:{port}")
    } else {
        proxy.to_owned()
    };
    Ok(format!("Acquire::https::Proxy \"{reachable}\";\n"))
}

async fn serve(State(shim): State<Arc<Shim>>, request: Request) -> Response {
    let host = request.headers().get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let path = request.uri().path_and_query().map_or("/", |value| value.as_str());
    let url = format!("{host}{path}");
    if let Some(entry) = shim.faults.strike(FaultKind::HttpError, None, &url) {
        let status = entry.fault.status.and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        return (status, format!("{status}\n")).into_response();
    }
    let host_name = host.split(':').next().unwrap_or_default();
    if host_name == shim.gateway {
        return serve_file(&shim.site, request.uri().path());
    }
    pass_on(&shim.client, &url, request).await
}

fn serve_file(site: &Path, path: &str) -> Response {
    let relative = Path::new(path.trim_start_matches('/'));
    let inside = relative.components().all(|component| matches!(component, Component::Normal(_)));
    match inside.then(|| std::fs::read(site.join(relative))) {
        Some(Ok(bytes)) => bytes.into_response(),
        _ => (StatusCode::NOT_FOUND, "404 Not Found\n").into_response(),
    }
}

async fn pass_on(client: &reqwest::Client, url: &str, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let bytes = match axum::body::to_bytes(body, 64 << 20).await {
        Ok(bytes) => bytes,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    };
    let mut headers = head.headers;
    for name in &HOP_HEADERS {
        headers.remove(name);
    }
    headers.remove(header::HOST);
    headers.remove(header::CONTENT_LENGTH);
    let mut outgoing = client.request(head.method, format!("http://{url}")).headers(headers);
    if !bytes.is_empty() {
        outgoing = outgoing.body(bytes);
    }
    match outgoing.send().await {
        Ok(answer) => relay(answer),
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error}\n")).into_response(),
    }
}

/// Turns the upstream's answer into ours, its body passed on piece by piece.
fn relay(answer: reqwest::Response) -> Response {
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        if !HOP_HEADERS.contains(name) {
            response = response.header(name, value);
        }
    }
    let pieces = futures::stream::try_unfold(answer, async |mut answer| {
        Ok::<_, reqwest::Error>(answer.chunk().await?.map(|piece| (piece, answer)))
    });
    response.body(Body::from_stream(pieces)).unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}

async fn forward_queries(socket: UdpSocket, upstream: String) {
    let socket = Arc::new(socket);
    let mut buffer = vec![0u8; 4096];
    loop {
        let Ok((length, client)) = socket.recv_from(&mut buffer).await else { continue };
        let query = buffer[..length].to_vec();
        tokio::spawn(forward_query(Arc::clone(&socket), upstream.clone(), query, client));
    }
}

async fn forward_query(socket: Arc<UdpSocket>, upstream: String, query: Vec<u8>, client: SocketAddr) {
    let exchange = async {
        let outside = UdpSocket::bind(("0.0.0.0", 0)).await?;
        outside.connect(&upstream).await?;
        outside.send(&query).await?;
        let mut answer = vec![0u8; 65_535];
        let length = outside.recv(&mut answer).await?;
        socket.send_to(&answer[..length], client).await
    };
    // An unanswered query is what the guest's resolver expects of a lost packet.
    let _ = tokio::time::timeout(NAME_TIMEOUT, exchange).await;
}

async fn forward_connections(listener: TcpListener, upstream: String) {
    loop {
        let Ok((mut inside, _)) = listener.accept().await else { continue };
        let upstream = upstream.clone();
        tokio::spawn(async move {
            if let Ok(mut outside) = TcpStream::connect(&upstream).await {
                let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
            }
        });
    }
}
