# The handful of commands people run.

# What CI runs.
ci:
    .ci/run

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

# Draw the pictures of the examples anew.
images:
    cargo run -p relief-io --example make_images

# All benchmarks.
bench:
    cargo bench --workspace --no-default-features

# The figures of docs/performance.md: ceilings, Relief and rivals in one run.
performance:
    bench/performance/run
