/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_ca DIGITS: prints the certificate of the authority with this seed, as a front gives it to sandboxes.
 */
#include <stdio.h>
#include <string.h>

#include "foundation/http/tls_ca.h"

int main(int argc, char **argv)
{
        uint8_t seed[CAY_TLS_CA_SEED] = { 0 };
        struct cay_error err = { 0 };
        struct cay_tls_ca *ca;
        char pem[CAY_TLS_CA_PEM];
        int r = -1;

        for (unsigned i = 0; argc == 2 && strlen(argv[1]) == 2 * sizeof(seed) && i < sizeof(seed); i++)
                if (sscanf(argv[1] + 2 * i, "%2hhx", &seed[i]) != 1)
                        return 2;
        ca = cay_tls_ca_new(seed, "Cay secrets of this daemon", &err);
        if (ca)
                r = cay_tls_ca_pem(ca, pem, &err);
        cay_tls_ca_free(ca);
        if (r == 0)
                fputs(pem, stdout);
        else
                fprintf(stderr, "%s\n", err.msg);
        return r == 0 ? 0 : 1;
}
