//! Reasons: a stable code for programs and a sentence for people.
//!
//! Each kind has an enum of its codes, serialised as the CamelCase names that stand in status, conditions and Events.
//! A code is never renamed. What another version wrote and this one does not know is read as `Unknown`, so that an
//! object stays readable across versions; for the same reason the CRDs do not list the codes.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A code that has a stable name.
pub trait ReasonCode: Copy {
    /// The CamelCase name, as it stands in status, conditions and Events.
    fn as_str(self) -> &'static str;
}

/// Why something is as it is: a stable code, and what a person may read and do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason<Code> {
    /// For programs.
    pub code: Code,
    /// For people.
    pub message: String,
}

impl<Code> Reason<Code> {
    /// A reason with this code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

macro_rules! connection_reasons {
    ($($(#[$code_doc:meta])* $code:ident,)+) => {
        /// Why a host could not be connected to. The status of a Host and that of an Execution say it in the same codes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ConnectionReason {
            $($(#[$code_doc])* $code,)+
        }

        impl ConnectionReason {
            const ALL: &[Self] = &[$(Self::$code,)+];
        }

        impl ReasonCode for ConnectionReason {
            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => stringify!($code),)+
                }
            }
        }
    };
}

connection_reasons! {
    /// No TCP connection, or the SSH handshake did not end.
    HostUnreachable,
    /// The host offers a key that is not pinned.
    HostKeyMismatch,
    /// No key is pinned.
    UnknownHostKey,
    /// A pinned key cannot be read.
    BadHostKeyEntry,
    /// The host refuses the user or the private key.
    AuthFailed,
    /// The private key is not usable.
    BadKey,
    /// The host has no `pct`.
    PctMissing,
    /// The guest does not run or is not on this host.
    GuestUnavailable,
    /// Something answers, but not a POSIX shell.
    ShellUnusable,
}

/// The codes of one kind. `..Connection` adds those of [`ConnectionReason`] as one variant of that name.
macro_rules! reason_codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$code_doc:meta])* $code:ident,)+ $(..$connection:ident,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$code_doc])* $code,)+
            $(
                /// The host could not be connected to.
                $connection(ConnectionReason),
            )?
            /// A code that another version of oikos wrote and this one does not know.
            Unknown,
        }

        impl ReasonCode for $name {
            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => stringify!($code),)+
                    $(Self::$connection(reason) => reason.as_str(),)?
                    Self::Unknown => "Unknown",
                }
            }
        }

        $(
            impl From<ConnectionReason> for $name {
                fn from(reason: ConnectionReason) -> Self {
                    Self::$connection(reason)
                }
            }
        )?

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                $(
                    let named = ConnectionReason::ALL.iter().find(|reason| reason.as_str() == name);
                    if let Some(reason) = named {
                        return Self::$connection(*reason);
                    }
                )?
                match name {
                    $(stringify!($code) => Self::$code,)+
                    _ => Self::Unknown,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(Cow::<str>::deserialize(deserializer)?.as_ref().into())
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string"})
            }
        }
    };
}

reason_codes! {
    /// Whether a Host answers, and if not why.
    HostReason {
        /// It answers with a pinned key.
        Answers,
        /// The Secret with the private key, or the key in it, is missing or is not text.
        MissingSecret,
        ..Connection,
    }
}

reason_codes! {
    /// What became of an Execution, or what it waits for.
    ExecutionReason {
        /// It waits for an approval of the plan.
        WindowNeeded,
        /// It waits for the typed phrase.
        ConfirmationNeeded,
        /// The plan was denied while it waited.
        PlanDenied,
        /// A person denied this step.
        DeniedByOperator,
        /// The grant was revoked while it waited.
        GrantRevoked,
        /// The confirmed window ended before it started.
        WindowExpired,
        /// The plan was cancelled.
        PlanCancelled,
        /// The plan ended in another way while it waited.
        PlanEnded,
        /// The plan no longer exists.
        PlanGone,
        /// The namespace has no Host or Guest for something that it acts on.
        UnknownTarget,
        /// It would not end by itself.
        Unbounded,
        /// It touches a guest on its host's protected list.
        Protected,
        /// It touches something that is not among the plan's targets.
        OutOfScope,
        /// It would destroy on several targets at once.
        SeveralTargets,
        /// It ended with exit code 0.
        Completed,
        /// It ended with another exit code.
        NonZeroExit,
        /// A signal ended it.
        Signalled,
        /// The target stopped it at its time limit.
        TimedOut,
        /// It reached the target after the time in which it was allowed to start.
        TooLate,
        /// Another mutating step held the target; it is tried again.
        TargetBusy,
        /// The attempt was shut out before it started; it is tried again.
        NeverStarted,
        /// It cannot be sent: empty, too long, or not text that a shell reads.
        InvalidStep,
        /// It has not exactly one action.
        NoAction,
        /// A controller that is no longer the leader sent it.
        StaleEpoch,
        /// The target lacks programs that are needed to run steps.
        MissingTools,
        /// The run directory on the target could not be made.
        RunDirectoryUnusable,
        /// The target restarted before there was a result.
        Rebooted,
        /// What supervised the command on the target was killed.
        SupervisorVanished,
        /// The run directory on the target is gone.
        RunDirMissing,
        /// The result on the target is damaged.
        RecordCorrupt,
        /// The connection broke during a read, three times.
        ConnectionLost,
        /// The command could not be ended.
        NotEnding,
        /// The Secret with the private key, or the key in it, is missing or is not text.
        MissingSecret,
        /// Steps cannot run in targets of this kind.
        Unsupported,
        /// A field of the container is out of range.
        InvalidContainer,
        /// Another guest has the hostname.
        HostnameTaken,
        /// Another guest has the VMID.
        VmidTaken,
        /// No template matches.
        TemplateMissing,
        /// No storage for containers, or not the one named.
        StorageMissing,
        /// The host could not list its guests, templates or storages.
        ListingFailed,
        ..Connection,
    }
}

reason_codes! {
    /// Why a plan does not go on by itself.
    BlockedReason {
        /// The namespace has no Host or Guest for one of the plan's targets.
        UnknownTarget,
        /// A declared step would be refused, whatever is approved.
        StepRefused,
        /// The namespace has no Agent of that name.
        UnknownAgent,
        /// The Secret with the API key, or the key in it, is missing or is not text.
        MissingSecret,
        /// An object of an earlier plan has a name that this plan needs.
        NameTaken,
        /// The agent asks the operator.
        OperatorNeeded,
        /// The limit of model requests is reached.
        IterationLimit,
        /// The same command failed too often in a row.
        RepeatedFailure,
        /// The agent answered too often without calling a tool.
        NoToolCalls,
        /// The plan's deadline has passed.
        DeadlineExceeded,
        /// A Message or an Execution of the conversation is missing.
        TranscriptIncomplete,
        /// The API server does not store the model's answer.
        AnswerUnacceptable,
        /// The agent's baseURL or key is malformed.
        ModelMisconfigured,
        /// The model server refuses the key.
        ModelUnauthorized,
        /// The account has no credit.
        ModelPaymentRequired,
        /// There is no such model or endpoint.
        ModelNotFound,
        /// The model server does not accept the request.
        ModelBadRequest,
        /// The conversation is longer than the model can read.
        ModelContextOverflow,
        /// The provider's filter refuses the conversation.
        ModelContentFiltered,
        /// Too many requests.
        ModelRateLimited,
        /// The model server has no capacity.
        ModelOverloaded,
        /// The model server failed.
        ModelServerError,
        /// The model server did not answer in time.
        ModelTimedOut,
        /// The model server cannot be reached.
        ModelUnreachable,
        /// The model server answers with a redirect.
        ModelRedirected,
        /// The model server's answer is not what its format says.
        ModelMalformed,
        /// The model's answer held calls where none were expected.
        ReplyCalls,
        /// The model's answer held only text.
        ReplyTextOnly,
        /// The model's answer held only reasoning.
        ReplyReasoningOnly,
        /// The model's answer was empty.
        ReplyEmpty,
        /// The model declined.
        ReplyRefused,
        /// The model's answer was cut off.
        ReplyCut,
    }
}

reason_codes! {
    /// Where a plan and its approval stand, in conditions and Events.
    PlanReason {
        /// An open window covers the plan.
        Granted,
        /// The plan is approved, and no window is open.
        WindowEnded,
        /// A person has to approve.
        AwaitingApproval,
        /// It was approved, and what it would do or where is different now.
        ChangedSinceApproval,
        /// The approve annotation is not the current token.
        TokenMismatch,
        /// A person denied the plan.
        Denied,
        /// The agent looks around.
        Planning,
        /// The plan is being carried out.
        Running,
        /// A destructive step waits for its phrase.
        AwaitingConfirmation,
        /// The same, as an Event.
        DestructiveBlocked,
        /// Only the operator can help.
        Blocked,
        /// The goal is reached.
        GoalVerified,
        /// A step failed.
        StepFailed,
        /// The same, as an Event.
        PlanFailed,
        /// A person cancelled the plan.
        Cancelled,
        /// The admission policies guard approvals.
        PoliciesUp,
        /// The admission policies that guard approvals are missing.
        PoliciesMissing,
    }
}

reason_codes! {
    /// What happened to a window or to a step, in Events.
    EventReason {
        /// A window opened.
        WindowOpened,
        /// A window's time is over.
        WindowExpired,
        /// A window was revoked or never counted.
        WindowRevoked,
        /// A step succeeded.
        StepSucceeded,
        /// A step ended without success.
        StepFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_it_was_written_and_an_unknown_one_does_no_harm() {
        for &reason in ConnectionReason::ALL {
            assert_eq!(HostReason::from(reason.as_str()), HostReason::Connection(reason));
            assert_eq!(ExecutionReason::from(reason.as_str()), ExecutionReason::Connection(reason));
            assert_eq!(ExecutionReason::from(reason).as_str(), reason.as_str());
        }
        assert_eq!(ExecutionReason::from("TooLate"), ExecutionReason::TooLate);
        assert_eq!(ExecutionReason::from("OfAnotherVersion"), ExecutionReason::Unknown);
        assert_eq!(BlockedReason::from("HostUnreachable"), BlockedReason::Unknown);
    }
}
