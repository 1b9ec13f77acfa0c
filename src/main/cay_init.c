/* SPDX-License-Identifier: Apache-2.0 */
/* cay-init: pid 1 in every sandbox. It takes no arguments and reads no environment; all it needs comes over descriptor 3. */
#include <unistd.h>

#include "init/init.h"

int main(void)
{
        _exit(cay_init_main());
}
