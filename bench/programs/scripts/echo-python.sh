# title: Python (asyncio)
# needs: python3
# build: 
. "$(dirname "$0")/common.sh"
serve python3 "$sources/echo.py" serve
listening rcv 7000
python3 "$sources/echo.py" send rcv
