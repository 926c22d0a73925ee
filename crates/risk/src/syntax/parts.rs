//! Parts of a script that run in a shell of their own, or that may not run at all.

use std::rc::Rc;

use super::functions;
use crate::context::{Findings, Scope};

/// Judges a part that runs in a shell of its own, which is `scope`: nothing that it does to that shell lasts.
pub fn subshell(mut scope: Scope, findings: &mut Findings, part: impl FnOnce(&mut Scope, &mut Findings)) {
    let outer = scope.state().functions().len();
    part(&mut scope, findings);
    functions::judge_uncalled(outer, &mut scope, findings);
}

/// Judges the last part of a pipeline: some shells run it as a part of themselves, so that functions that it defines may
/// be known afterwards.
pub fn last_stage(
    mut stage: Scope,
    scope: &mut Scope,
    findings: &mut Findings,
    part: impl FnOnce(&mut Scope, &mut Findings),
) {
    let outer = stage.state().functions().len();
    part(&mut stage, findings);
    functions::judge_uncalled(outer, &mut stage, findings);
    if stage.state().may_define_more_than(scope.state()) {
        scope.state_mut().may_define_as(stage.state());
    }
}

/// Judges a part that may or may not run: what it assigns is not known afterwards.
pub fn conditional(scope: &mut Scope, findings: &mut Findings, part: impl FnOnce(&mut Scope, &mut Findings)) {
    let before = Rc::clone(scope.state());
    let mut inner = scope.in_condition();
    part(&mut inner, findings);
    scope.continue_after(inner);
    functions::judge_uncalled(before.functions().len(), scope, findings);
    scope.forget_changes(&before);
}

/// Judges a part of the same shell that has a standard input of its own, if redirects give it one.
pub fn reading(
    input: Option<crate::words::Input>,
    scope: &mut Scope,
    findings: &mut Findings,
    part: impl FnOnce(&mut Scope, &mut Findings),
) {
    let Some(input) = input else { return part(scope, findings) };
    let mut inner = scope.reading(input);
    part(&mut inner, findings);
    scope.continue_shell_after(inner);
}
