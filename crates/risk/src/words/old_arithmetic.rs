//! `$[…]`, bash's older way to write `$((…))`, which the parser leaves in the text of a word.

use super::{arithmetic, reader::Reader};

impl Reader<'_, '_, '_> {
    /// One more character of the text; the last bracket ends it.
    pub(super) fn old_arithmetic_text(&mut self, c: char) {
        let Some((text, open)) = &mut self.old_arithmetic else { return };
        match c {
            '[' => *open += 1,
            ']' => *open -= 1,
            '"' | '\'' | '\\' => {
                self.old_arithmetic = None;
                return self.obfuscated("a quote within arithmetic");
            }
            _ => {}
        }
        if *open > 0 {
            text.push(c);
            return;
        }
        let text = std::mem::take(text);
        self.old_arithmetic = None;
        if text.contains(['$', '`']) {
            self.expansions.nested.push(text.clone());
        }
        self.expansions.arithmetic |= !arithmetic::of_numbers(&format!("$(({text}))"), self.vars);
        self.digits();
    }
}
