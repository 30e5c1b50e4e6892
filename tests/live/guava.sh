# guava.sh: random filters, both ways, with Debian's Guava
count=500
[ "${1-}" = --full ] && count=10000
jar=/usr/share/java/guava.jar
if ! command -v javac >/dev/null || [ ! -e "$jar" ]; then echo "skipped: javac or Guava is not installed"; exit 77; fi
set -e
javac -nowarn -Xlint:none -proc:none -cp "$jar" -d . "$LIVE/Guava.java"
"$PROGRAM" write $count mine
java -cp "$jar:." Guava check $count mine
java -cp "$jar:." Guava write $count theirs
"$PROGRAM" read $count theirs
