/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening ports of the kernel's tables of sockets (/proc/net/tcp, tcp6), read inside a sandbox: hostile
 * text. It comes in pieces and is read line by line; nothing is kept but the ports, so its length does not
 * matter.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAY_PORT_TABLE_BYTES_MAX (64u * 1024 * 1024) /* of text: half a million sockets */
#define CAY_PORT_TABLE_LINE_MAX 512u                 /* a longer line is none of the kernel's: left out */

struct cay_port_table {
        uint8_t listened[65536 / 8]; /* a bit for each port */
        unsigned count;
        uint64_t read;
        bool cut; /* there was more text than is read */
        char line[CAY_PORT_TABLE_LINE_MAX + 1];
        size_t line_len;
};

void cay_port_table_read(struct cay_port_table *t, const void *bytes, size_t len);
void cay_port_table_end(struct cay_port_table *t); /* the last line may have no end; the next table follows */
unsigned cay_port_table_next(const struct cay_port_table *t, unsigned after); /* 0: none */
