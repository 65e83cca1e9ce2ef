# title: Go
# needs: go
# build: go build -o $BUILD/echo-go echo.go
. "$(dirname "$0")/common.sh"
serve "$BUILD/echo-go" serve
listening rcv 7000
"$BUILD/echo-go" send rcv
