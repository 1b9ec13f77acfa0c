/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of a machine's agent, as a caller gives it, and a machine's record: what is read can be put
 * into a request's head, and is kept.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "domain/auth/machine_url.h"
#include "domain/auth/machines.h"
#include "fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_plain(const char *s)
{
        for (; *s; s++)
                if (*s <= ' ' || *s >= 0x7f || *s == '@')
                        return false;
        return true;
}

static void try_url(const char *text)
{
        struct cay_machine_url u;
        struct cay_error err = { 0 };

        if (cay_machine_url_read(text, &u, &err) < 0) {
                must(err.code == CAY_INVALID && err.msg[0]);
                return;
        }
        must(u.port > 0 && u.host[0] && u.authority[0] && u.path[0] == '/');
        must(is_plain(u.host) && is_plain(u.authority) && is_plain(u.path));
        must(!strpbrk(u.path, "?#") && strlen(text) <= CAY_MACHINE_URL_MAX);
}

static void try_record(const char *text)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_machine one, again;
        struct cay_error err = { 0 };

        if (cay_machine_read(CAY_MACHINE_PREFIX "laptop.somebody", text, &one, &err) < 0)
                return;
        cay_buf_init(&out, CAY_MACHINE_RECORD_MAX);
        must(cay_machine_record(&one, &out) == 0);
        must(cay_machine_read(CAY_MACHINE_PREFIX "laptop.somebody", cay_buf_data(&out), &again, &err) == 0);
        must(strcmp(one.url, again.url) == 0 && strcmp(one.code, again.code) == 0 &&
             one.may_private == again.may_private);
        must(one.paired_wall_ms == again.paired_wall_ms && memcmp(one.key, again.key, sizeof(one.key)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = malloc(size + 1);

        must(text);
        memcpy(text, data, size);
        text[size] = '\0';
        try_url(text);
        try_record(text);
        free(text);
        return 0;
}
