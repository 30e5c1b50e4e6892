/* batch.c - records of a block, their keys and hashes, some hundreds at a time */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "batch.h"
#include "utf8.h"

void batch_start(struct batch *batch) {
    batch->scratch = NULL;
    batch->scratch_capacity = 0;
}

void batch_free(struct batch *batch) {
    free(batch->scratch);
    batch_start(batch);
}

/* ---- records */

/* A record from `start` to the delimiter at `end`. */
static void push(struct batch *batch, const uint8_t *data, size_t start, size_t end) {
    const size_t i = batch->count++;
    batch->start[i] = start;
    batch->record[i] = data + start;
    batch->record_length[i] = end - start;
}

#if defined(__SSE2__)
/* Bit i: byte i of the 64 at `bytes` is the delimiter. */
static uint64_t delimiters(const uint8_t *bytes, __m128i delimiter) {
    uint64_t mask = 0;
    for (int i = 0; i < 4; i++) {
        const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i));
        const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(part, delimiter));
        mask |= (uint64_t)(unsigned)found << (16 * i);
    }
    return mask;
}

/* Pushes records from offset `start` on, 64 bytes at a time, as far as whole steps go; returns
 * where the next record starts.  With lines of 70 bytes this takes half the time of a memchr
 * for each. */
static size_t split_steps(struct batch *batch, const struct block *block, uint8_t delimiter,
                          size_t start, size_t *scanned) {
    const __m128i wanted = _mm_set1_epi8((char)delimiter);
    size_t at = start;
    for (; at + 64 <= block->length; at += 64) {
        for (uint64_t mask = delimiters(block->data + at, wanted); mask != 0; mask &= mask - 1) {
            const size_t end = at + (size_t)__builtin_ctzll(mask);
            push(batch, block->data, start, end);
            start = end + 1;
            if (batch->count == BATCH_KEYS) {
                *scanned = start;
                return start;
            }
        }
    }
    *scanned = at;
    return start;
}
#endif

bool batch_next(struct batch *batch, const struct block *block, uint8_t delimiter, size_t *at) {
    size_t start = *at, scanned = start;
    batch->count = 0;
#if defined(__SSE2__)
    start = split_steps(batch, block, delimiter, start, &scanned);
#endif
    while (start < block->length && batch->count < BATCH_KEYS) {
        const uint8_t *const found =
            (const uint8_t *)memchr(block->data + scanned, delimiter, block->length - scanned);
        const size_t end = found != NULL ? (size_t)(found - block->data) : block->length;
        push(batch, block->data, start, end);
        start = scanned = end + (found != NULL);
    }
    *at = start;
    return batch->count != 0;
}

/* ---- one key */

struct piece {
    const uint8_t *at;
    size_t length;
};

#define FAIL(error, ...) (snprintf((error)->text, sizeof(error)->text, __VA_ARGS__), false)

/* The next place of the separator in [at, end), or NULL. */
static const uint8_t *find_separator(const uint8_t *at, const uint8_t *end,
                                     const tamis_key_form *form) {
    const size_t length = form->separator_length;
    while ((size_t)(end - at) >= length) {
        const uint8_t *first =
            (const uint8_t *)memchr(at, form->separator[0], (size_t)(end - at) - length + 1);
        if (first == NULL || memcmp(first, form->separator, length) == 0) return first;
        at = first + 1;
    }
    return NULL;
}

static bool take_field(struct piece *piece, const tamis_key_form *form,
                       struct record_error *error) {
    const uint8_t *at = piece->at;
    const uint8_t *const end = piece->at + piece->length;
    for (uint32_t field = 1;; field++) {
        const uint8_t *separator = find_separator(at, end, form);
        if (field == form->field) {
            piece->at = at;
            piece->length = (size_t)((separator != NULL ? separator : end) - at);
            return true;
        }
        if (separator == NULL) {
            return FAIL(error, "the record has %u field%s, and no field %u", (unsigned)field,
                        field == 1 ? "" : "s", (unsigned)form->field);
        }
        at = separator + form->separator_length;
    }
}

/* What is wrong with digits that are not pairs of hexadecimal ones. */
static bool bad_digit(struct piece piece, struct record_error *error) {
    size_t i = 0;
    while (i < piece.length && hex_digit(piece.at[i]) < 16) i++;
    if (i == piece.length) {
        return FAIL(error, "an odd number of hexadecimal digits (%zu)", piece.length);
    }
    if (piece.at[i] > ' ' && piece.at[i] < 127) {
        return FAIL(error, "'%c' at byte %zu is not a hexadecimal digit", piece.at[i], i + 1);
    }
    const bool strip = piece.at[i] == '\r' && i + 1 == piece.length;
    return FAIL(error, "byte 0x%02x at byte %zu is not a hexadecimal digit%s",
                (unsigned)piece.at[i], i + 1, strip ? "; use --strip-cr" : "");
}

static bool decode_hex(struct piece *piece, uint8_t *to, struct record_error *error) {
    if (piece->length % 2 != 0 || !hex_decode(piece->at, piece->length / 2, to)) {
        return bad_digit(*piece, error);
    }
    piece->at = to;
    piece->length /= 2;
    return true;
}

static bool decode_hash(struct piece piece, uint64_t *hash, struct record_error *error) {
    uint64_t value = 0;
    if (piece.length != 16) {
        const bool strip = piece.length == 17 && piece.at[16] == '\r';
        return FAIL(error, "a hash must have 16 hexadecimal digits, not %zu bytes%s", piece.length,
                    strip ? "; use --strip-cr" : "");
    }
    for (size_t i = 0; i < 16; i++) {
        const unsigned digit = hex_digit(piece.at[i]);
        if (digit >= 16) return bad_digit(piece, error);
        value = value << 4 | digit;
    }
    *hash = value;
    return true;
}

/* ---- typed keys: text in, little-endian bytes out */

static size_t store_little(uint8_t *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
    return bytes;
}

static bool encode_utf16(struct piece *piece, uint8_t *to, struct record_error *error) {
    size_t written = 0;
    for (size_t i = 0; i < piece->length;) {
        uint32_t point = 0;
        const size_t length = utf8_decode(piece->at + i, piece->length - i, &point);
        if (length == 0) return FAIL(error, "the key is not UTF-8 at byte %zu", i + 1);
        if (point >= 0x10000) {
            point -= 0x10000;
            written += store_little(to + written, 0xd800 + (point >> 10), 2);
            point = 0xdc00 + (point & 0x3ff);
        }
        written += store_little(to + written, point, 2);
        i += length;
    }
    piece->at = to;
    piece->length = written;
    return true;
}

/* Digits and a sign; false if it is no number or its size does not fit in 64 bits. */
static bool parse_integer(struct piece piece, bool *negative, uint64_t *size) {
    size_t i = 0;
    *negative = piece.length > 0 && piece.at[0] == '-';
    if (piece.length > 0 && (piece.at[0] == '-' || piece.at[0] == '+')) i = 1;
    if (i == piece.length) return false;
    *size = 0;
    for (; i < piece.length; i++) {
        const uint64_t digit = (uint64_t)piece.at[i] - '0';
        if (digit > 9 || *size > (UINT64_MAX - digit) / 10) return false;
        *size = 10 * *size + digit;
    }
    return true;
}

static bool wrong_type(struct piece piece, uint32_t type, struct record_error *error) {
    char text[72];
    record_text(piece.at, piece.length, text, sizeof text);
    const bool strip = piece.length > 0 && piece.at[piece.length - 1] == '\r';
    return FAIL(error, "'%s' is not of type %s%s", text, key_type_name(type),
                strip ? "; use --strip-cr" : "");
}

static bool encode_integer(struct piece *piece, uint32_t type, uint8_t *to,
                           struct record_error *error) {
    bool negative;
    uint64_t size;
    const uint64_t high = type == TAMIS_KEY_I32   ? INT32_MAX
                          : type == TAMIS_KEY_I64 ? INT64_MAX
                                                  : UINT64_MAX;
    const uint64_t low = type == TAMIS_KEY_U64 ? 0 : high + 1;
    if (!parse_integer(*piece, &negative, &size) || size > (negative ? low : high)) {
        return wrong_type(*piece, type, error);
    }
    piece->length = store_little(to, negative ? 0 - size : size, type == TAMIS_KEY_I32 ? 4 : 8);
    piece->at = to;
    return true;
}

/* strtod also accepts 0x1p3, nan(7) and leading blanks. */
static bool is_decimal(struct piece piece) {
    for (size_t i = 0; i < piece.length; i++) {
        if (strchr("xX(", piece.at[i]) != NULL) return false;
    }
    return piece.length > 0 && piece.at[0] > ' ';
}

static bool encode_float(struct piece *piece, uint32_t type, uint8_t *to,
                         struct record_error *error) {
    char *const text = (char *)to, *end; /* until the key takes its place */
    const bool single = type == TAMIS_KEY_F32;
    uint32_t single_bits;
    uint64_t bits;
    memcpy(text, piece->at, piece->length);
    text[piece->length] = '\0';
    const float narrow = single ? strtof(text, &end) : 0;
    const double value = single ? narrow : strtod(text, &end);
    /* A number that is too large is an error, as it is for integers, and not infinity. */
    const bool overflow = isinf(value) && strpbrk(text, "iI") == NULL;
    if (end == text || end != text + piece->length || !is_decimal(*piece) || overflow) {
        return wrong_type(*piece, type, error);
    }
    memcpy(&single_bits, &narrow, 4);
    memcpy(&bits, &value, 8);
    piece->length = store_little(to, single ? single_bits : bits, single ? 4 : 8);
    piece->at = to;
    return true;
}

static bool encode_typed(struct piece *piece, uint32_t type, uint8_t *to,
                         struct record_error *error) {
    if (type == TAMIS_KEY_UTF16) return encode_utf16(piece, to, error);
    const bool is_float = type == TAMIS_KEY_F32 || type == TAMIS_KEY_F64;
    return (is_float ? encode_float : encode_integer)(piece, type, to, error);
}

static void fold_case(struct piece *piece, uint8_t *to) {
    for (size_t i = 0; i < piece->length; i++) {
        const uint8_t c = piece->at[i];
        to[i] = (uint8_t)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    piece->at = to;
}

/* ---- a batch of keys */

/* A record's part of the scratch: first its text with the case folded, then the key made of it,
 * at most two bytes for one (UTF-16) or eight (a number; before that, its text and a NUL). */
static size_t slot_bytes(size_t record_length) { return 3 * record_length + 8; }

static uint8_t *scratch_for(struct batch *batch) {
    size_t wanted = 0;
    for (size_t i = 0; i < batch->count; i++) wanted += slot_bytes(batch->record_length[i]);
    if (wanted > batch->scratch_capacity) {
        batch->scratch_capacity = wanted + wanted / 2;
        batch->scratch = (uint8_t *)need_more(batch->scratch, batch->scratch_capacity);
    }
    return batch->scratch;
}

/* Makes one key, with the record's part of the scratch. */
static bool make_key(const tamis_key_form *form, struct piece *piece, uint64_t *hash,
                     uint8_t *scratch, struct record_error *error) {
    uint8_t *const made = scratch + piece->length;
    if ((form->flags & TAMIS_KEY_STRIP_CR) && piece->length > 0 &&
        piece->at[piece->length - 1] == '\r') {
        piece->length--;
    }
    if (form->field != 0 && !take_field(piece, form, error)) return false;
    if (form->flags & TAMIS_KEY_FOLD_CASE) fold_case(piece, scratch);
    if (form->flags & TAMIS_KEY_PREHASHED) return decode_hash(*piece, hash, error);
    if ((form->flags & TAMIS_KEY_HEX) && !decode_hex(piece, made, error)) return false;
    if (form->type != TAMIS_KEY_BYTES && !encode_typed(piece, form->type, made, error))
        return false;
    if (form->flags & KEY_FOLD_DECODED) fold_case(piece, made);
    return true;
}

/* The batch ends before its record i. */
static bool cut(struct batch *batch, size_t i, struct record_error *error) {
    error->is = true;
    error->record = i;
    batch->count = i;
    return false;
}

static bool make_keys(struct batch *batch, const tamis_key_form *form, struct record_error *error) {
    batch->keys = batch->record;
    batch->lengths = batch->record_length;
    if (form->flags == 0 && form->field == 0 && form->type == TAMIS_KEY_BYTES) return true;

    uint8_t *scratch = scratch_for(batch);
    batch->keys = batch->made;
    batch->lengths = batch->made_length;
    for (size_t i = 0; i < batch->count; i++) {
        struct piece piece = {(const uint8_t *)batch->record[i], batch->record_length[i]};
        if (!make_key(form, &piece, &batch->hash[i], scratch, error)) return cut(batch, i, error);
        scratch += slot_bytes(batch->record_length[i]);
        batch->made[i] = piece.at;
        batch->made_length[i] = piece.length;
    }
    return true;
}

bool batch_keys(struct batch *batch, const tamis_key_form *form, uint32_t key_bytes,
                struct record_error *error) {
    const bool all = make_keys(batch, form, error);
    for (size_t i = 0; key_bytes != 0 && i < batch->count; i++) {
        if (batch->lengths[i] == key_bytes) continue;
        snprintf(error->text, sizeof error->text,
                 "the key has %zu bytes; the keys of this filter have %u", batch->lengths[i],
                 (unsigned)key_bytes);
        return cut(batch, i, error);
    }
    return all;
}
