//! Which ladders a user means.

use crate::Error;
use crate::family::{AnyLadder, Family};

/// The ladders of these names, each a family or a ladder; all of them where none is named.
///
/// # Errors
/// Where a name is neither, with those that there are.
pub fn ladders<'a>(families: &'a [Family], names: &[String]) -> Result<Vec<&'a dyn AnyLadder>, Error> {
    let all = || {
        families
            .iter()
            .flat_map(|family| family.ladders.iter().map(move |ladder| (family, &**ladder)))
    };
    for name in names {
        if !all().any(|(family, ladder)| is(family, ladder, name)) {
            return Err(Error::Unknown {
                what: "family",
                name: name.clone(),
                known: families
                    .iter()
                    .map(|family| family.name)
                    .collect::<Vec<_>>()
                    .join(", "),
            });
        }
    }
    let asked = |family: &Family, ladder: &dyn AnyLadder| {
        names.is_empty() || names.iter().any(|name| is(family, ladder, name))
    };
    Ok(all()
        .filter(|(family, ladder)| asked(family, *ladder))
        .map(|(_, ladder)| ladder)
        .collect())
}

fn is(family: &Family, ladder: &dyn AnyLadder, name: &str) -> bool {
    family.name == name || ladder.name() == name
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
    Err(Error::Unknown {
        what: "variant",
        name: name.to_owned(),
        known: all()
            .map(|about| about.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    })
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
