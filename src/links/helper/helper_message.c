/* SPDX-License-Identifier: Apache-2.0 */
/* The common check of every helper link's messages. */
#include "links/helper/helper_message.h"

#include <errno.h>
#include <stdio.h>

static const struct helper_request_row *find(const struct helper_protocol *p, unsigned type)
{
        return type > 0 && type < p->row_count && p->rows[type].name ? &p->rows[type] : NULL;
}

int helper_request_check(const struct helper_protocol *p, const void *request, int64_t len, unsigned fds,
                         unsigned state)
{
        const struct helper_request_head *head = request;
        const struct helper_request_row *row;

        if (len != (int64_t)p->request_size || head->magic != p->magic || head->size != p->request_size)
                return -EPROTO;
        row = find(p, head->type);
        if (!row || !(row->permitted & state) || fds < row->fds_min || fds > row->fds_max || head->seq == 0)
                return -EPROTO;
        return 0;
}

const char *helper_request_name(const struct helper_protocol *p, unsigned type)
{
        const struct helper_request_row *row = find(p, type);

        return row ? row->name : "?";
}

int helper_answer_check(const struct helper_protocol *p, const void *answer, int64_t len)
{
        const struct helper_answer_head *head = answer;

        return len == (int64_t)p->answer_size && head->magic == p->magic && head->size == p->answer_size
                       ? 0
                       : -EPROTO;
}

int helper_hello_check(const struct helper_protocol *p, uint32_t version, struct cay_error *err)
{
        if (version == p->version)
                return 0;
        return cay_fail(err, CAY_INVALID,
                        "%s and its caller are of different versions (%u, %u): reinstall both", p->who,
                        p->version, version);
}

void helper_answer_put_error(void *answer, const struct cay_error *err)
{
        struct helper_answer_head *head = answer;

        head->code = err->code;
        head->sys = err->sys;
        snprintf(head->text, sizeof(head->text), "%s", err->msg);
}

void helper_answer_seal(const struct helper_protocol *p, void *answer)
{
        struct helper_answer_head *head = answer;

        head->magic = p->magic;
        head->size = (uint32_t)p->answer_size;
}
