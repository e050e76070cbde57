/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_segmentation.h"

#include "field_choice.h"
#include "segmentation.h"

#include <string.h>

bool sl_coco_wants_segmentation(const sluice_dataset_options *options)
{
    for (uint32_t i = 0; i < options->field_count; i++) {
        sl_field_choice choice;
        if (sl_field_choice_parse(&choice, options->fields[i], NULL) == SLUICE_OK &&
            strcmp(choice.key, SL_COCO_SEGMENTATION) == 0) {
            return true;
        }
    }
    return false;
}

const char *sl_coco_take_segmentation(sl_bytes written, uint8_t *to, size_t *bytes)
{
    const char *why = sl_segmentation_check(written);
    size_t count = 0;
    for (size_t i = 0; why == NULL && i < written.size; i++) {
        const uint8_t byte = written.data[i];
        to[count] = byte;
        count += byte != ' ' && byte != '\n' && byte != '\r' &&
                 byte != '\t'; /* no text contains blanks */
    }
    *bytes = count > 0 && to[0] == 'n' ? 0 : count;
    return why;
}
