/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/PID/net/dev. */
#include "foundation/sys/netdev.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "foundation/sys/fd.h"

#define TEXT_MAX (16u * 1024)
#define FIELDS 16u /* received: 8 of them, then sent: as many */
#define SENT 8u

/* NAME: bytes packets … | bytes packets …; the name's length, 0 when it is no such line. */
static size_t parse_line(const char *line, const char *end, uint64_t field[FIELDS])
{
        const char *colon = memchr(line, ':', (size_t)(end - line)), *at;
        char *next;

        if (colon == NULL)
                return 0;
        at = colon + 1;
        for (unsigned i = 0; i < FIELDS; i++, at = next) {
                field[i] = strtoull(at, &next, 10);
                if (next == at || next > end)
                        return 0;
        }
        return (size_t)(colon - line);
}

void sys_netdev_parse(const char *text, struct sys_netdev *ret)
{
        uint64_t field[FIELDS];

        *ret = (struct sys_netdev){ 0 };
        for (const char *end; *text != '\0'; text = *end == '\n' ? end + 1 : end) {
                size_t len;

                text += strspn(text, " ");
                end = strchrnul(text, '\n');
                len = parse_line(text, end, field);
                if (len == 2 && memcmp(text, "lo", 2) == 0) {
                        ret->loopback_bytes += field[0];
                } else if (len > 0) {
                        ret->rx_bytes += field[0];
                        ret->tx_bytes += field[SENT];
                }
        }
}

int sys_netdev_read(pid_t pid, struct sys_netdev *ret)
{
        char path[64], text[TEXT_MAX];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/net/dev", (int)pid);
        n = sys_read_file(AT_FDCWD, path, text, sizeof(text));
        if (n < 0)
                return (int)n;
        sys_netdev_parse(text, ret);
        return 0;
}
