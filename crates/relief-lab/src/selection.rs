//! Which ladders a user means.

use crate::Error;
use crate::family::{AnyLadder, Family};

/// The ladders of these names, each a family or a ladder; all of them where none is named.
///
/// # Errors
/// Where a name is neither, with those that there are.
pub fn ladders<'a>(families: &'a [Family], names: &[String]) -> Result<Vec<&'a dyn AnyLadder>, Error> {
    let of_family = |family: &'a Family| family.ladders.iter().map(move |ladder| (family.name, &**ladder));
    let all = || families.iter().flat_map(of_family);
    let is = |(family, ladder): (&str, &dyn AnyLadder), name: &str| family == name || ladder.name() == name;
    for name in names {
        if !all().any(|one| is(one, name)) {
            let known = families.iter().map(|family| family.name);
            return Err(unknown("family", name, known));
        }
    }
    let asked = all().filter(|one| names.is_empty() || names.iter().any(|name| is(*one, name)));
    Ok(asked.map(|(_, ladder)| ladder).collect())
}

fn unknown<'a>(what: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    Error::Unknown {
        what,
        name: name.to_owned(),
        known: known.collect::<Vec<_>>().join(", "),
    }
}

/// Makes sure that one of the ladders has a variant of this name.
///
/// # Errors
/// Where none has, with those that there are.
pub fn variant(ladders: &[&dyn AnyLadder], gpu: bool, name: &str) -> Result<(), Error> {
    let all = || {
        let variants = ladders.iter().flat_map(|ladder| ladder.variants());
        variants.filter(|about| about.gpu == gpu)
    };
    if all().any(|known| known.is(name)) {
        return Ok(());
    }
    Err(unknown("variant", name, all().map(|about| about.name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families;
    use crate::family::PRODUCTION;

    #[test]
    fn a_family_means_all_of_its_ladders_and_nothing_means_all() {
        let families = families::all();
        let count: usize = families.iter().map(|family| family.ladders.len()).sum();
        assert_eq!(ladders(&families, &[]).unwrap().len(), count);
        let copy = ladders(&families, &["copy".to_owned()]).unwrap();
        assert_eq!(copy[0].name(), "copy");
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_there_are() {
        let families = families::all();
        let Err(error) = ladders(&families, &["copi".to_owned()]) else {
            panic!("there is no such family");
        };
        assert!(error.to_string().contains("\"copi\"; there are copy"), "{error}");
        let copy = ladders(&families, &["copy".to_owned()]).unwrap();
        let error = variant(&copy, false, "fast").unwrap_err();
        assert!(error.to_string().contains("memcpy"), "{error}");
        variant(&copy, false, "memcpy").unwrap();
        let sums = ladders(&families, &["reduce/sum-f32".to_owned()]).unwrap();
        assert!(sums[0].variants().iter().all(|about| about.name != PRODUCTION));
        variant(&sums, false, PRODUCTION).unwrap();
    }
}
