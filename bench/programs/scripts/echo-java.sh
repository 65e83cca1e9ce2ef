# title: Java
# needs: java javac
# build: javac -d $BUILD Echo.java
. "$(dirname "$0")/common.sh"
serve java -cp "$BUILD" Echo serve
listening rcv 7000
java -cp "$BUILD" Echo send rcv
