#!/bin/sh
# A browser that does with a page what its own name says; one that is stuck or broken shows no plain page either.
for url; do :; done
how=${0##*/}
[ "${url#data:}" != "$url" ] && case $how in
stuck) exec sleep 60 ;;
broken) ;;
*) echo '<html></html>'; exit ;;
esac
case $how in
broken) echo 'libx.so: cannot open shared object file' >&2; exit 127 ;;
shows) echo "<h1>Shown $*</h1><!-- Unseen --><script>Unseen</script><noscript>Unseen</noscript>" ;;
crashes | stuck) echo '<h1>Shown</h1>'; kill -SEGV $$ ;;
spins) exec sleep 60 ;;
floods) head -c 9000000 /dev/zero | tr '\0' '>' ;;
esac
