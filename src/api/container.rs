//! The container of a step, which is described in [`crate::container`]. A test here holds the generated schema and the
//! rules together.

pub use crate::container::ContainerSpec;

#[cfg(test)]
mod tests {
    use regex::Regex;
    use serde_json::{Value, json};

    use super::*;
    use crate::container::{CORES, DISK_GIB, MEMORY_MIB, VMID};

    /// The schema of the container, as the CRD of a kind has it.
    fn schema(kind: &str, path: &str) -> Value {
        let crd = crate::api::crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
        let schema = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
        schema.pointer(&format!("/openAPIV3Schema/properties/spec/properties/{path}")).unwrap().clone()
    }

    fn schemas() -> [Value; 2] {
        [schema("Plan", "steps/items/properties/createContainer"), schema("Execution", "createContainer")]
    }

    /// Whether the API server takes the text for this field.
    fn is_admitted(field: &Value, text: &str) -> bool {
        let length = text.chars().count() as u64;
        let fits =
            |limit: &str, fits: fn(u64, u64) -> bool| field[limit].as_u64().is_none_or(|limit| fits(length, limit));
        let matches = field["pattern"].as_str().is_none_or(|pattern| Regex::new(pattern).unwrap().is_match(text));
        fits("minLength", |length, least| length >= least)
            && fits("maxLength", |length, most| length <= most)
            && matches
    }

    /// Whether the rules take the value for this field.
    fn is_valid(field: &str, value: Value) -> bool {
        let mut container = json!({"hostname": "web"});
        container[field] = value;
        serde_json::from_value::<ContainerSpec>(container).unwrap().check().is_ok()
    }

    #[test]
    fn the_schema_and_the_rules_have_the_same_numbers() {
        for schema in schemas() {
            for (field, range) in [("vmid", VMID), ("diskGib", DISK_GIB), ("memoryMib", MEMORY_MIB), ("cores", CORES)] {
                let field_schema = &schema["properties"][field];
                let (least, most) = (f64::from(*range.start()), f64::from(*range.end()));
                assert_eq!(field_schema["minimum"].as_f64(), Some(least), "{field}");
                assert_eq!(field_schema["maximum"].as_f64(), Some(most), "{field}");
                assert!(is_valid(field, json!(range.start())) && is_valid(field, json!(range.end())), "{field}");
                assert!(
                    !is_valid(field, json!(range.start() - 1)) && !is_valid(field, json!(range.end() + 1)),
                    "{field}"
                );
            }
        }
    }

    #[test]
    fn the_schema_and_the_rules_agree_on_names_and_the_schema_refuses_no_address_that_the_rules_take() {
        let texts = [
            "",
            "a",
            "ab",
            "web",
            "Web",
            "a_b",
            "-a",
            "a-",
            "a.b",
            "local-lvm",
            "9p",
            "a:b",
            "a,b",
            "a b",
            "ä",
            "vmbr0",
            "dhcp",
            "manual",
            "static",
            "192.0.2.8",
            "192.0.2.8/24",
            "192.0.2.8/33",
            "192.0.2.8/+4",
            "192.0.2.8/024",
            "256.0.2.8",
            "2001:db8::53",
            "::ffff:192.0.2.1",
            "dns.example",
            "gw,ip=1",
            "web\n",
        ];
        let mut texts: Vec<String> = texts.map(str::to_owned).to_vec();
        texts.extend([15, 16, 63, 64, 100, 101, 255, 256].map(|length| "a".repeat(length)));
        for schema in schemas() {
            for text in &texts {
                for field in ["hostname", "template", "storage", "bridge"] {
                    let admitted = is_admitted(&schema["properties"][field], text);
                    assert_eq!(admitted, is_valid(field, json!(text)), "{field} {text:?}");
                }
                for field in ["address", "gateway", "nameserver"] {
                    let admitted = is_admitted(&schema["properties"][field], text);
                    assert!(admitted || !is_valid(field, json!(text)), "{field} {text:?}");
                }
            }
        }
    }

    #[test]
    fn every_hostname_that_is_taken_names_a_target() {
        for hostname in ["a", "web", "web-2", &"a".repeat(63)] {
            assert!(is_valid("hostname", json!(hostname)), "{hostname}");
            assert!(crate::api::Target::new(crate::api::TargetKind::Lxc, hostname).is_ok(), "{hostname}");
        }
    }

    #[test]
    fn the_defaults_are_those_that_the_descriptions_name() {
        let usual = ContainerSpec::default();
        for schema in schemas() {
            for (field, default) in [
                ("diskGib", usual.disk_gib().to_string()),
                ("memoryMib", usual.memory_mib().to_string()),
                ("cores", usual.cores().to_string()),
                ("bridge", usual.bridge().to_owned()),
                ("unprivileged", usual.unprivileged().to_string()),
                ("nesting", usual.nesting().to_string()),
                ("keyctl", usual.keyctl().to_string()),
                ("onBoot", usual.on_boot().to_string()),
            ] {
                let description = schema["properties"][field]["description"].as_str().unwrap();
                assert!(
                    description.replace('\n', " ").contains(&format!("{default} if not given")),
                    "{field}: {description}"
                );
            }
        }
    }
}
