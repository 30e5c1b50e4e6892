/* numbers.c - numbers as people write them */
#include "numbers.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
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

bool number_parse(const char *text, uint64_t *number) {
    /* Whole numbers exactly; a double has only 53 bits. */
    char *end;
    size_t digits = strspn(text, "0123456789");
    if (digits > 0 && digits < 20 && scale_of(text + digits) != 0) {
        const uint64_t whole = strtoull(text, &end, 10), scale = scale_of(text + digits);
        if (whole > UINT64_MAX / scale) return false;
        *number = whole * scale;
        return true;
    }
    if (digits >= 20 && text[digits] == '\0') {
        uint64_t whole = 0;
        for (size_t i = 0; i < digits; i++) {
            const uint64_t digit = (uint64_t)(text[i] - '0');
            if (whole > (UINT64_MAX - digit) / 10) return false;
            whole = 10 * whole + digit;
        }
        *number = whole;
        return true;
    }
    double value;
    if (!decimal_parse(text, &value, &end)) return false;
    const uint64_t scale = scale_of(end);
    /* 1.001K is 1001, though 1.001 times a thousand is a hair less. */
    value *= (double)scale;
    const double whole = floor(value + 0.5);
    if (scale == 0 || whole >= 18446744073709551616.0) return false;
    if (fabs(value - whole) > 2 * DBL_EPSILON * value) return false;
    *number = (uint64_t)whole;
    return true;
}

/* 0.7% is 0.007, as it is written, and not what dividing by a hundred makes of it: the two would
 * differ in the last bit, and so contradict each other. */
static double hundredth(double percent) {
    struct text text;
    snprintf(text.at, sizeof text.at, "%.15g", percent / 100);
    return strtod(text.at, NULL);
}

bool rate_parse(const char *text, double *rate) {
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
    *rate = value;
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

double rate_of(const char *option, const char *text) {
    double rate;
    if (!rate_parse(text, &rate)) {
        die("%s: '%s' is not a rate above 0 and below 1, such as 0.01, 1%%, 1e-6 or 1/1000", option,
            text);
    }
    return rate;
}

struct text text_count(uint64_t number) {
    struct text digits, grouped;
    const int length = snprintf(digits.at, sizeof digits.at, "%llu", (unsigned long long)number);
    char *to = grouped.at;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) *to++ = ',';
        *to++ = digits.at[i];
    }
    *to = '\0';
    return grouped;
}

struct text text_things(uint64_t number, const char *thing) {
    struct text text;
    snprintf(text.at, sizeof text.at, "%.27s %.18s%s", text_count(number).at, thing,
             number == 1 ? "" : "s");
    return text;
}

struct text text_estimate(double number, double error) {
    if (!(number > 0)) return text_count(0);
    if (number >= 1.8e19) number = 1.8e19;
    if (error <= 0) return text_count((uint64_t)(number + 0.5));
    /* No more digits than the estimate has. */
    double unit = pow(10, floor(log10(error)));
    if (unit < 1) unit = 1;
    const struct text rounded = text_count((uint64_t)(floor(number / unit + 0.5) * unit));
    struct text about;
    snprintf(about.at, sizeof about.at, "about %.40s", rounded.at);
    return about;
}

struct text text_bytes(uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct text text;
    double size = (double)bytes;
    size_t unit = 0;
    while (size >= 1023.5 && unit < 6) {
        size /= 1024;
        unit++;
    }
    if (unit == 0) {
        snprintf(text.at, sizeof text.at, "%u %s", (unsigned)bytes, bytes == 1 ? "byte" : "bytes");
    } else {
        const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
        snprintf(text.at, sizeof text.at, "%.*f %s", decimals, size, units[unit]);
    }
    return text;
}

/* Three digits, without an exponent. */
static void three_digits(double number, char *text, size_t size) {
    int decimals = 2 - (int)floor(log10(number));
    if (decimals < 0) decimals = 0;
    snprintf(text, size, "%.*f", decimals, number);
    if (strchr(text, '.') == NULL) return;
    size_t length = strlen(text);
    while (text[length - 1] == '0') text[--length] = '\0';
    if (text[length - 1] == '.') text[--length] = '\0';
}

struct text text_bits(double bits) {
    struct text text;
    if (bits >= 1000) return text_count((uint64_t)(bits + 0.5));
    snprintf(text.at, sizeof text.at, "%.2f", bits);
    return text;
}

/* 3.35e-7, 1e-6: three digits at most, and no more than are needed. */
static void small_rate(double rate, char *text, size_t size) {
    int exponent = (int)floor(log10(rate));
    double digits = rate * pow(10, -exponent);
    if (digits >= 9.995) {
        digits /= 10;
        exponent++;
    }
    snprintf(text, size, "%.3ge%d", digits, exponent);
}

struct text text_rate(double rate) {
    struct text text;
    if (!(rate >= DBL_MIN)) { /* what is less has not three digits */
        snprintf(text.at, sizeof text.at, "0");
    } else if (rate < 9.995e-5) {
        small_rate(rate, text.at, sizeof text.at);
    } else {
        three_digits(rate * 100, text.at, sizeof text.at - 3);
        strcat(text.at, " %");
    }
    return text;
}

struct text text_odds(double rate) {
    struct text text;
    if (!(rate > 0)) {
        snprintf(text.at, sizeof text.at, "never");
    } else if (rate > 0.2) {
        snprintf(text.at, sizeof text.at, "1 in %.2g", 1 / rate);
    } else if (1 / rate < 1e15) {
        snprintf(text.at, sizeof text.at, "1 in %.40s", text_count((uint64_t)(1 / rate + 0.5)).at);
    } else {
        snprintf(text.at, sizeof text.at, "1 in %.2e", 1 / rate);
    }
    return text;
}

struct text text_brief(double number) {
    static const char units[] = " KMGTP";
    struct text text;
    size_t unit = 0;
    while (number >= 999.5 && unit < 5) {
        number /= 1000;
        unit++;
    }
    if (unit == 0) {
        snprintf(text.at, sizeof text.at, "%.0f", number);
    } else {
        const int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
        snprintf(text.at, sizeof text.at, "%.*f%c", decimals, number, units[unit]);
    }
    return text;
}

struct text text_time(double seconds) {
    struct text text;
    const unsigned long all = seconds < 0     ? 0
                              : seconds > 1e9 ? 1000000000ul
                                              : (unsigned long)seconds;
    const unsigned long h = all / 3600, m = all / 60 % 60, s = all % 60;
    if (h > 0) {
        snprintf(text.at, sizeof text.at, "%lu:%02lu:%02lu", h, m, s);
    } else {
        snprintf(text.at, sizeof text.at, "%lu:%02lu", m, s);
    }
    return text;
}

/* 1e-6, as people write it. */
static void short_exponent(char *text) {
    char *exponent = strstr(text, "e-0");
    if (exponent != NULL) memmove(exponent + 2, exponent + 3, strlen(exponent + 3) + 1);
}

struct text text_exact(double number) {
    struct text text;
    if (number == floor(number) && fabs(number) < 1e15) { /* 100000, not 1e+05 */
        snprintf(text.at, sizeof text.at, "%.0f", number);
        return text;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text.at, sizeof text.at, "%.*g", digits, number);
        if (strtod(text.at, NULL) == number) break;
    }
    short_exponent(text.at);
    return text;
}

struct text text_few(double number) {
    struct text text;
    if (number >= 99.5 && number < 1.8e19) return text_count((uint64_t)(number + 0.5));
    snprintf(text.at, sizeof text.at, "%.2g", number);
    short_exponent(text.at);
    return text;
}
