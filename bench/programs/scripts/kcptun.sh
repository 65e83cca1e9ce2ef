# title: kcptun
# needs: kcptun-server kcptun-client nginx curl
. "$(dirname "$0")/common.sh"
website
serve kcptun-server --listen :4000 --target 127.0.0.1:8080 --mode fast2 --quiet
here kcptun-client --remoteaddr rcv:4000 --localaddr :8081 --mode fast2 --quiet
listening snd 8081
fetched http://127.0.0.1:8081/file
