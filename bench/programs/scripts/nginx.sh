# title: nginx and curl
# needs: nginx curl
. "$(dirname "$0")/common.sh"
website
fetched http://rcv:8080/file
