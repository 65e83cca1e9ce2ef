# title: HAProxy in front of nginx
# needs: nginx haproxy curl
. "$(dirname "$0")/common.sh"
website
cat >haproxy.cfg <<'HAPROXY'
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
listen proxy
    bind :8081
    server far rcv:8080
HAPROXY
here haproxy -db -f haproxy.cfg
listening snd 8081
fetched http://127.0.0.1:8081/file
