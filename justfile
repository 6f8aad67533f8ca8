# The handful of commands people run.

# What CI runs.
ci:
    .ci/run

# What takes hours: long fuzzing, sanitizers, every variant of the lab.
full *steps:
    .ci/full {{ steps }}

# What must hold before a release, dry: nothing is published, tagged or pushed. CONTRIBUTING.md has the steps after it.
release:
    RELIEF_RELEASE=strict .ci/full ci readers viewer python licences msrv systems packages docker
    just dist

# Completions and manual pages, for those who make packages, in target/dist/share.
dist program="target/release/relief":
    [ -x "{{ program }}" ] || cargo build --locked --release -p relief
    .ci/dist "{{ program }}" target/dist/share

# All tests.
test:
    cargo test --workspace

# Formatting and lints.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Rewrite generated pages and expected messages.
bless:
    RELIEF_BLESS=1 cargo test -p relief-design

# Compare the public items of the libraries with the lists in docs/api; `just api --write` writes them.
api *flags:
    cargo run -p relief-api -- {{ flags }}

# Draw the pictures of the examples anew.
images:
    cargo run -p relief-io --example make_images

# All benchmarks.
bench:
    cargo bench --workspace --no-default-features

# What reading hostile designs takes: time, memory and bytes told of each.
hostile:
    cargo bench -p relief-design --bench hostile

# The figures of docs/performance.md: ceilings, Relief and rivals in one run.
performance:
    bench/performance/run

# The unit tests of the CPU's code under AddressSanitizer, with the standard library's checks of undefined behaviour. Linux on x86-64.
sanitize-cpu:
    .ci/full sanitizer

# Views of rows and columns under Miri, which also sees pointers that leave their allocation without being read.
miri:
    .ci/full miri

# The device tests of kernels under NVIDIA's checker, on a machine that has it: memcheck, racecheck, initcheck or synccheck.
sanitize-gpu tool="memcheck":
    command -v compute-sanitizer
    RELIEF_REQUIRE_GPU=cuda \
        CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="compute-sanitizer --tool {{ tool }} --error-exitcode 9" \
        cargo test -p relief-kernels -p relief-numeric --test 'gpu_*' -- --test-threads 1
