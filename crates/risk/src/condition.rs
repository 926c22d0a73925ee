//! `[[ … ]]` and `(( … ))`: what bash evaluates in them, and what sh would execute.

use rable::{Node, NodeKind};

use super::{
    arithmetic, assigned,
    judge::{Judge, Shell},
    word,
};
use crate::Risk;

impl Judge {
    /// `(( … ))`: harmless when every name in it is known to be a number. To sh it is two subshells.
    pub fn arithmetic_command(&mut self, raw: &str) {
        if self.shell == Shell::Sh {
            self.bash_only("`(( … ))`");
            self.nested_script(raw, Shell::Sh);
        }
        if raw.contains(['`', '$', '[', '"', '\'']) {
            self.fragment(raw);
        } else if arithmetic::numbers_only(raw, self) {
            return arithmetic::assign(raw, self);
        }
        assigned::forget_text(self, raw);
        self.evaluates("bash evaluates variables in arithmetic as code", None);
    }

    pub fn condition(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => {
                self.condition(left);
                self.condition_as_command(right);
                self.condition(right);
            }
            NodeKind::CondNot { operand: inner } => self.condition(inner),
            NodeKind::CondParen { inner } => {
                self.condition_as_command(inner);
                self.condition(inner);
            }
            NodeKind::UnaryTest { op, operand } => {
                if matches!(op.as_str(), "-v" | "-R") {
                    self.evaluates("`-v` evaluates a subscript as code", None);
                }
                self.condition(operand);
            }
            NodeKind::BinaryTest { op, left, right } => self.comparison(op, left, right),
            NodeKind::CondTerm { value, .. } => {
                self.may_be_evaluated(value);
                if value.contains(['`', '$']) || value.contains("<(") || value.contains(">(") {
                    self.term(value);
                }
            }
            _ => self.find(Risk::Destructive, "shell:unknown-syntax", "a test that is not understood", None),
        }
    }

    /// To sh, which has no `[[`, what follows `&&`, `||` and `(` in it is a command of its own.
    fn condition_as_command(&mut self, node: &Node) {
        let harmless = match &node.kind {
            NodeKind::UnaryTest { op, operand } => {
                let implicit =
                    op == "-n" && matches!(&operand.kind, NodeKind::CondTerm { value, .. } if !value.starts_with('-'));
                op.starts_with('-') && !implicit
            }
            NodeKind::CondAnd { .. } | NodeKind::CondOr { .. } => true,
            _ => false,
        };
        if self.shell == Shell::Sh && !harmless {
            self.find(
                Risk::Destructive,
                "shell:bash-only",
                "a part of `[[ … ]]` would be executed by sh",
                Some("use [ … ] && [ … ]"),
            );
        }
    }

    fn comparison(&mut self, op: &str, left: &Node, right: &Node) {
        if self.shell == Shell::Sh && matches!(op, "<" | ">") {
            self.find(Risk::Destructive, "shell:bash-only", "`>` in `[[ … ]]` writes a file in sh", Some("use [ … ]"));
        }
        if matches!(op, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
            && !(self.is_number(left) && self.is_number(right))
        {
            self.evaluates("bash evaluates both sides as code", Some("use [ \"$x\" -gt 1 ]"));
        }
        self.condition(left);
        self.condition(right);
    }

    fn is_number(&self, node: &Node) -> bool {
        let NodeKind::CondTerm { value, .. } = &node.kind else { return false };
        let bare = value.trim_matches('"');
        let name = bare.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
        !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit())
            || name.is_some_and(|name| word::is_number(name, self))
    }

    /// A word of `[[ … ]]`: rable keeps its text only.
    fn term(&mut self, value: &str) {
        match rable::parse(&format!(": {value}"), true) {
            Ok(nodes) => {
                for node in &nodes {
                    match &node.kind {
                        NodeKind::Command { words, redirects, .. } if redirects.is_empty() => {
                            self.words(words);
                        }
                        _ => self.fragment(value),
                    }
                }
            }
            Err(_) => self.fragment(value),
        }
    }
}
