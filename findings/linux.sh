# Sourced by findings that try Debian 12's Linux, which runs as a program (User Mode Linux), so that the kernel of the
# machine does not matter. `in_linux PROGRAM.py [MODULE.ko…]` boots it with the machine's files, as root, loads the
# modules, runs the program and prints the kernel's version; what the program prints is in the file `seen`.
# Needs what debian.sh needs, and Python and iproute2.
. "$(dirname "$0")/debian.sh"

in_linux() {
    local program=$1 module
    shift
    debian_tree user-mode-linux=6.1um4+b13
    {
        printf '#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\nmount -t proc proc /proc\nip link set lo up\nuname -r >%s/release\n' "$PWD"
        for module; do
            echo "insmod $(find "$PWD/tree/usr/lib/uml/modules" -name "$module")"
        done
        printf 'python3 %s/%s >%s/seen 2>&1\nexec %s/halt\n' "$PWD" "$program" "$PWD" "$PWD"
    } >init
    printf '#!/usr/bin/env python3\nimport ctypes\nctypes.CDLL(None).reboot(0x4321FEDC)\n' >halt
    chmod +x init halt
    timeout 120 tree/usr/bin/linux.uml mem=256M rootfstype=hostfs rootflags=/ rw init="$PWD/init" con=null \
        con0=null,fd:1 >console 2>&1 </dev/null || { tail -n 20 console; return 1; }
    echo "Linux $(cat release):"
    cat seen
}
