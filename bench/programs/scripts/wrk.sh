# title: nginx and wrk
# needs: nginx wrk
. "$(dirname "$0")/common.sh"
website
wrk --threads 1 --connections 8 --duration 20s --latency http://rcv:8080/file
