/* numbers.c - numbers as people write them */
#include "numbers.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* What a suffix multiplies by; 0 if it is none. */
static uint64_t scale_of(const char *suffix) {
    static const char letters[] = "KMGTP";
    if (suffix[0] == '\0') return 1;
    const char *letter = strchr(letters, toupper((unsigned char)suffix[0]));
    if (letter == NULL || *letter == '\0') return 0;
    const bool binary = suffix[1] == 'i';
    if (suffix[binary ? 2 : 1] != '\0') return 0;
    uint64_t scale = 1;
    for (const char *l = letters; l <= letter; l++) scale *= binary ? 1024 : 1000;
    return scale;
}

/* Only digits, a point and an exponent: no sign, no "nan", no hexadecimal. */
static bool decimal_parse(const char *text, double *number, char **end) {
    if (!isdigit((unsigned char)text[0]) && text[0] != '.') return false;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return false;
    *number = strtod(text, end);
    return *end != text && isfinite(*number);
}

/* 1,000,000 without its commas; false if they do not separate groups of three digits. */
static bool ungroup(const char *text, char *digits, size_t size) {
    const size_t first = strspn(text, "0123456789");
    size_t used = first;
    if (first == 0 || first > 3 || strlen(text) >= size) return false;
    memcpy(digits, text, first);
    for (text += first; *text == ','; text += 4) {
        if (strspn(text + 1, "0123456789") != 3) return false;
        memcpy(digits + used, text + 1, 3);
        used += 3;
    }
    strcpy(digits + used, text);
    return true;
}

bool number_parse(const char *text, uint64_t *number) {
    char ungrouped[64];
    if (strchr(text, ',') != NULL) {
        if (!ungroup(text, ungrouped, sizeof ungrouped) || strchr(ungrouped, ',') != NULL)
            return false;
        text = ungrouped;
    }
    /* Whole numbers exactly; a double has only 53 bits. */
    char *end;
    const size_t digits = strspn(text, "0123456789");
    uint64_t scale = digits > 0 ? scale_of(text + digits) : 0;
    if (scale != 0) {
        errno = 0;
        const uint64_t whole = strtoull(text, &end, 10);
        if (errno == ERANGE || whole > UINT64_MAX / scale) return false;
        *number = whole * scale;
        return true;
    }
    double value;
    if (!decimal_parse(text, &value, &end)) return false;
    scale = scale_of(end);
    /* 1.001K is 1001, although 1.001 * 1000 is slightly less. */
    value *= (double)scale;
    const double whole = floor(value + 0.5);
    if (scale == 0 || whole >= 18446744073709551616.0) return false;
    if (fabs(value - whole) > 2 * DBL_EPSILON * value) return false;
    *number = (uint64_t)whole;
    return true;
}

/* 0.7% must equal 0.007.  A division by 100 can differ from it in the last bit, and the two would
 * contradict each other. */
static double hundredth(double percent) { return strtod(text_of("%.15g", percent / 100).at, NULL); }

bool fpr_parse(const char *text, double *fpr) {
    char *end;
    double value;
    if (!decimal_parse(text, &value, &end)) return false;
    if (*end == '/') {
        double below;
        if (!decimal_parse(end + 1, &below, &end)) return false;
        value /= below;
    } else if (*end == '%') {
        value = hundredth(value);
        end++;
    }
    if (*end != '\0' || !(value > 0 && value < 1)) return false;
    *fpr = value;
    return true;
}

uint64_t number_of(const char *option, const char *text) {
    uint64_t number;
    if (!number_parse(text, &number)) {
        die("%s: '%s' is not a number from 0 to 2^64 - 1, such as 1000, 10K, 5M or 64Mi", option,
            text);
    }
    return number;
}

uint64_t number_within(const char *option, const char *text, uint64_t low, uint64_t high) {
    const uint64_t number = number_of(option, text);
    if (number < low || number > high) {
        die("%s must be from %llu to %llu, not %s", option, (unsigned long long)low,
            (unsigned long long)high, text);
    }
    return number;
}

double fpr_of(const char *option, const char *text) {
    double fpr;
    if (!fpr_parse(text, &fpr)) {
        die("%s: '%s' is not a rate above 0 and below 1, such as 0.01, 1%%, 1e-6 or 1/1000", option,
            text);
    }
    return fpr;
}

struct text text_count(uint64_t number) {
    const struct text digits = text_of("%llu", (unsigned long long)number);
    const size_t length = strlen(digits.at);
    struct text grouped;
    char *to = grouped.at;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) *to++ = ',';
        *to++ = digits.at[i];
    }
    *to = '\0';
    return grouped;
}

struct text text_of(const char *format, ...) {
    struct text text;
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it has just been */
    vsnprintf(text.at, sizeof text.at, format, arguments);
    va_end(arguments);
    return text;
}

struct text text_plural(uint64_t number, const char *noun) {
    return text_of("%s %s%s", text_count(number).at, noun, number == 1 ? "" : "s");
}

struct text text_estimate(double number, double error) {
    if (!(number > 0)) return text_count(0);
    if (number >= 1.8e19) number = 1.8e19;
    if (error <= 0) return text_count((uint64_t)(number + 0.5));
    /* No more digits than the estimate has. */
    const double unit = fmax(1, pow(10, floor(log10(error))));
    return text_of("about %s", text_count((uint64_t)(floor(number / unit + 0.5) * unit)).at);
}

/* Three digits and a unit; without a unit, whole. */
static struct text text_scaled(double number, double base, const char *const *units, size_t last) {
    size_t unit = 0;
    for (; number >= base - 0.5 && unit < last; unit++) number /= base;
    const int decimals = unit == 0 ? 0 : number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    return text_of("%.*f%s", decimals, number, units[unit]);
}

struct text text_bytes(uint64_t bytes) {
    const char *const units[] = {
        bytes == 1 ? " byte" : " bytes", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    return text_scaled((double)bytes, 1024, units, 6);
}

struct text text_brief(double number) {
    static const char *const units[] = {"", "K", "M", "G", "T", "P"};
    return text_scaled(number, 1000, units, 5);
}

/* Three digits, without an exponent. */
static struct text three_digits(double number) {
    struct text text = text_of("%.*f", (int)fmax(0, 2 - floor(log10(number))), number);
    if (strchr(text.at, '.') == NULL) return text;
    size_t length = strlen(text.at);
    while (text.at[length - 1] == '0') text.at[--length] = '\0';
    if (text.at[length - 1] == '.') text.at[--length] = '\0';
    return text;
}

struct text text_bits(double bits) {
    return bits >= 1000 ? text_count((uint64_t)(bits + 0.5)) : text_of("%.2f", bits);
}

/* 3.35e-7, 1e-6: three digits at most, and no more than are needed. */
static struct text small_fpr(double fpr) {
    int exponent = (int)floor(log10(fpr));
    double digits = fpr * pow(10, -exponent);
    if (digits >= 9.995) {
        digits /= 10;
        exponent++;
    }
    return text_of("%.3ge%d", digits, exponent);
}

struct text text_fpr(double fpr) {
    if (!(fpr >= DBL_MIN)) return text_of("0"); /* denormal numbers have fewer digits */
    return fpr < 9.995e-5 ? small_fpr(fpr) : text_of("%s %%", three_digits(fpr * 100).at);
}

struct text text_odds(double fpr) {
    if (!(fpr > 0)) return text_of("never");
    if (fpr > 0.2) return text_of("1 in %.2g", 1 / fpr);
    if (1 / fpr >= 1e15) return text_of("1 in %.2e", 1 / fpr);
    return text_of("1 in %s", text_count((uint64_t)(1 / fpr + 0.5)).at);
}

struct text text_time(double seconds) {
    const unsigned long all = (unsigned long)fmin(fmax(seconds, 0), 1e9);
    const unsigned long h = all / 3600, m = all / 60 % 60, s = all % 60;
    return h > 0 ? text_of("%lu:%02lu:%02lu", h, m, s) : text_of("%lu:%02lu", m, s);
}

/* 1e-6, as people write it. */
static struct text short_exponent(struct text text) {
    char *exponent = strstr(text.at, "e-0");
    if (exponent != NULL) memmove(exponent + 2, exponent + 3, strlen(exponent + 3) + 1);
    return text;
}

struct text text_exact(double number) {
    struct text text;
    if (number == floor(number) && fabs(number) < 1e15) return text_of("%.0f", number); /* no 1e5 */
    for (int digits = 1; digits <= 17; digits++) {
        text = text_of("%.*g", digits, number);
        if (strtod(text.at, NULL) == number) break;
    }
    return short_exponent(text);
}

struct text text_few(double number) {
    if (number >= 99.5 && number < 1.8e19) return text_count((uint64_t)(number + 0.5));
    return short_exponent(text_of("%.2g", number));
}
