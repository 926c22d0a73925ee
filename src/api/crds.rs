//! The CustomResourceDefinitions, as they are written to `crds/` and into the chart.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use super::{Agent, AutonomyWindow, Execution, Guest, Host, Message, Plan};

/// The definitions of all kinds, in the order of the documentation.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        Plan::crd(),
        Execution::crd(),
        AutonomyWindow::crd(),
        Message::crd(),
        Agent::crd(),
        Host::crd(),
        Guest::crd(),
    ];
    for version in crds.iter_mut().flat_map(|crd| &mut crd.spec.versions) {
        if let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            drop_unknown_formats(schema);
        }
    }
    crds
}

/// Drops `format: uint32` and the like: the API server warns of formats that OpenAPI does not have, and the ranges say
/// the same.
fn drop_unknown_formats(schema: &mut JSONSchemaProps) {
    schema.format.take_if(|format| format.starts_with("uint"));
    for property in schema.properties.iter_mut().flat_map(|properties| properties.values_mut()) {
        drop_unknown_formats(property);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => drop_unknown_formats(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(drop_unknown_formats),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(value)) = &mut schema.additional_properties {
        drop_unknown_formats(value);
    }
}
