/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of contexts. */
#include "domain/contexts/kernel.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/language.h"

#include "domain/contexts/kernel_sources.inc" /* made by tools/embed_text: kernel_source_<language>[] */

static const struct cay_kernel kernels[] = {
#define CAY_KERNEL(language, file, ms, ...)                                                                  \
        { #language, { __VA_ARGS__ }, kernel_source_##language, sizeof(kernel_source_##language), ms },
#include "domain/contexts/kernels.def"
#undef CAY_KERNEL
};

#define COUNT (sizeof(kernels) / sizeof(kernels[0]))

const struct cay_kernel *cay_kernel_find(const char *language)
{
        const struct cay_language *l = cay_language_find(language, strlen(language));

        for (unsigned i = 0; l && i < COUNT; i++)
                if (strcmp(kernels[i].language, l->name) == 0)
                        return &kernels[i];
        return NULL;
}

const char *cay_kernel_names(char *buf, size_t size)
{
        size_t len = 0;

        buf[0] = '\0';
        for (unsigned i = 0; i < COUNT && len < size; i++)
                len += (size_t)snprintf(buf + len, size - len, "%s%s", i > 0 ? ", " : "",
                                        kernels[i].language);
        return buf;
}
