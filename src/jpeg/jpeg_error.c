/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_error.h"

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

#include <jerror.h>

static sl_jpeg_errors *errors_of(j_common_ptr cinfo)
{
    return (sl_jpeg_errors *)(void *)cinfo->err;
}

_Noreturn void sl_jpeg_fail(j_decompress_ptr cinfo, sluice_status status, const char *text)
{
    sl_jpeg_errors *errors = errors_of((j_common_ptr)cinfo);
    const sl_jpeg_source *source = (const sl_jpeg_source *)(const void *)cinfo->src;
    int64_t offset = source != NULL ? sl_jpeg_source_offset(source) : -1;
    errors->status = sl_error_file(errors->error, status, "decode", 0, NULL, offset, "%s", text);
    longjmp(errors->jump, 1);
}

static sluice_status status_of_code(int code)
{
    switch (code) {
    case JERR_OUT_OF_MEMORY:
        return SLUICE_NOMEM;
#if JPEG_LIB_VERSION < 70 /* later versions always have arithmetic coding */
    case JERR_ARITH_NOTIMPL:
#endif
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
        return SLUICE_UNSUPPORTED;
    case JERR_BAD_LIB_VERSION:
    case JERR_BAD_POOL_ID:
    case JERR_BAD_STATE:
    case JERR_BAD_STRUCT_SIZE:
        return SLUICE_INTERNAL;
    default:
        return SLUICE_CORRUPT;
    }
}

static void error_exit(j_common_ptr cinfo)
{
    const int code = cinfo->err->msg_code;
    if (code == JERR_OUT_OF_MEMORY) {
        sl_jpeg_fail((j_decompress_ptr)cinfo, SLUICE_NOMEM,
                     "not enough scratch memory to decode the image");
    }
    char text[JMSG_LENGTH_MAX];
    cinfo->err->format_message(cinfo, text);
    sl_jpeg_fail((j_decompress_ptr)cinfo, status_of_code(code), text);
}

/*
 * Returns whether pixels are wrong after this warning. Other warnings are about junk between
 * markers, unknown versions and profiles. Junk before a restart marker means that the interval
 * before it was misread: an intact one ends where its marker begins.
 */
static bool is_damage(const struct jpeg_error_mgr *error)
{
    switch (error->msg_code) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
        return true;
    case JWRN_EXTRANEOUS_DATA:
        return error->msg_parm.i[1] >= JPEG_RST0 && error->msg_parm.i[1] <= JPEG_RST0 + 7;
    default:
        return false;
    }
}

static void emit_message(j_common_ptr cinfo, int level)
{
    if (level >= 0) {
        return;
    }
    cinfo->err->num_warnings++;
    if (is_damage(cinfo->err)) {
        char text[JMSG_LENGTH_MAX];
        cinfo->err->format_message(cinfo, text);
        sl_jpeg_fail((j_decompress_ptr)cinfo, SLUICE_CORRUPT, text);
    }
}

static void output_message(j_common_ptr cinfo)
{
    (void)cinfo;
}

void sl_jpeg_errors_init(sl_jpeg_errors *errors, j_decompress_ptr cinfo)
{
    cinfo->err = jpeg_std_error(&errors->pub);
    errors->pub.error_exit = error_exit;
    errors->pub.emit_message = emit_message;
    errors->pub.output_message = output_message;
}

sluice_status sl_jpeg_guard(sl_jpeg_errors *errors, void (*work)(void *argument), void *argument,
                            sluice_error *error)
{
    errors->error = error;
    errors->status = SLUICE_OK;
    if (setjmp(errors->jump) == 0) {
        work(argument);
    }
    errors->error = NULL;
    return errors->status;
}
