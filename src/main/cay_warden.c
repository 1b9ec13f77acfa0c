/* SPDX-License-Identifier: Apache-2.0 */
/* cay-warden: started by an engine with its end of the warden link as descriptor 3. */
#include "warden/warden.h"

int main(void)
{
        return warden_main();
}
