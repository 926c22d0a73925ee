//! From a target to the host that is connected to and the place on it.

use super::{context::Context, credentials::secret_text, error::ControllerError, stores::decoded};
use crate::{
    api::{Host, Target, TargetKind},
    steps::{HostAccess, Place, SecretText},
};

/// How a target is reached, or the stable code and the text of why it is not.
pub type Access = Result<(HostAccess, Place), (String, String)>;

/// Looks up the Host of a target and its key.
pub async fn access_of(context: &Context, namespace: &str, target: &Target) -> Result<Access, ControllerError> {
    let inventory = context.stores.inventory(namespace);
    let place = match target.kind() {
        TargetKind::Host => Place::Host,
        TargetKind::Lxc => match inventory.guests.get(target) {
            Some(guest) => Place::Guest { vmid: guest.vmid },
            None => return Ok(Err(unknown(target))),
        },
        TargetKind::Vm => {
            let text = format!("{target}: steps inside virtual machines are not supported; run `qm` on its host");
            return Ok(Err(("Unsupported".to_owned(), text)));
        }
    };
    let name = inventory.host_of(target).unwrap_or_default();
    let named = |host: &Host| {
        host.metadata.name.as_deref() == Some(name) && host.metadata.namespace.as_deref() == Some(namespace)
    };
    let Some(host) = decoded(&context.stores.hosts, named).into_iter().next() else {
        return Ok(Err(unknown(target)));
    };
    Ok(host_access(context, namespace, &host).await?.map(|access| (access, place)))
}

/// How a Host is reached.
pub async fn host_access(
    context: &Context,
    namespace: &str,
    host: &Host,
) -> Result<Result<HostAccess, (String, String)>, ControllerError> {
    let reference = &host.spec.credential_secret_ref;
    let name = host.metadata.name.clone().unwrap_or_default();
    let key = secret_text(context, namespace, &reference.name, &reference.key).await?;
    Ok(match key {
        Err(text) => Err(("MissingSecret".to_owned(), format!("host {name}: {text}"))),
        Ok(key) => Ok(HostAccess {
            name: format!("{namespace}/{name}"),
            address: host.spec.address.clone(),
            port: host.spec.port,
            user: host.spec.user.clone(),
            known_hosts: host.spec.known_host_keys.clone(),
            private_key: SecretText::new(key),
        }),
    })
}

fn unknown(target: &Target) -> (String, String) {
    ("UnknownTarget".to_owned(), format!("this namespace has no Host or Guest for {target}"))
}
