/* Untrusted texts on a terminal. A name, a title or a message may come from a capture or a peer, and a terminal obeys
 * control characters in it: it overwrites lines, changes its title, puts a command on the clipboard.
 * netcommon/printable.py does the same for Python. */
#ifndef NC_PRINTABLE_H
#define NC_PRINTABLE_H

/* Replaces control characters by '?': those of ASCII, and U+0080 to U+009F in UTF-8. */
void nc_printable(char *text);

#endif
