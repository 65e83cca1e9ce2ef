#!/usr/bin/env bash
# nft 1.0.6 refuses a table with a chain on one line, unless something ends the chain's block in front of the table's brace.
#
# Valid input: `table inet t { chain c { accept; } }`, and the same with a semicolon or a line's end behind the inner brace.
# Seen: a syntax error for the first, none for the other two.
# Expected: nft(8) gives blocks in braces and separates statements by a semicolon or a line's end; the inner block's own
# brace ends a chain everywhere else, and inside `chain c { accept }` nothing is needed in front of the brace.
# Rules that a script writes as one line are refused as a whole, with an error that points at the last brace.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
debian_tree nftables=1.0.6-2+deb12u2
seen=$(for end in ' ' '; ' '\n'; do
    printf "table inet t { chain c { accept; }$end}\n" >rules
    cp rules tree/rules
    if unshare --net chroot tree /usr/sbin/nft --check --file /rules >/dev/null 2>&1; then echo taken; else echo refused; fi
done | paste -sd' ')
echo "nft 1.0.6, nothing, semicolon, line's end: $seen"
[ "$seen" = "refused taken taken" ] || { echo "the behaviour has changed"; exit 1; }
