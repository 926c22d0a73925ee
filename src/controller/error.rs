//! What can go wrong between the controller and the API server.

use std::time::Duration;

/// The longest that one API call may take.
pub const API_TIMEOUT: Duration = Duration::from_secs(10);

/// A failed call. The reconcile is repeated later.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The API server answered with an error or not at all.
    #[error("{what}: {source}")]
    Api {
        /// What was being done.
        what: &'static str,
        /// The client's error; boxed, since it is large.
        source: Box<kube::Error>,
    },
    /// No answer within [`API_TIMEOUT`].
    #[error("{what}: no answer from the API server within 10 s")]
    Timeout {
        /// What was being done.
        what: &'static str,
    },
    /// Another object has the name that an object of this plan needs.
    #[error("the name {name} is taken by another object; delete that object")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The object does not say where it lives; the API server never sends such an object.
    #[error("the object has no name or namespace")]
    Nameless,
}

impl ControllerError {
    /// A stable label.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Api { .. } if self.is_conflict() => "Conflict",
            Self::Api { .. } => "Api",
            Self::Timeout { .. } => "Timeout",
            Self::NameTaken { .. } => "NameTaken",
            Self::Nameless => "Nameless",
        }
    }

    /// Somebody else wrote first: read again.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_conflict)
    }

    /// It is there already: a repeated decision, not a second effect.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_already_exists)
    }

    /// It is not there.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_not_found)
    }

    /// It will never be accepted as it is: invalid or too large.
    pub fn is_unacceptable(&self) -> bool {
        // etcd's own limit comes as a 500: "etcdserver: request is too large".
        self.status().is_some_and(|status| matches!(status.code, 413 | 422) || status.message.contains("too large"))
    }

    fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Api { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Why something that a reconcile needs is not available.
#[derive(Debug)]
pub enum LookupError<Missing> {
    /// It does not exist or is not usable: a person has to do something about it.
    Missing(Missing),
    /// The API server could not be asked; the reconcile is repeated later.
    Call(ControllerError),
}

impl<Missing> LookupError<Missing> {
    /// The same error, with another description of what is missing.
    pub fn map<Other>(self, describe: impl FnOnce(Missing) -> Other) -> LookupError<Other> {
        match self {
            Self::Missing(missing) => LookupError::Missing(describe(missing)),
            Self::Call(error) => LookupError::Call(error),
        }
    }
}

impl<Missing> From<ControllerError> for LookupError<Missing> {
    fn from(error: ControllerError) -> Self {
        Self::Call(error)
    }
}

/// Bounds one API call in time and says what it was for when it fails.
pub async fn call<T>(
    what: &'static str,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ControllerError> {
    match tokio::time::timeout(API_TIMEOUT, request).await {
        Ok(answer) => answer.map_err(|source| ControllerError::Api { what, source: Box::new(source) }),
        Err(_) => Err(ControllerError::Timeout { what }),
    }
}
