//! The CustomResourceDefinitions, as they are written to `crds/` and into the chart.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use super::{Agent, AutonomyWindow, Execution, Guest, Host, Message, Plan};

/// All of them, in the order of the documentation.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![Plan::crd(), Execution::crd(), AutonomyWindow::crd(), Message::crd(), Agent::crd(), Host::crd(), Guest::crd()]
}
