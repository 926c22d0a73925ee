//! Whether the admission policies are up that check the names of those who decide.

/// The state of the chart's admission policies, as the controller last found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionGuard {
    /// They refuse a forbidden write: the name under a decision is that of the person who made it.
    Up,
    /// They are missing or cannot be asked: a decision may bear any name.
    Missing,
}
