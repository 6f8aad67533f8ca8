//! A design in one layout: one node a line, four spaces per level. Comments stay where they are.
//!
//! Why not the layout of the `kdl` crate: it drops comments at the ends of lines and within nodes.

use crate::report::{Problem, Report};
use crate::syntax::{self, MAX_TEXT, Token};

/// The text of a design, laid out anew. It need not be a right design, but it must be KDL.
///
/// Comments, numbers and quotes are kept as written, and so is at most one empty line between nodes. Laying out twice
/// changes nothing more.
///
/// ```
/// let text = "relief   version = 1 // ours\n\n\n\nfill{ }";
/// assert_eq!(relief_design::format("a.kdl", text)?, "relief version=1 // ours\n\nfill {}\n");
/// # Ok::<(), relief_design::Report>(())
/// ```
///
/// # Errors
/// A report of what is not KDL; `name` is what it calls the text.
pub fn format(name: &str, text: &str) -> Result<String, Report> {
    let before = syntax::read(text).map_err(|problems| Report::new(name, text, problems))?;
    let mut layout = Layout::default();
    for token in syntax::tokens(text) {
        layout.put(token);
        if layout.out.len() > MAX_TEXT {
            let message =
                format!("laid out anew, the design would have more than the {MAX_TEXT} bytes allowed");
            let problem = Problem::new("E102", message).help("the file is left as it is");
            return Err(Report::new(name, text, vec![problem]));
        }
    }
    let laid_out = layout.finish();
    // A layout that would change the meaning is worse than none.
    if syntax::read(&laid_out).is_ok_and(|after| syntax::same(&before, &after)) {
        return Ok(laid_out);
    }
    let problem = Problem::new(
        "E101",
        "this text cannot be laid out anew without changing what it means",
    );
    Err(Report::new(
        name,
        text,
        vec![problem.help("the file is left as it is")],
    ))
}

/// What was put last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Last {
    /// The end of a line, or nothing.
    #[default]
    Line,
    /// The end of a continued line.
    Continued,
    /// `\` and perhaps a comment, before the end of their line.
    Continuation,
    /// What the next word follows without a space: `(`, `)`, `=`.
    Tight,
    /// `/-`.
    Slashdash,
    /// A line comment, which must end its line.
    Comment,
    /// `{`, after which a comment may still stand on the line.
    Opened,
    /// `;`, after which a comment may still stand on the line.
    Ended,
    /// Anything else.
    Word,
}

#[derive(Debug, Default)]
struct Layout {
    out: String,
    level: usize,
    last: Last,
    /// Ends of lines since the last other token.
    newlines: usize,
}

impl Layout {
    fn put(&mut self, token: Token<'_>) {
        if token == Token::Newline {
            self.newline();
            return;
        }
        match token {
            Token::Newline => {}
            Token::LineComment(text) => {
                let continued = self.last == Last::Continuation;
                self.separate(true);
                self.out.push_str(text);
                self.last = if continued {
                    Last::Continuation
                } else {
                    Last::Comment
                };
            }
            Token::BlockComment(text) | Token::Word(text) => self.word(text),
            Token::Continuation => {
                self.word("\\");
                self.last = Last::Continuation;
            }
            Token::Slashdash => {
                self.word("/-");
                self.last = Last::Slashdash;
            }
            Token::Mark('{') => {
                self.word("{");
                self.level += 1;
                self.last = Last::Opened;
            }
            Token::Mark('}') => self.close(),
            Token::Mark(';') => {
                self.last = if self.last == Last::Line {
                    Last::Line
                } else {
                    Last::Ended
                }
            }
            Token::Mark('(') => {
                self.word("(");
                self.last = Last::Tight;
            }
            Token::Mark(c) => {
                self.start_line_if_due();
                self.out.push(c);
                self.last = Last::Tight;
            }
        }
        self.newlines = 0;
    }

    fn newline(&mut self) {
        self.newlines += 1;
        match self.last {
            // What is left out may begin on the next line.
            Last::Slashdash | Last::Line | Last::Continued => {}
            Last::Continuation => self.end_line(Last::Continued),
            _ => self.end_line(Last::Line),
        }
    }

    fn end_line(&mut self, last: Last) {
        self.out.push('\n');
        self.last = last;
    }

    /// Ends the line where the token before wants it, unless a comment follows on the same line.
    fn start_line_if_due(&mut self) {
        if matches!(self.last, Last::Opened | Last::Ended | Last::Comment) {
            self.end_line(Last::Line);
        }
    }

    /// Puts the space, the indentation or the empty line before a token.
    fn separate(&mut self, comment: bool) {
        if !comment {
            self.start_line_if_due();
        }
        match self.last {
            Last::Line => {
                let opened = self.out.is_empty() || self.out.ends_with("{\n");
                if self.newlines > 1 && !opened {
                    self.out.push('\n');
                }
                self.indent(self.level);
            }
            Last::Continued => self.indent(self.level + 1),
            Last::Tight | Last::Slashdash if !comment => {}
            _ => self.out.push(' '),
        }
    }

    fn indent(&mut self, level: usize) {
        for _ in 0..level {
            self.out.push_str("    ");
        }
    }

    fn word(&mut self, text: &str) {
        self.separate(false);
        self.out.push_str(text);
        self.last = Last::Word;
    }

    fn close(&mut self) {
        self.level = self.level.saturating_sub(1);
        match self.last {
            Last::Opened if self.out.ends_with('{') => {}
            Last::Line if self.out.ends_with("{\n") => {
                self.out.pop();
            }
            Last::Line => self.indent(self.level),
            _ => {
                self.end_line(Last::Line);
                self.indent(self.level);
            }
        }
        self.out.push('}');
        self.last = Last::Word;
    }

    fn finish(mut self) -> String {
        let length = self.out.trim_end_matches(['\n', ' ']).len();
        self.out.truncate(length);
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}
