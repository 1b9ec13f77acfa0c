/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration file, and a .env file, of any bytes: refused with a reason, or it writes as text that reads
 * as the same configuration.
 */

#include <stdint.h>

#include "foundation/base/utf8.h"
#include "domain/settings/config_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static void check_again(const struct cay_config *c)
{
        cay_auto_buf struct cay_buf one, two, shown;
        cay_auto_config struct cay_config again;
        struct cay_error err = { 0 };

        cay_buf_init(&one, 4u << 20);
        cay_buf_init(&two, 4u << 20);
        cay_buf_init(&shown, 4u << 20);
        HOLDS(cay_config_write(c, &one) == 0 && cay_config_print(c, true, &shown) == 0);
        HOLDS(cay_utf8_valid(cay_buf_data(&shown), shown.len));
        HOLDS(cay_config_init(&again, &err) == 0);
        HOLDS(cay_config_read_written(&again, cay_buf_data(&one), one.len, &err) == 0);
        HOLDS(cay_config_write(&again, &two) == 0);
        HOLDS(one.len == two.len && memcmp(cay_buf_data(&one), cay_buf_data(&two), one.len) == 0);
        HOLDS((cay_config_check(c, &err) == 0) == (cay_config_check(&again, &err) == 0));
}

static void read_dotenv(const uint8_t *data, size_t size)
{
        cay_auto_config struct cay_config c;
        cay_auto_free char *text = calloc(1, size + 1);
        struct cay_error err = { 0 };

        HOLDS(text && cay_config_init(&c, &err) == 0);
        memcpy(text, data, size);
        if (cay_config_read_dotenv_text(&c, text, &err) < 0)
                HOLDS(err.code == CAY_INVALID && err.msg[0] != '\0');
        else
                check_again(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        cay_auto_config struct cay_config c;
        struct cay_error err = { 0 };

        read_dotenv(data, size);
        HOLDS(cay_config_init(&c, &err) == 0);
        if (cay_config_read_text(&c, "fuzz", (const char *)data, size, &err) < 0)
                HOLDS(err.code == CAY_INVALID && err.msg[0] != '\0');
        else
                check_again(&c);
        return 0;
}
