//! Names of kernels. On CUDA a kernel is a function of C++ under the name that it has here, so that one named `double` passes on Vulkan and fails there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Keywords of C++20 and what stands for operators (ISO/IEC 14882, 5.11 and 5.5), `NULL` and `main`.
const CPP: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept const \
    consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit \
    export extern false float for friend goto if inline int long main mutable namespace new noexcept not not_eq nullptr NULL operator or or_eq \
    private protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch \
    template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq std";

/// Functions that are declared where NVRTC compiles: those of C's library, of mathematics, and of CUDA's own (*CUDA C++ Programming Guide* and *CUDA Math API*).
const FUNCTIONS: &str = "abs acos acosh all any asin asinh assert atan atan2 atanh atoi ballot brkpt cbrt ceil clamp clock clock64 copysign cos cosh cospi \
    cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx erfinv exit exp exp10 exp2 expm1 fabs fdim fdividef floor fma fmax fmin fmod free frexp hypot \
    ilogb isfinite isinf isnan isnormal j0 j1 jn labs ldexp lgamma llabs llmax llmin llrint llround log log10 log1p log2 logb lrint lround lerp malloc max \
    memchr memcmp memcpy memmove memset min modf mul24 mulhi nan nanosleep nearbyint nextafter norm norm3d norm4d normcdf normcdfinv pow powi printf \
    rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt saturate scalbln scalbn signbit sin sincos sincospi sinh sinpi sqrt strcmp \
    strcpy strlen surf1Dread surf2Dread surf3Dread surf1Dwrite surf2Dwrite surf3Dwrite tan tanh tex1D tex2D tex3D tgamma trap trunc truncf ullmax ullmin \
    umax umin umul24 umulhi usad vprintf y0 y1 yn";

/// Types, variables and macros that are declared there, and those that CubeCL declares itself.
const TYPES: &str = "blockDim blockIdx bf16 bool1 bool2 bool4 cudaError_t dim3 gridDim half half2 int8_t int16_t int32_t int64_t int8 int16 int32 int64 ptrdiff_t \
    size_t threadIdx uint uint8 uint16 uint32 uint64 uint8_t uint16_t uint32_t uint64_t ulong ushort uchar uintptr_t intptr_t warpSize wmma \
    cooperative_groups cuda nvcuda";

/// Whether a name is that of a vector, as `float4`.
fn is_vector(name: &str) -> bool {
    let base = name.trim_end_matches(['1', '2', '3', '4']);
    let bases = "char uchar short ushort int uint long ulong longlong ulonglong float double";
    base.len() + 1 == name.len() && bases.split(' ').any(|known| known == base)
}

fn is_taken(name: &str) -> bool {
    let listed = [CPP, FUNCTIONS, TYPES]
        .iter()
        .flat_map(|words| words.split_ascii_whitespace());
    // The functions of binary32 end with an f. Two underscores, or one and a capital, belong to whoever compiles.
    let words: Vec<&str> = listed.collect();
    words.contains(&name)
        || FUNCTIONS
            .split_ascii_whitespace()
            .any(|word| name.strip_suffix('f') == Some(word))
        || is_vector(name)
        || name.contains("__")
        || name
            .strip_prefix('_')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The names of the functions that a file launches.
fn kernels(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[cube(launch").skip(1).filter_map(|after| {
        let (_, name) = after.split_once("fn ")?;
        name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
    })
}

#[test]
fn no_kernel_has_a_name_that_means_something_else_on_cuda() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for krate in std::fs::read_dir(crates).unwrap().flatten() {
        for folder in ["src", "tests", "benches"] {
            sources(&krate.path().join(folder), &mut files);
        }
    }
    let mut names: BTreeMap<String, PathBuf> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for name in kernels(&text) {
            names.insert(name.to_owned(), file.clone());
        }
    }
    assert!(names.len() > 100, "only {} kernels were found", names.len());
    let taken: Vec<_> = names.iter().filter(|(name, _)| is_taken(name)).collect();
    assert!(taken.is_empty(), "kernels with names that are taken: {taken:?}");
}

#[test]
fn names_that_are_taken_are_known_as_such() {
    for name in [
        "double",
        "xor",
        "max",
        "fmaf",
        "float4",
        "uint",
        "threadIdx",
        "__ldg",
        "_Bool",
    ] {
        assert!(is_taken(name), "{name}");
    }
    for name in ["twice", "down", "chords", "half_words", "rows_of_8", "float5x"] {
        assert!(!is_taken(name), "{name}");
    }
    let text =
        "#[cube(launch_unchecked)]\n#[allow(x)]\npub fn one<N: Size>(a: u32) {}\n#[cube]\nfn none() {}";
    assert_eq!(kernels(text).collect::<Vec<_>>(), ["one"]);
}

/// The names of a crate's public modules.
fn modules(lib: &str) -> Vec<&str> {
    lib.lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect()
}

#[test]
fn every_family_has_an_example_and_a_row_in_the_readme_of_its_crate() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["relief-kernels", "relief-numeric"] {
        let folder = crates.join(name);
        let read = |path: &Path| std::fs::read_to_string(path);
        let (lib, readme) = (folder.join("src/lib.rs"), folder.join("README.md"));
        let (lib, readme) = (read(&lib).unwrap(), read(&readme).unwrap());
        let modules = modules(&lib);
        assert!(modules.len() > 10, "{name}: {modules:?}");
        for module in modules {
            let source = folder.join("src").join(module);
            let text = read(&source.join("mod.rs")).or_else(|_| read(&source.with_extension("rs")));
            let text = text.unwrap();
            let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
            assert!(
                head.contains(&"//! ```"),
                "{name}: {module} begins without an example"
            );
            let row = format!("| `{module}` | ");
            assert!(readme.contains(&row), "{name}: no row of {module} in the README");
        }
    }
}
