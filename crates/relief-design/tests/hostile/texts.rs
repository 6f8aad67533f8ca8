//! Designs that try to take long, to take memory or to be told at length: the largest texts that the reader takes, made
//! of one piece that costs most somewhere.

use relief_design::MAX_TEXT;

/// The start of a design, up to its root.
pub(crate) const HEAD: &str = "relief version=1\ncanvas width=400 height=300 pixel=\"10um\"\n";

/// So many pieces as fit the largest text.
fn filled(head: &str, piece: &str, tail: &str) -> String {
    let count = (MAX_TEXT - head.len() - tail.len()) / piece.len();
    format!("{head}{}{tail}", piece.repeat(count))
}

/// A fold of `count` elements, or of as many as fit the largest text.
pub(crate) fn folded(depth: u32, count: usize, element: impl Fn(usize) -> String) -> String {
    let mut text = format!("relief version=1\ncanvas width=400 height=300 bits={depth}\ncompose {{\n");
    for i in 0..count {
        let element = element(i);
        if text.len() + element.len() + 2 > MAX_TEXT {
            break;
        }
        text.push_str(&element);
    }
    text + "}\n"
}

/// Tone curves, each of its own, as many as fit.
pub(crate) fn curves(depth: u32, count: usize, curve: impl Fn(usize) -> String) -> String {
    folded(depth, count, |i| {
        format!("(add)map {{ (source)fill value=1; {} }}\n", curve(i))
    })
}

/// Texts that are long, and wrong or right all over.
pub(crate) fn long() -> Vec<(&'static str, String)> {
    let inside = format!("{HEAD}compose {{\n");
    let numbered =
        |count: usize, line: &dyn Fn(usize) -> String| -> String { (0..count).map(line).collect() };
    vec![
        ("nodes", filled(&inside, "(add)fill value=1 x=1 y=1\n", "}")),
        ("uses of nothing", filled(&inside, "(add)use \"x\"\n", "}")),
        ("parameters in texts", {
            let long = "y".repeat(4_000);
            let head = HEAD.replace("\ncanvas", &format!("\nparameter \"p\" \"{long}\"\ncanvas"));
            filled(&format!("{head}compose {{\n"), "(add)image \"${p}$$\"\n", "}")
        }),
        (
            "dollar signs",
            filled(&inside, &format!("(add)image \"{}\"\n", "$$".repeat(2_000)), "}"),
        ),
        ("lone dollar signs", filled(&inside, "(add)use \"$\" x=$p\n", "}")),
        (
            "expressions in texts",
            filled(
                &inside,
                &format!("(add)fill value=\"${{{}1}}\"\n", "1+".repeat(1_000)),
                "}",
            ),
        ),
        (
            "arrays",
            filled(
                &inside,
                "(add)array columns=100 rows=100 step-x=1 step-y=1 { (add)fill value=\"${i}\" }\n",
                "}",
            ),
        ),
        (
            "percentages",
            filled(
                &inside,
                "(add)fill value=1 x=\"1/7%\" width=\"13/11%\" anchor=centre\n",
                "}",
            ),
        ),
        ("unknown roles", filled(&inside, "(x)y z=1; ", "}")),
        ("unknown words", filled(HEAD, "bogus\t;", "")),
        (
            "unknown words, each of its own",
            HEAD.to_owned() + &numbered(260_000, &|i| format!("w{i}\n")),
        ),
        ("elements", filled("", "a\n", "")),
        ("values", filled(&format!("{HEAD}fill"), " value=1", "")),
        ("elements with values", filled(&inside, "a b=1 1\n", "}")),
        (
            "images",
            inside.clone() + &numbered(260_000, &|i| format!("(add)image \"{i}\"\n")) + "}",
        ),
        (
            "wrong expressions",
            curves(8, 87_000, |i| format!("expression \"sin(foo{i})\"")),
        ),
        ("definitions with long names", {
            let names = |count: usize, first: usize, line: &dyn Fn(usize) -> String| -> String {
                (first..first + count).map(line).collect()
            };
            names(1_000, 0, &|i| format!("define \"{i:062}\" {{ fill value=1 }}\n"))
                + HEAD
                + "compose {\n"
                + &names(100_000, 9_000, &|i| format!("(add)use \"{i:062}\"\n"))
                + "}"
        }),
        ("definitions that double", {
            let step = |i: usize| {
                format!(
                    "define \"d{0}\" {{ compose {{ (add)use \"d{i}\"; (add)use \"d{i}\" x=1 }} }}\n",
                    i + 1
                )
            };
            format!("{HEAD}define \"d0\" {{ fill value=1 }}\n")
                + &numbered(119_999, &step)
                + "use \"d119999\""
        }),
        ("comments", filled(HEAD, "//\n", "")),
        (
            "continued lines in depth",
            filled(&"a {\n".repeat(60), "\\\n", ""),
        ),
        ("ends of lines", filled("", "\n", "")),
        ("nesting", filled(HEAD, "compose { (base)", "")),
        ("nested slash-dashes", filled("", "a /-{", "")),
        ("a long value", filled(&format!("{HEAD}fill value=\""), "x", "")),
        (
            "a long name",
            filled(&format!("{HEAD}define \""), "x", "\" { fill value=1 }\n"),
        ),
        ("hashes", filled("", "#\n", "")),
        ("quotes", filled("", "\"", "")),
        ("open strings", filled("", "\"a\n", "")),
        ("controls", filled("", "\u{7}\n", "")),
        ("zeros", filled("", "\0", "")),
    ]
}
