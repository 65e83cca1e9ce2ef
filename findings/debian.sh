# Sourced by findings that try programs of Debian: `debian_tree PACKAGE=VERSION…` puts the packages, with all that they
# depend on, into the folder `tree` of this one, without installing anything. `in_tree COMMAND…` runs a command there
# (as root, by chroot). Needs apt with Debian 12 (bookworm) among its sources; a version that Debian no longer serves
# ends the script with apt's message.
debian_tree() {
    mkdir -p archives/partial tree
    : >status
    apt-get -y -qq --download-only --no-install-recommends -o Dir::State::status="$PWD/status" \
        -o Dir::Cache::archives="$PWD/archives" -o APT::Sandbox::User=root install "$@" >apt.log 2>&1 ||
        { cat apt.log; return 1; }
    for package in archives/*.deb; do dpkg-deb -x "$package" tree; done
}

in_tree() { chroot tree "$@"; }
