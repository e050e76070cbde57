/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a module's text: kernels, their variables, registers and instructions. Works statement by
 * statement on a copy without comments; anything unknown is a failure.
 */
#include "ptx_names.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS = 64 };

struct ptx_module {
    char *text; /* text that instructions point to */
    ptx_kernel kernels[KERNELS];
    uint32_t count;
};

/* Comments become spaces. */
static void blank_comments(char *text)
{
    char *at = text;
    while ((at = strchr(at, '/')) != NULL) {
        const bool line = at[1] == '/';
        const char *end = line ? at + strcspn(at, "\n") : at[1] == '*' ? strstr(at, "*/") : at;
        if (end == NULL) {
            end = at + strlen(at);
        } else if (!line && end != at) {
            end += 2;
        }
        for (; at < end; at++) {
            *at = *at == '\n' ? '\n' : ' ';
        }
        at += *at == '/';
    }
}

/* ---- operands ---- */

static bool parse_special(const char *text, ptx_operand *operand)
{
    static const char *const names[] = {[PTX_TID] = "%tid.",
                                        [PTX_NTID] = "%ntid.",
                                        [PTX_CTAID] = "%ctaid.",
                                        [PTX_NCTAID] = "%nctaid.",
                                        [PTX_GLOBALTIMER] = "%globaltimer"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i]);
        const char *axis = text + length;
        if (strncmp(text, names[i], length) != 0 || (i != PTX_GLOBALTIMER && strlen(axis) != 1)) {
            continue;
        }
        *operand = (ptx_operand){.kind = PTX_SPECIAL,
                                 .special = (ptx_special)i,
                                 .axis = (uint8_t)(*axis == 0 ? 0 : *axis - 'x')};
        return operand->axis < 3;
    }
    return false;
}

/* Parses a register, a number or a variable's address. */
static bool parse_value(ptx_parser *p, const char **at, ptx_type type, ptx_operand *operand)
{
    const ptx_name n = ptx_take_name(at);
    const int32_t reg = ptx_find_register(p->scope, n.text);
    const int symbol = ptx_find_symbol(p->scope, n.text);
    *operand = (ptx_operand){.kind = PTX_IMMEDIATE, .reg = PTX_NO_REGISTER};
    if (reg != PTX_NO_REGISTER) {
        *operand = (ptx_operand){.kind = PTX_REGISTER, .reg = reg};
        return true;
    }
    if (symbol >= 0 && !p->scope->symbols[symbol].parameter) {
        operand->value = p->scope->symbols[symbol].at;
        return true;
    }
    if (strncmp(n.text, "0f", 2) == 0 || strncmp(n.text, "0F", 2) == 0) {
        operand->value = strtoull(n.text + 2, NULL, 16);
        return strlen(n.text) == 10 || ptx_refuse(p, "not a number: %s", n.text);
    }
    if (isdigit((unsigned char)n.text[n.text[0] == '-'])) {
        operand->value = ptx_number_of(n.text) & ptx_mask(type.bits == 0 ? 64 : type.bits);
        return true;
    }
    return parse_special(n.text, operand) || ptx_refuse(p, "unknown name '%s'", n.text);
}

/* [%rd1+8], [parameter+8], [variable] */
static bool parse_address(ptx_parser *p, const char **at, const ptx_opcode *code,
                          ptx_operand *operand)
{
    const ptx_name n = ptx_take_name(at);
    const int symbol = ptx_find_symbol(p->scope, n.text);
    *operand = (ptx_operand){.kind = PTX_ADDRESS, .reg = ptx_find_register(p->scope, n.text)};
    if (symbol >= 0) {
        operand->value = p->scope->symbols[symbol].at;
    } else if (operand->reg == PTX_NO_REGISTER) {
        return ptx_refuse(p, "unknown name '%s'", n.text);
    }
    if (ptx_take(at, '+')) {
        operand->value += ptx_number_of(ptx_take_name(at).text);
    }
    const bool parameter = symbol >= 0 && p->scope->symbols[symbol].parameter;
    const uint64_t bytes = (uint64_t)code->type.bits / 8 * code->vector;
    if (parameter != (code->space == PTX_PARAM)) {
        return ptx_refuse(p, "parameters are read with ld.param, and nothing else is");
    }
    if (parameter && (operand->value + bytes > p->kernel->parameter_bytes ||
                      operand->value % bytes != 0 || code->op != PTX_LD)) {
        return ptx_refuse(p, "outside of the parameters, or not aligned");
    }
    return ptx_take(at, ']') || ptx_refuse(p, "not an address");
}

/* Parses one operand, or those of a vector. */
static bool parse_operand(ptx_parser *p, const char **at, ptx_instruction *n, ptx_operand *address)
{
    const ptx_opcode *code = &n->code;
    const bool vector = ptx_take(at, '{');
    if (!vector && ptx_take(at, '[')) {
        return parse_address(p, at, code, address);
    }
    do {
        const bool half = code->op == PTX_MOV && vector;
        const ptx_type type = {code->type.kind, (uint8_t)(code->type.bits / (half ? 2 : 1))};
        if (n->count == PTX_OPERANDS || !parse_value(p, at, type, &n->operands[n->count])) {
            return ptx_refuse(p, "too many operands");
        }
        n->count++;
    } while (vector && ptx_take(at, ','));
    return !vector || ptx_take(at, '}') || ptx_refuse(p, "not a vector");
}

static bool check_operands(ptx_parser *p, ptx_instruction *n)
{
    uint8_t expected = ptx_opcode_operands(&n->code, &n->results);
    if (n->code.op == PTX_MOV && n->count == 3) { /* two halves */
        expected = 3;
    }
    if (n->count != expected) {
        return ptx_refuse(p, "%d operands, not %d", n->count, expected);
    }
    for (uint8_t i = 0; i < n->results; i++) {
        if (n->operands[i].kind != PTX_REGISTER) {
            return ptx_refuse(p, "the result is not a register");
        }
    }
    const bool memory = n->code.op == PTX_LD || n->code.op == PTX_ST || n->code.op == PTX_RED;
    const bool fine = !memory || n->operands[n->count - 1].kind == PTX_ADDRESS;
    return fine || ptx_refuse(p, "an address is missing");
}

static bool parse_operands(ptx_parser *p, const char *at, ptx_instruction *n)
{
    ptx_operand address = {.kind = PTX_IMMEDIATE};
    if (n->code.op == PTX_BRA) {
        p->scope->targets[p->kernel->length] = ptx_take_name(&at);
    } else if (*at != '\0') {
        do {
            if (!parse_operand(p, &at, n, &address)) {
                return false;
            }
        } while (ptx_take(&at, ','));
    }
    if (address.kind == PTX_ADDRESS && n->count < PTX_OPERANDS) {
        n->operands[n->count++] = address; /* the address comes last, wherever it was written */
    }
    return (*at == '\0' || ptx_refuse(p, "not understood")) && check_operands(p, n);
}

/* ---- statements ---- */

static bool parse_instruction(ptx_parser *p, const char *at)
{
    ptx_kernel *k = p->kernel;
    char unknown[96];
    /* Both arrays grow when the length reaches a power of two. */
    if ((k->length & (k->length - 1)) == 0) {
        const size_t places = k->length == 0 ? 1 : 2 * (size_t)k->length;
        k->code = realloc(k->code, places * sizeof(*k->code));
        p->scope->targets = realloc(p->scope->targets, places * sizeof(ptx_name));
        assert(k->code != NULL && p->scope->targets != NULL);
    }
    ptx_instruction *n = &k->code[k->length];
    *n = (ptx_instruction){.guard = PTX_NO_REGISTER, .line = p->line, .text = p->begin};
    if (ptx_take(&at, '@')) {
        n->guard_not = ptx_take(&at, '!');
        n->guard = ptx_find_register(p->scope, ptx_take_name(&at).text);
        if (n->guard == PTX_NO_REGISTER) {
            return ptx_refuse(p, "unknown predicate");
        }
    }
    const char *why = ptx_opcode_parse(&n->code, ptx_take_name(&at).text, unknown, sizeof(unknown));
    if (why != NULL) {
        return ptx_refuse(p, "%s", why);
    }
    if (!parse_operands(p, at, n)) {
        return false;
    }
    k->length++;
    return true;
}

/* Parses one statement of a kernel, without its terminator. */
static bool parse_statement(ptx_parser *p)
{
    const char *at = p->begin;
    const ptx_name word = ptx_take_name(&at);
    if (strcmp(word.text, ".reg") == 0) {
        return ptx_parse_registers(p, at);
    }
    if (strcmp(word.text, ".local") == 0 || strcmp(word.text, ".shared") == 0) {
        return ptx_parse_memory(p, at, word.text[1] == 's');
    }
    if (strcmp(word.text, ".pragma") == 0) {
        return strcmp(at, "\"nounroll\"") == 0 || ptx_refuse(p, "unknown");
    }
    return parse_instruction(p, p->begin);
}

/* Cuts the text at the first of `ends` and returns that character, or 0. Braces around a vector's
 * operands do not count. */
static char cut(ptx_parser *p, const char *ends)
{
    while (isspace((unsigned char)*p->at)) {
        p->line += *p->at++ == '\n';
    }
    p->begin = p->at;
    for (int depth = 0; *p->at != '\0'; p->at++) {
        if (strchr(ends, *p->at) != NULL && (*p->at != '}' || depth == 0)) {
            break;
        }
        depth += *p->at == '{' ? 1 : *p->at == '}' ? -1 : 0;
    }
    const char end = *p->at;
    if (end != '\0') {
        *p->at++ = '\0';
    }
    return end;
}

static void count_lines(ptx_parser *p, const char *text)
{
    for (; *text != '\0'; text++) {
        p->line += *text == '\n';
    }
}

static bool add_label(ptx_parser *p)
{
    ptx_scope *s = p->scope;
    const char *at = p->begin;
    const ptx_name n = ptx_take_name(&at);
    if (s->label_count == PTX_LABELS || *at != '\0' || n.text[0] == '\0') {
        return ptx_refuse(p, "too many labels, or not one");
    }
    s->labels[s->label_count].name = n;
    s->labels[s->label_count++].at = p->kernel->length;
    return true;
}

static bool parse_body(ptx_parser *p)
{
    for (;;) {
        const char end = cut(p, ";:}");
        bool fine = end != '\0' || ptx_refuse(p, "the text ends here");
        if (end == '}') {
            return p->begin[0] == '\0' || ptx_refuse(p, "';' is missing");
        }
        fine = fine && (end == ':' ? add_label(p) : parse_statement(p));
        if (!fine) {
            return false;
        }
        count_lines(p, p->begin);
    }
}

static bool resolve(ptx_parser *p)
{
    const ptx_scope *s = p->scope;
    for (uint32_t i = 0; i < p->kernel->length; i++) {
        ptx_instruction *n = &p->kernel->code[i];
        n->target = UINT32_MAX;
        for (uint32_t j = 0; n->code.op == PTX_BRA && j < s->label_count; j++) {
            if (strcmp(s->labels[j].name.text, s->targets[i].text) == 0) {
                n->target = s->labels[j].at;
            }
        }
        if (n->code.op == PTX_BRA && n->target >= p->kernel->length) {
            p->begin = n->text;
            p->line = n->line;
            return ptx_refuse(p, "no such label, or nothing follows it");
        }
    }
    const uint32_t last = p->kernel->length;
    const bool ends = last > 0 && p->kernel->code[last - 1].guard == PTX_NO_REGISTER &&
                      (p->kernel->code[last - 1].code.op == PTX_RET ||
                       p->kernel->code[last - 1].code.op == PTX_BRA);
    return ends || ptx_refuse(p, "kernel %s has no end", p->kernel->name);
}

/* Parses "name(parameters) .maxntid 256, 1, 1". */
static bool parse_head(ptx_parser *p, const char *at)
{
    ptx_kernel *k = p->kernel;
    const ptx_name n = ptx_take_name(&at);
    memcpy(k->name, n.text, sizeof(k->name));
    if (!ptx_take(&at, '(') || !ptx_parse_parameters(p, &at)) {
        return ptx_refuse(p, "not a kernel");
    }
    while (*at != '\0') {
        const ptx_name word = ptx_take_name(&at);
        uint64_t product = 1;
        do {
            product *= ptx_number_of(ptx_take_name(&at).text);
        } while (ptx_take(&at, ','));
        if (strcmp(word.text, ".maxntid") == 0) {
            k->threads_most = (uint32_t)product;
        } else if (strcmp(word.text, ".minnctapersm") != 0) {
            return ptx_refuse(p, "unknown '%s'", word.text);
        }
    }
    return true;
}

static bool parse_kernel(ptx_parser *p, const char *head)
{
    ptx_scope s = {.targets = NULL};
    p->scope = &s;
    if (p->module->count == KERNELS) {
        return ptx_refuse(p, "too many kernels");
    }
    p->kernel = &p->module->kernels[p->module->count++];
    bool fine = parse_head(p, head);
    count_lines(p, p->begin);
    fine = fine && parse_body(p) && resolve(p);
    free(s.targets);
    return fine;
}

static bool parse_module(ptx_parser *p)
{
    static const char *const words[] = {".version ", ".target ", ".address_size "};
    static const char entry[] = ".visible .entry ";
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        (void)cut(p, "\n");
        if (strncmp(p->begin, words[i], strlen(words[i])) != 0) {
            return ptx_refuse(p, "%sis missing", words[i]);
        }
        p->line++;
    }
    while (cut(p, "{") == '{') {
        if (strncmp(p->begin, entry, sizeof(entry) - 1) != 0) {
            return ptx_refuse(p, "not a kernel");
        }
        if (!parse_kernel(p, p->begin + sizeof(entry) - 1)) {
            return false;
        }
    }
    return p->begin[0] == '\0' || ptx_refuse(p, "not a kernel");
}

ptx_module *ptx_parse(const char *text, ptx_failure *failure)
{
    ptx_module *module = calloc(1, sizeof(*module));
    assert(module != NULL);
    module->text = strdup(text);
    assert(module->text != NULL);
    blank_comments(module->text);
    ptx_parser p = {
        .module = module, .failure = failure, .begin = "", .at = module->text, .line = 1};
    if (!parse_module(&p)) {
        ptx_free(module);
        return NULL;
    }
    return module;
}

void ptx_free(ptx_module *module)
{
    for (uint32_t i = 0; module != NULL && i < module->count; i++) {
        free(module->kernels[i].code);
        free(module->kernels[i].widths);
    }
    if (module != NULL) {
        free(module->text);
    }
    free(module);
}

const ptx_kernel *ptx_find(const ptx_module *module, const char *wanted)
{
    for (uint32_t i = 0; i < module->count; i++) {
        if (strcmp(module->kernels[i].name, wanted) == 0) {
            return &module->kernels[i];
        }
    }
    return NULL;
}

size_t ptx_parameter_bytes(const ptx_kernel *kernel)
{
    return kernel->parameter_bytes;
}
