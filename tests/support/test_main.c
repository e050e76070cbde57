/* SPDX-License-Identifier: Apache-2.0 */
/* Default main of the tests, linked from the library if a test has no main. */
#include "test.h"

int main(void)
{
    return test_run(NULL, NULL);
}
