//! Which requests make sense before any host is asked.

use thiserror::Error;

use super::request::ContainerRequest;

/// A request that no host could carry out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {rule}, not {value:?}")]
pub struct InvalidRequest {
    /// Field of the request.
    pub field: &'static str,
    /// What it must be.
    pub rule: &'static str,
    /// What it is.
    pub value: String,
}

impl ContainerRequest {
    /// Whether the request makes sense before any host is asked.
    ///
    /// # Errors
    /// The first field that does not, with its rule.
    pub fn check(&self) -> Result<(), InvalidRequest> {
        let rules: [(&'static str, &'static str, String, bool); 12] = [
            (
                "hostname",
                "must be a DNS name of at most 63 letters, digits and '-'",
                self.hostname.clone(),
                is_label(&self.hostname),
            ),
            (
                "vmid",
                "must be 100..=999999999",
                shown(self.vmid),
                self.vmid.is_none_or(|id| (100..=999_999_999).contains(&id)),
            ),
            ("diskGiB", "must be 1..=65536", self.disk_gib.to_string(), (1..=65536).contains(&self.disk_gib)),
            ("memoryMiB", "must be 16 or more", self.memory_mib.to_string(), self.memory_mib >= 16),
            ("cores", "must be 1..=8192", self.cores.to_string(), (1..=8192).contains(&self.cores)),
            ("bridge", "must be the name of a bridge", self.bridge.clone(), is_word(&self.bridge)),
            ("vlan", "must be 1..=4094", shown(self.vlan), self.vlan.is_none_or(|tag| (1..=4094).contains(&tag))),
            (
                "address",
                "must be dhcp, manual or A.B.C.D/NN",
                shown(self.address.as_ref()),
                self.address.as_deref().is_none_or(is_address),
            ),
            (
                "gateway",
                "must be an IPv4 address",
                shown(self.gateway.as_ref()),
                self.gateway.as_deref().is_none_or(|gateway| gateway.parse::<std::net::Ipv4Addr>().is_ok()),
            ),
            (
                "storage",
                "must be the name of a storage",
                shown(self.storage.as_ref()),
                self.storage.as_deref().is_none_or(is_word),
            ),
            (
                "templateStorage",
                "must be the name of a storage",
                shown(self.template_storage.as_ref()),
                self.template_storage.as_deref().is_none_or(is_word),
            ),
            (
                "nameserver",
                "must be an IP address",
                shown(self.nameserver.as_ref()),
                self.nameserver.as_deref().is_none_or(|server| server.parse::<std::net::IpAddr>().is_ok()),
            ),
        ];
        for (field, rule, value, holds) in rules {
            if !holds {
                return Err(InvalidRequest { field, rule, value });
            }
        }
        if let Some(tag) = self.tags.iter().find(|tag| !is_tag(tag)) {
            return Err(InvalidRequest {
                field: "tags",
                rule: "must be lower-case letters, digits and -_+.",
                value: tag.clone(),
            });
        }
        if let Some(key) = self.ssh_public_keys.iter().find(|key| key.contains('\n') || key.split(' ').count() < 2) {
            return Err(InvalidRequest {
                field: "sshPublicKeys",
                rule: "must be one public key per entry",
                value: key.clone(),
            });
        }
        Ok(())
    }
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn is_label(name: &str) -> bool {
    let fits = (1..=63).contains(&name.len()) && !name.starts_with('-') && !name.ends_with('-');
    fits && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_word(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    first && name.len() <= 100 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_tag(tag: &str) -> bool {
    let first =
        tag.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    first && tag.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_+.".contains(&byte))
}

fn is_address(address: &str) -> bool {
    if matches!(address, "dhcp" | "manual") {
        return true;
    }
    let Some((ip, prefix)) = address.split_once('/') else { return false };
    ip.parse::<std::net::Ipv4Addr>().is_ok() && prefix.parse::<u8>().is_ok_and(|prefix| prefix <= 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_no_host_could_carry_out_are_refused_with_the_field() {
        let web = || ContainerRequest { hostname: "web".into(), ..ContainerRequest::default() };
        let with = |change: fn(&mut ContainerRequest)| {
            let mut request = web();
            change(&mut request);
            request.check().map_err(|error| error.field)
        };
        assert_eq!(with(|_| {}), Ok(()));
        assert_eq!(with(|request| request.hostname = "a_b".into()), Err("hostname"));
        assert_eq!(with(|request| request.hostname = String::new()), Err("hostname"));
        assert_eq!(with(|request| request.vmid = Some(99)), Err("vmid"));
        assert_eq!(with(|request| request.disk_gib = 0), Err("diskGiB"));
        assert_eq!(with(|request| request.memory_mib = 8), Err("memoryMiB"));
        assert_eq!(with(|request| request.bridge = "vmbr0,x=1".into()), Err("bridge"));
        assert_eq!(with(|request| request.address = Some("192.0.2.8".into())), Err("address"));
        assert_eq!(with(|request| request.gateway = Some("gw,ip=1".into())), Err("gateway"));
        assert_eq!(with(|request| request.storage = Some("a:b".into())), Err("storage"));
        assert_eq!(with(|request| request.tags = vec!["A;b".into()]), Err("tags"));
        assert_eq!(with(|request| request.ssh_public_keys = vec!["nonsense".into()]), Err("sshPublicKeys"));
    }
}
