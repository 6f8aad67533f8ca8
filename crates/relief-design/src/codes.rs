//! The codes of problems, each with a longer text in `codes/`: why it is wrong, a wrong and a right design.

/// All codes with their texts, ascending.
const CODES: &[(&str, &str)] = &[
    ("E101", include_str!("codes/E101.md")),
    ("E102", include_str!("codes/E102.md")),
    ("E103", include_str!("codes/E103.md")),
    ("E104", include_str!("codes/E104.md")),
    ("E105", include_str!("codes/E105.md")),
    ("E201", include_str!("codes/E201.md")),
    ("E202", include_str!("codes/E202.md")),
    ("E203", include_str!("codes/E203.md")),
    ("E204", include_str!("codes/E204.md")),
    ("E205", include_str!("codes/E205.md")),
    ("E206", include_str!("codes/E206.md")),
    ("E207", include_str!("codes/E207.md")),
    ("E301", include_str!("codes/E301.md")),
    ("E302", include_str!("codes/E302.md")),
    ("E303", include_str!("codes/E303.md")),
    ("E304", include_str!("codes/E304.md")),
    ("E305", include_str!("codes/E305.md")),
    ("E306", include_str!("codes/E306.md")),
    ("E307", include_str!("codes/E307.md")),
    ("E308", include_str!("codes/E308.md")),
    ("E309", include_str!("codes/E309.md")),
    ("E310", include_str!("codes/E310.md")),
    ("E311", include_str!("codes/E311.md")),
    ("E312", include_str!("codes/E312.md")),
    ("E401", include_str!("codes/E401.md")),
    ("E402", include_str!("codes/E402.md")),
    ("E403", include_str!("codes/E403.md")),
    ("E404", include_str!("codes/E404.md")),
    ("E405", include_str!("codes/E405.md")),
    ("E406", include_str!("codes/E406.md")),
    ("E407", include_str!("codes/E407.md")),
    ("E408", include_str!("codes/E408.md")),
    ("E409", include_str!("codes/E409.md")),
    ("E410", include_str!("codes/E410.md")),
    ("E501", include_str!("codes/E501.md")),
    ("E502", include_str!("codes/E502.md")),
    ("E503", include_str!("codes/E503.md")),
    ("E504", include_str!("codes/E504.md")),
    ("E505", include_str!("codes/E505.md")),
    ("E506", include_str!("codes/E506.md")),
    ("E507", include_str!("codes/E507.md")),
    ("E508", include_str!("codes/E508.md")),
    ("E510", include_str!("codes/E510.md")),
    ("E511", include_str!("codes/E511.md")),
    ("E512", include_str!("codes/E512.md")),
    ("E513", include_str!("codes/E513.md")),
    ("E601", include_str!("codes/E601.md")),
    ("E602", include_str!("codes/E602.md")),
    ("E603", include_str!("codes/E603.md")),
    ("E604", include_str!("codes/E604.md")),
    ("E605", include_str!("codes/E605.md")),
    ("E606", include_str!("codes/E606.md")),
    ("E607", include_str!("codes/E607.md")),
    ("E608", include_str!("codes/E608.md")),
    ("E609", include_str!("codes/E609.md")),
    ("E701", include_str!("codes/E701.md")),
    ("E702", include_str!("codes/E702.md")),
    ("E703", include_str!("codes/E703.md")),
    ("E704", include_str!("codes/E704.md")),
    ("E705", include_str!("codes/E705.md")),
    ("E801", include_str!("codes/E801.md")),
    ("E802", include_str!("codes/E802.md")),
    ("E803", include_str!("codes/E803.md")),
    ("E804", include_str!("codes/E804.md")),
    ("E805", include_str!("codes/E805.md")),
    ("E806", include_str!("codes/E806.md")),
    ("E807", include_str!("codes/E807.md")),
    ("E808", include_str!("codes/E808.md")),
    ("W101", include_str!("codes/W101.md")),
    ("W201", include_str!("codes/W201.md")),
    ("W202", include_str!("codes/W202.md")),
    ("W203", include_str!("codes/W203.md")),
    ("W204", include_str!("codes/W204.md")),
    ("W205", include_str!("codes/W205.md")),
    ("W206", include_str!("codes/W206.md")),
    ("W207", include_str!("codes/W207.md")),
    ("W208", include_str!("codes/W208.md")),
    ("W209", include_str!("codes/W209.md")),
    ("W210", include_str!("codes/W210.md")),
    ("W211", include_str!("codes/W211.md")),
    ("W212", include_str!("codes/W212.md")),
    ("W213", include_str!("codes/W213.md")),
];

/// All codes that a [`Problem`](crate::Problem) may have, ascending.
pub fn codes() -> impl Iterator<Item = &'static str> {
    CODES.iter().map(|(code, _)| *code)
}

/// A longer text about a code, in Markdown: what is wrong and why, a wrong and a right design.
///
/// ```
/// assert!(relief_design::explain("E501").unwrap().contains("`lattice`"));
/// assert_eq!(relief_design::explain("E999"), None);
/// ```
#[must_use]
pub fn explain(code: &str) -> Option<&'static str> {
    CODES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(code))
        .map(|(_, text)| *text)
}
