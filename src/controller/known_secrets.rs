//! The values of the Secrets that were read, by namespace: they are taken out of whatever a target or a server says.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use crate::redact::Redactor;

/// How many values of one key are remembered: a rotated one may still be in somebody's output.
const VALUES_OF_A_KEY: usize = 4;

/// What is known of the Secrets of all namespaces.
#[derive(Default)]
pub struct KnownSecrets(Mutex<HashMap<String, Namespace>>);

#[derive(Default)]
struct Namespace {
    /// By the Secret's name and the key.
    values: BTreeMap<(String, String), Vec<String>>,
    redactor: Arc<Redactor>,
}

impl KnownSecrets {
    /// Remembers a value that was read.
    pub fn remember(&self, namespace: &str, name: &str, key: &str, value: &str) {
        let mut namespaces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let namespace = namespaces.entry(namespace.to_owned()).or_default();
        let values = namespace.values.entry((name.to_owned(), key.to_owned())).or_default();
        if values.iter().any(|known| known == value) {
            return;
        }
        values.push(value.to_owned());
        if values.len() > VALUES_OF_A_KEY {
            values.remove(0);
        }
        namespace.redactor = Arc::new(Redactor::new(namespace.values.values().flatten().map(String::as_str)));
    }

    /// Takes the namespace's secrets out of texts.
    pub fn redactor(&self, namespace: &str) -> Arc<Redactor> {
        let namespaces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        namespaces.get(namespace).map(|namespace| namespace.redactor.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_out_in_its_namespace_also_after_its_rotation() {
        let secrets = KnownSecrets::default();
        for value in ["first-value", "second-value"] {
            secrets.remember("team", "s", "k", value);
        }
        let redact = |namespace| secrets.redactor(namespace).redact("first-value second-value").count;
        assert_eq!((redact("team"), redact("other")), (2, 0));
    }

    #[test]
    fn the_oldest_of_many_values_is_forgotten() {
        let secrets = KnownSecrets::default();
        for number in 0..=VALUES_OF_A_KEY {
            secrets.remember("team", "s", "k", &format!("value-{number}"));
        }
        assert_eq!(secrets.redactor("team").redact("value-0 value-1").text, "value-0 [redacted]");
    }
}
