# title: Rust
# needs: rustc
# build: rustc -O -o $BUILD/echo-rust echo.rs
. "$(dirname "$0")/common.sh"
serve "$BUILD/echo-rust" serve
listening rcv 7000
"$BUILD/echo-rust" send rcv
