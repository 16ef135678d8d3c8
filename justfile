# Shortcuts; each is one command that also works without just.

# the welcome app
run:
    cargo run --release

# everything that must pass
test *arguments:
    cargo xtask test {{arguments}}

# the tidy checks alone
tidy:
    cargo xtask tidy

# the benchmarks
bench *arguments:
    cargo xtask bench {{arguments}}

# the packages of a release
dist *arguments:
    cargo xtask dist {{arguments}}

# format all code
format:
    cargo fmt --all
