/* SPDX-License-Identifier: Apache-2.0 */
/* cay-net's log entries into the port's. */
#include "engines/network/network_entry.h"

#include <arpa/inet.h>
#include <string.h>

#include "foundation/base/utf8.h"

static const char *const kinds[] = {
        [NET_LOG_DNS] = "dns", [NET_LOG_TCP] = "tcp",     [NET_LOG_TLS] = "tls",
        [NET_LOG_UDP] = "udp", [NET_LOG_QUOTA] = "quota",
};

static const char *const verdicts[] = {
        [NET_LOG_ALLOWED] = "allowed",
        [NET_LOG_REFUSED] = "refused",
        [NET_LOG_FAILED] = "failed",
        [NET_LOG_ENDED] = "ended",
};

static const char *word(const char *const *words, unsigned count, uint32_t nr)
{
        return nr < count && words[nr] ? words[nr] : "other";
}

/* What is not text is left out. */
static void copy_text(char *to, size_t size, const char *from, size_t from_size)
{
        size_t len = strnlen(from, from_size);

        len = len < size ? len : size - 1;
        if (!cay_utf8_valid(from, len))
                len = 0;
        memcpy(to, from, len);
        to[len] = '\0';
}

static void copy_address(const uint8_t from[16], char *to, size_t size)
{
        static const uint8_t none[16], v4[12] = { [10] = 0xff, [11] = 0xff };

        to[0] = '\0';
        if (memcmp(from, none, sizeof(none)) == 0)
                return;
        if (memcmp(from, v4, sizeof(v4)) == 0)
                inet_ntop(AF_INET, from + sizeof(v4), to, (socklen_t)size);
        else
                inet_ntop(AF_INET6, from, to, (socklen_t)size);
}

void cay_network_entry_read(const struct net_log_entry *from, struct cay_network_entry *ret)
{
        *ret = (struct cay_network_entry){
                .number = from->number,
                .wall_ms = from->wall_ms,
                .connection = from->connection,
                .up_bytes = from->up_bytes,
                .down_bytes = from->down_bytes,
                .duration_ms = from->duration_ms,
                .kind = word(kinds, CAY_COUNT(kinds), from->kind),
                .verdict = word(verdicts, CAY_COUNT(verdicts), from->verdict),
                .port = from->port,
        };
        copy_address(from->address, ret->address, sizeof(ret->address));
        copy_text(ret->name, sizeof(ret->name), from->name, sizeof(from->name));
        copy_text(ret->rule, sizeof(ret->rule), from->rule, sizeof(from->rule));
        copy_text(ret->why, sizeof(ret->why), from->why, sizeof(from->why));
}
