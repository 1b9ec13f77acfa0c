/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/port_table.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/cleanup.h"

#define LISTENING 0x0aul

static bool is_listened(const struct cay_port_table *t, unsigned port)
{
        return t->listened[port / 8] >> port % 8 & 1;
}

static void note(struct cay_port_table *t, unsigned port)
{
        if (is_listened(t, port))
                return;
        t->listened[port / 8] |= (uint8_t)(1u << port % 8);
        t->count++;
}

/*
 * "  0: 0100007F:1F90 00000000:0000 0A …": the local port and the state. The head line has no colon in its
 *    second word.
 */
static void read_line(struct cay_port_table *t, char *line)
{
        char *save = NULL, *words[4] = { NULL }, *colon, *end;
        unsigned long port;

        for (unsigned i = 0; i < CAY_COUNT(words); i++) {
                words[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
                if (words[i] == NULL)
                        return;
        }
        colon = strrchr(words[1], ':');
        if (colon == NULL || strtoul(words[3], NULL, 16) != LISTENING)
                return;
        port = strtoul(colon + 1, &end, 16);
        if (*end == '\0' && port > 0 && port <= UINT16_MAX)
                note(t, (unsigned)port);
}

static void end_line(struct cay_port_table *t)
{
        if (t->line_len <= CAY_PORT_TABLE_LINE_MAX) {
                t->line[t->line_len] = '\0';
                read_line(t, t->line);
        }
        t->line_len = 0;
}

void cay_port_table_read(struct cay_port_table *t, const void *bytes, size_t len)
{
        const char *at = bytes;

        t->cut |= len > CAY_PORT_TABLE_BYTES_MAX - t->read;
        if (t->cut)
                len = CAY_PORT_TABLE_BYTES_MAX - t->read;
        t->read += len;
        for (const char *end = at + len; at < end; at++) {
                if (*at == '\n') {
                        end_line(t);
                        continue;
                }
                if (t->line_len < CAY_PORT_TABLE_LINE_MAX)
                        t->line[t->line_len] = *at;
                t->line_len += t->line_len <= CAY_PORT_TABLE_LINE_MAX;
        }
}

void cay_port_table_end(struct cay_port_table *t)
{
        end_line(t);
}

unsigned cay_port_table_next(const struct cay_port_table *t, unsigned after)
{
        for (unsigned port = after + 1; port <= UINT16_MAX; port++)
                if (is_listened(t, port))
                        return port;
        return 0;
}
