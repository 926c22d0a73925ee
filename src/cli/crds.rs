//! `oikos crds`.

use std::{fs, io::Write, path::Path};

use anyhow::Context;

use crate::api;

/// Prints the CustomResourceDefinitions, or writes one file for each into `dir`.
pub fn run(dir: Option<&Path>) -> anyhow::Result<()> {
    for crd in api::crds() {
        let yaml = serde_saphyr::to_string(&crd).context("writing a CustomResourceDefinition as YAML")?;
        match dir {
            Some(dir) => {
                let path = dir.join(format!("{}.yaml", crd.spec.names.plural));
                fs::write(&path, yaml).with_context(|| format!("writing {}", path.display()))?;
            }
            None => write!(std::io::stdout(), "---\n{yaml}")?,
        }
    }
    Ok(())
}
