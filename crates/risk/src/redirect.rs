//! Redirects, and the files that commands read and write.

use rable::{Node, NodeKind};

use super::{
    Locus, guests,
    judge::{Input, Judge},
    options::borrow,
    paths,
    word::{Value, Word},
};
use crate::Risk;

impl Judge {
    /// Judges redirects; returns the standard input if they set it.
    pub fn redirects(&mut self, nodes: &[Node]) -> Option<Input> {
        let mut input = None;
        for node in nodes {
            match &node.kind {
                NodeKind::HereDoc { content, quoted, fd, .. } => {
                    let text = self.document(content, *quoted);
                    if matches!(fd, -1 | 0) {
                        input = Some(text);
                    }
                }
                NodeKind::Redirect { op, target, fd, varfd } => {
                    if varfd.is_some() {
                        self.bash_only("`{name}>`");
                    }
                    let new = self.redirect(op, target, *fd);
                    input = new.or(input);
                }
                _ => self.find(Risk::Destructive, "shell:unknown-syntax", "a redirect that is not understood", None),
            }
        }
        if nodes.iter().filter(|node| matches!(node.kind, NodeKind::HereDoc { .. })).count() > 1 {
            self.find(Risk::ConfigMutation, "shell:here-document", "shells disagree about two here-documents", None);
        }
        input
    }

    fn document(&mut self, content: &str, quoted: bool) -> Input {
        if self.substitutions > 0 {
            self.find(
                Risk::Destructive,
                "shell:here-document",
                "a here-document inside a substitution is read differently by different shells",
                Some("write the text to a file first"),
            );
        }
        if quoted || !content.contains(['$', '`', '\\']) {
            return Input::Text(content.to_owned());
        }
        self.fragment(content);
        Input::Opaque
    }

    fn redirect(&mut self, op: &str, target: &Node, fd: i32) -> Option<Input> {
        let words = self.words(std::slice::from_ref(target));
        let [word] = words.as_slice() else {
            self.find(Risk::Destructive, "redirect:unknown", "where the output goes is not known", None);
            return None;
        };
        let standard_input = matches!(fd, -1 | 0);
        if fd > 9 {
            self.bash_only("a file descriptor above 9");
        }
        match op {
            ">&-" => None,
            "<<<" => {
                self.bash_only("`<<<`");
                let text = word.literal().map(|text| Input::Text(text.to_owned()));
                Some(text.unwrap_or(Input::Opaque))
            }
            "<" => {
                self.reads(word);
                if self.locus == Locus::Host && guests::names_processes(word) {
                    self.mentioned.extend(guests::named(word));
                }
                let nothing = word.is("/dev/null");
                standard_input.then_some(if nothing { Input::Closed } else { Input::Opaque })
            }
            "<&" | ">&" if word.literal().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit())) => None,
            "<&" => {
                self.find(Risk::ConfigMutation, "redirect:descriptor", "a computed file descriptor", None);
                standard_input.then_some(Input::Opaque)
            }
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" | "<>" => {
                if op.contains('&') {
                    self.bash_only("`&>`");
                }
                // A redirect's target never splits: a known beginning stays one.
                let begins = word.value >= Value::Data && word.text.starts_with('/');
                let value = if begins { Value::Tail } else { word.value };
                self.writes(&Word { value, ..borrow(word) }, "redirect");
                None
            }
            _ => {
                self.find(Risk::Destructive, "redirect:unknown", "a redirect that is not understood", None);
                None
            }
        }
    }

    /// A file is read.
    pub fn reads(&mut self, word: &Word<'_>) {
        if paths::is_network(&word.text) {
            self.find(Risk::ConfigMutation, "redirect:network", "bash opens a network connection", None);
        }
        if word.text.starts_with("/dev/watchdog") {
            self.find(Risk::Destructive, "read:watchdog", "opening the watchdog may reset the machine", None);
        }
        let globbed = word.glob && paths::may_match_secret(&word.text);
        let secret = |path: &String| paths::is_secret(path, word.value == Value::Known);
        let environment = word.value != Value::Known && word.ending.ends_with("/environ");
        if globbed || environment || self.resolved(&word.text).iter().any(secret) {
            self.shows_secrets();
        }
    }

    /// A file is written; `what` is the first half of the reason's code.
    pub fn writes(&mut self, word: &Word<'_>, what: &str) {
        if self.locus == Locus::Host {
            guests::named(word).into_iter().for_each(|guest| self.affects(guest));
        }
        let known = match word.value {
            Value::Known => !word.glob,
            Value::Tail => false,
            // Words that the first may split into are judged as options and operands.
            Value::Data if word.text.starts_with('/') => false,
            Value::Data | Value::Open => {
                return self.find(
                    Risk::Destructive,
                    format!("{what}:unknown-file"),
                    "which file is written is not known",
                    Some("write to a literal path"),
                );
            }
        };
        let text =
            if word.glob { word.text.split(['*', '?', '[', '(']).next().unwrap_or("") } else { word.text.as_ref() };
        let found = self.resolved(text).iter().filter_map(|path| paths::writing(path, known, self.locus)).max();
        if let Some((risk, message)) = found {
            self.find(risk, format!("{what}:write"), message, None);
        }
    }

    /// Files of names that are not known are put into a directory.
    pub fn fills(&mut self, word: &Word<'_>, what: &str) {
        if word.value >= Value::Data {
            return self.writes(word, what);
        }
        let found = self.resolved(&word.text).iter().filter_map(|path| paths::filling(path, self.locus)).max();
        if let Some((risk, message)) = found {
            self.find(risk, format!("{what}:write"), message, None);
        }
    }
}
