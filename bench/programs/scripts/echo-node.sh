# title: Node
# needs: node
# build: 
. "$(dirname "$0")/common.sh"
serve node "$sources/echo.js" serve
listening rcv 7000
node "$sources/echo.js" send rcv
