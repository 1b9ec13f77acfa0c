/* SPDX-License-Identifier: Apache-2.0 */
/* Names of layers. */
#include "links/helper/layers.h"

#include "foundation/base/banned.h"

static const char *const words[] = {
#define CAY_LAYER(name, word, doc) word,
#include "links/helper/layers.def"
#undef CAY_LAYER
};

int64_t cay_layers_parse(const char *list)
{
        int64_t mask = 0;

        while (*list) {
                size_t len = strcspn(list, ",");
                unsigned i = 0;

                while (i < CAY_LAYER_COUNT && !(strlen(words[i]) == len && memcmp(words[i], list, len) == 0))
                        i++;
                if (i == CAY_LAYER_COUNT)
                        return -1;
                mask |= (int64_t)1 << i;
                list += len;
                if (*list == ',')
                        list++;
        }
        return mask;
}
