/* SPDX-License-Identifier: Apache-2.0 */
#include "packing_check.h"

#include "error.h"

#define STAGE "plan"

static sluice_status packing_check_range(const char *name, uint64_t value, uint64_t least,
                                         uint64_t most, sluice_error *error)
{
    return value >= least && value <= most
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, STAGE,
                              "packing: %s is %llu: expected %llu to %llu", name,
                              (unsigned long long)value, (unsigned long long)least,
                              (unsigned long long)most);
}

static sluice_status check_divisors(const sl_packing_shape *shape, uint64_t documents,
                                    sluice_error *error)
{
    if (shape->length % shape->align != 0) {
        const uint64_t below = shape->length - shape->length % shape->align;
        const uint64_t least = below > 0 ? below : shape->align;
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "packing: length %llu is not a multiple of align %u: %llu and %llu are",
                            (unsigned long long)shape->length, shape->align,
                            (unsigned long long)least, (unsigned long long)least + shape->align);
    }
    if (documents == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "packing: the dataset has no documents");
    }
    if (shape->unit > 1 && shape->cut == SL_PACKING_CUT_SPLIT) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "packing: cut=\"split\" cuts wherever a row ends, so units of %u "
                            "documents would not stay together: choose another cut",
                            shape->unit);
    }
    if (documents % shape->unit != 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "packing: %llu documents are not a multiple of unit %u",
                            (unsigned long long)documents, shape->unit);
    }
    return SLUICE_OK;
}

sluice_status sl_packing_check_shape(const sl_packing_shape *shape, uint64_t documents,
                                     sluice_error *error)
{
    sluice_status status =
        packing_check_range("length", shape->length, 1, SL_PACKING_LENGTH_MAX, error);
    if (status == SLUICE_OK) {
        status = packing_check_range("align", shape->align, 1, SL_PACKING_LENGTH_MAX, error);
    }
    if (status == SLUICE_OK) {
        status = packing_check_range("unit", shape->unit, 1, SL_PACKING_DOCUMENTS_MAX, error);
    }
    if (status == SLUICE_OK) {
        status = packing_check_range("max_documents", shape->max_documents, shape->unit,
                                     SL_PACKING_DOCUMENTS_MAX, error);
    }
    if (status == SLUICE_OK) {
        status =
            packing_check_range("window", shape->window, shape->unit, SL_PACKING_WINDOW_MAX, error);
    }
    return status == SLUICE_OK ? check_divisors(shape, documents, error) : status;
}

/* Fails for an entry that is too long. With one document per entry, it names the document. */
static sluice_status refuse_long(const sl_packing_shape *shape, const sl_packing_count *count,
                                 sluice_error *error)
{
    const sl_packing_facts *facts = &count->facts;
    if (shape->unit > 1) {
        return sl_error_set(
            error, SLUICE_INVALID, STAGE,
            "packing: documents %llu to %llu stay together (unit %u) and have %llu elements when "
            "aligned, but a row has %llu: choose a larger length, or leave such documents out",
            (unsigned long long)count->widest_document,
            (unsigned long long)count->widest_document + shape->unit - 1, shape->unit,
            (unsigned long long)count->widest, (unsigned long long)shape->length);
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        "packing: the longest document, %llu, has %llu elements, but a row has "
                        "%llu: cut=\"long\" cuts documents that are longer than a row, "
                        "cut=\"split\" cuts at the end of every row; or choose a larger length",
                        (unsigned long long)facts->longest_document,
                        (unsigned long long)facts->longest, (unsigned long long)shape->length);
}

sluice_status sl_packing_check_lengths(const sl_packing_shape *shape, const sl_packing_count *count,
                                       sluice_error *error)
{
    const sl_packing_facts *facts = &count->facts;
    if (facts->longest > SL_PACKING_DOCUMENT_MAX || facts->tokens > INT64_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "packing: document %llu claims more than 2^40 elements, or all "
                            "documents more than 2^63: the lengths are wrong",
                            (unsigned long long)facts->longest_document);
    }
    if (count->torn != UINT64_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "packing: some of documents %llu to %llu, which stay together (unit "
                            "%u), are empty and others are not: leave them out",
                            (unsigned long long)count->torn,
                            (unsigned long long)count->torn + shape->unit - 1, shape->unit);
    }
    if (facts->tokens == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "packing: all %llu documents are empty",
                            (unsigned long long)facts->empty);
    }
    const bool fits = count->widest <= shape->length || shape->cut == SL_PACKING_CUT_SPLIT ||
                      (shape->cut == SL_PACKING_CUT_LONG && shape->unit == 1);
    return fits ? SLUICE_OK : refuse_long(shape, count, error);
}
