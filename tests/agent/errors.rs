//! Requests that fail: the category decides what the controller does, the words tell a person what to do.

use std::time::Duration;

use oikos::{
    agent::{ErrorCategory, Model, ModelError, TurnContext},
    api::Provider,
};
use serde_json::{Value, json};

use crate::fixtures::{BOTH, World, agent, model_of, plan, serve};

async fn fail(provider: Provider, reply: Value) -> ModelError {
    let server = serve(&json!({"rules": [{"name": "only", "reply": reply}]}).to_string()).await;
    ask(&model_of(&server, provider, Some("k-123"))).await
}

async fn ask(model: &Model) -> ModelError {
    let world = World::new(plan("x", &["host:strong"]));
    model.ask(&world.request(&TurnContext::default())).await.unwrap_err()
}

#[tokio::test]
async fn every_failure_has_its_category_and_only_passing_ones_are_retried() {
    use ErrorCategory::*;
    let table = [
        (json!({"status": 400, "errorType": "invalid_request_error", "text": "bad"}), BadRequest, false),
        (json!({"status": 400, "text": "prompt is too long: 250000 tokens > 200000 maximum"}), ContextOverflow, false),
        (json!({"status": 400, "errorType": "exceed_context_size_error", "text": "x"}), ContextOverflow, false),
        (json!({"status": 400, "text": "Content Exists Risk"}), ContentFiltered, false),
        (json!({"status": 401, "errorType": "authentication_error"}), Unauthorized, false),
        (json!({"status": 402}), PaymentRequired, false),
        (json!({"status": 403}), Unauthorized, false),
        (json!({"status": 404}), NotFound, false),
        (json!({"status": 408}), TimedOut, true),
        (json!({"status": 413, "errorType": "request_too_large"}), ContextOverflow, false),
        (json!({"status": 422}), BadRequest, false),
        (json!({"status": 429, "errorType": "rate_limit_error"}), RateLimited, true),
        (json!({"status": 429, "errorType": "insufficient_quota"}), PaymentRequired, false),
        (json!({"status": 500}), ServerError, true),
        (json!({"status": 503}), Overloaded, true),
        (json!({"status": 529, "errorType": "overloaded_error"}), Overloaded, true),
        (json!({"status": 302, "headers": {"location": "http://127.0.0.1:1/"}}), Redirected, false),
        (json!({"raw": "{\"error\": {\"code\": 429, \"message\": \"slow down\"}}"}), RateLimited, true),
        (json!({"raw": "{\"error\": \"model requires more system memory\"}"}), ServerError, true),
        (json!({"raw": "<html>It works!</html>"}), Malformed, true),
        (json!({"raw": "{}"}), Malformed, true),
        (json!({"drop": true, "text": "hello"}), Unreachable, true),
    ];
    for provider in BOTH {
        for (reply, category, retryable) in &table {
            let error = fail(provider, reply.clone()).await;
            assert_eq!((error.category, error.retryable), (*category, *retryable), "{provider:?} {reply}: {error}");
        }
    }
}

#[tokio::test]
async fn the_server_says_how_long_to_wait() {
    let wait = |headers: Value| async move {
        fail(Provider::Anthropic, json!({"status": 429, "headers": headers})).await.retry_after
    };
    assert_eq!(wait(json!({"retry-after": "7"})).await, Some(Duration::from_secs(7)));
    assert_eq!(wait(json!({"retry-after-ms": "1500", "retry-after": "7"})).await, Some(Duration::from_millis(1500)));
    assert_eq!(wait(json!({"retry-after": "999999"})).await, Some(Duration::from_secs(3600)));
    assert_eq!(wait(json!({"retry-after": "Thu, 01 Jan 2015 00:00:00 GMT"})).await, Some(Duration::ZERO));
    assert_eq!(wait(json!({"retry-after": "soon"})).await, None);
    let error = fail(Provider::OpenAI, json!({"status": 429, "headers": {"x-should-retry": "false"}})).await;
    assert!(!error.retryable);
}

#[tokio::test]
async fn a_wrong_key_is_named_as_such_and_never_repeated() {
    for provider in BOTH {
        let server = serve("{ apiKey: right, rules: [{ name: ok, reply: { text: hello } }] }").await;
        let error = ask(&model_of(&server, provider, Some("wrong-key-1"))).await;
        assert_eq!(error.category, ErrorCategory::Unauthorized);
        assert!(error.message.contains("apiKeySecretRef"), "{error}");
        let world = World::new(plan("x", &["host:strong"]));
        let request = world.request(&TurnContext::default());
        assert_eq!(model_of(&server, provider, Some("right\n")).ask(&request).await.unwrap().text, "hello");
        // A server that repeats the key does not get it into our words.
        let error = fail(provider, json!({"status": 401, "text": "no such key: k-123"})).await;
        assert!(!error.message.contains("k-123"), "{error}");
        assert!(!format!("{:?}", model_of(&server, provider, Some("k-123"))).contains("k-123"));
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_unreachable_or_too_slow() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let error = ask(&Model::new(&agent(Provider::Anthropic, &url), None).unwrap()).await;
    assert_eq!((error.category, error.retryable), (ErrorCategory::Unreachable, true));

    let server = serve("{ rules: [{ name: never, reply: { hold: never } }] }").await;
    let mut spec = agent(Provider::OpenAI, &server.openai_url());
    spec.limits.timeout_seconds = 1;
    let error = ask(&Model::new(&spec, None).unwrap()).await;
    assert_eq!((error.category, error.retryable), (ErrorCategory::TimedOut, true));
}

#[test]
fn an_agent_that_cannot_work_is_told_apart_before_any_request() {
    for url in ["http://", "ftp://example.invalid", "http://user:secret-word@example.invalid"] {
        let error = Model::new(&agent(Provider::OpenAI, url), None).unwrap_err();
        assert_eq!(error.category, ErrorCategory::Misconfigured, "{url}");
        assert!(!error.message.contains("secret-word"));
    }
    let error = Model::new(&agent(Provider::OpenAI, "http://x.invalid"), Some("a\nb".into())).unwrap_err();
    assert!(!error.retryable && !error.message.contains("a\nb"));
}
