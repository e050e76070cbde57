/* SPDX-License-Identifier: Apache-2.0 */
/* The main of tests that have none: linked from the library where there is no other. */
#include "test.h"

int main(void)
{
    return test_run(NULL, NULL);
}
