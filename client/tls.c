/* tls.c - TLS between a connection and its server, with OpenSSL
 *
 *     connection.c            here                     connection.c
 *     commands --encrypt--> [ SSL | out ] --records--> send(2)
 *     replies  <--read----- [     | in  ] <--take----- recv(2)
 *
 * OpenSSL works on memory instead of a socket, so that polling, timeouts and sending without
 * SIGPIPE are the same as without TLS.  `in` and `out` grow as needed and are emptied at every
 * step; a record has at most 16 KiB.
 *
 * Trust: with `cacert`, any certificate signed by this authority, whatever its name, as in
 * redis-cli: nodes of a cluster are known by address, which certificates rarely contain, and the
 * authority signs for nothing else.  Without it, the system's authorities, which sign for everyone,
 * so the certificate must match the host.
 *
 * The library is loaded when a cluster first uses TLS: linked as usual it would add 3 ms to every
 * start of the command (twice as long), and a program without TLS would not run without OpenSSL.
 * Its headers are needed to build; without them tls_trust_new returns an error. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"

#if TAMIS_WITH_OPENSSL

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* The functions used, by name.  libssl depends on libcrypto, and dlsym searches both. */
#define OPENSSL_CALLS(CALL)                  \
    CALL(BIO_free)                           \
    CALL(BIO_new)                            \
    CALL(BIO_read)                           \
    CALL(BIO_s_mem)                          \
    CALL(BIO_write)                          \
    CALL(ERR_clear_error)                    \
    CALL(ERR_peek_error)                     \
    CALL(ERR_reason_error_string)            \
    CALL(SSL_CTX_check_private_key)          \
    CALL(SSL_CTX_ctrl)                       \
    CALL(SSL_CTX_free)                       \
    CALL(SSL_CTX_load_verify_locations)      \
    CALL(SSL_CTX_new)                        \
    CALL(SSL_CTX_set_default_passwd_cb)      \
    CALL(SSL_CTX_set_default_verify_paths)   \
    CALL(SSL_CTX_set_verify)                 \
    CALL(SSL_CTX_use_PrivateKey_file)        \
    CALL(SSL_CTX_use_certificate_chain_file) \
    CALL(SSL_connect)                        \
    CALL(SSL_ctrl)                           \
    CALL(SSL_free)                           \
    CALL(SSL_get0_param)                     \
    CALL(SSL_get_error)                      \
    CALL(SSL_get_verify_result)              \
    CALL(SSL_new)                            \
    CALL(SSL_read)                           \
    CALL(SSL_set1_host)                      \
    CALL(SSL_set_bio)                        \
    CALL(SSL_write)                          \
    CALL(TLS_client_method)                  \
    CALL(X509_VERIFY_PARAM_set1_ip_asc)      \
    CALL(X509_verify_cert_error_string)

struct openssl {
#define CALL(name) __typeof__(&name) name;
    OPENSSL_CALLS(CALL)
#undef CALL
};

static const struct {
    const char *name;
    size_t at;
} openssl_calls[] = {
#define CALL(name) {#name, offsetof(struct openssl, name)},
    OPENSSL_CALLS(CALL)
#undef CALL
};

struct openssl_trust {
    struct tls_trust base;
    struct openssl call;
    SSL_CTX *context;
    bool check_host;
};

struct openssl_tls {
    struct tls base;
    const struct openssl *call;
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
};

static struct openssl_tls *inside(struct tls *tls) { return (struct openssl_tls *)tls; }

/* ---- errors */

/* The first error is the cause; later ones are consequences. */
static const char *reason(const struct openssl *call) {
    const unsigned long error = call->ERR_peek_error();
    const char *text = ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error))
                                               : call->ERR_reason_error_string(error);
    return text != NULL ? text : "an unknown error";
}

/* After a call that returned `result`: true if it only needs more bytes, else false with tls->error
 * set. */
static bool waits(struct openssl_tls *tls, int result) {
    const struct openssl *call = tls->call;
    const int what = call->SSL_get_error(tls->ssl, result);
    const long trust = call->SSL_get_verify_result(tls->ssl);
    char *error = tls->base.error;
    const size_t size = sizeof tls->base.error;
    if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE) return true;
    if (what == SSL_ERROR_ZERO_RETURN) {
        snprintf(error, size, "the server closed the connection");
    } else if (trust != X509_V_OK) {
        snprintf(error, size, "the server's certificate is not trusted: %s",
                 call->X509_verify_cert_error_string(trust));
    } else if (ERR_GET_REASON(call->ERR_peek_error()) == SSL_R_WRONG_VERSION_NUMBER) {
        snprintf(error, size, "the server does not use TLS on this port");
    } else {
        snprintf(error, size, "TLS: %s", reason(call));
    }
    return false;
}

/* ---- one connection */

static void openssl_close(struct tls *tls) {
    struct openssl_tls *t = inside(tls);
    t->call->SSL_free(t->ssl);
    free(t);
}

/* Appends the records to send. */
static bool drain(struct openssl_tls *tls, struct bytes *records) {
    char buffer[16384];
    for (int got; (got = tls->call->BIO_read(tls->out, buffer, sizeof buffer)) > 0;) {
        bytes_add(records, buffer, (size_t)got);
    }
    if (records->failed) snprintf(tls->base.error, sizeof tls->base.error, "out of memory");
    return !records->failed;
}

static bool openssl_handshake(struct tls *tls, struct bytes *records, bool *done) {
    struct openssl_tls *t = inside(tls);
    t->call->ERR_clear_error();
    const int result = t->call->SSL_connect(t->ssl);
    *done = result == 1;
    const bool good = *done || waits(t, result);
    return drain(t, records) && good; /* after a failure: the alert */
}

static bool openssl_encrypt(struct tls *tls, const void *plain, size_t length,
                            struct bytes *records) {
    struct openssl_tls *t = inside(tls);
    t->call->ERR_clear_error();
    if (length != 0) {
        const int result = t->call->SSL_write(t->ssl, plain, (int)length);
        if (result != (int)length) { /* memory accepts all bytes unless there is an error */
            if (waits(t, result)) snprintf(t->base.error, sizeof t->base.error, "TLS: cut short");
            return false;
        }
    }
    return drain(t, records);
}

static bool openssl_take(struct tls *tls, const void *records, size_t length) {
    struct openssl_tls *t = inside(tls);
    if (t->call->BIO_write(t->in, records, (int)length) == (int)length) return true;
    snprintf(t->base.error, sizeof t->base.error, "out of memory");
    return false;
}

static bool openssl_read(struct tls *tls, void *plain, size_t size, size_t *length) {
    struct openssl_tls *t = inside(tls);
    t->call->ERR_clear_error();
    const int got = t->call->SSL_read(t->ssl, plain, (int)size);
    *length = got > 0 ? (size_t)got : 0;
    return got > 0 || waits(t, got);
}

/* Sets the host name that the certificate must match, if any, and SNI. */
static bool name_host(const struct openssl_trust *trust, SSL *ssl, const char *host) {
    const struct openssl *call = &trust->call;
    const bool address =
        trust->check_host
            ? call->X509_VERIFY_PARAM_set1_ip_asc(call->SSL_get0_param(ssl), host) == 1
            : strspn(host, "0123456789.") == strlen(host) || strchr(host, ':') != NULL;
    if (address) return true;
    if (trust->check_host && call->SSL_set1_host(ssl, host) != 1) return false;
    char name[256]; /* OpenSSL's own macro casts away const as well */
    snprintf(name, sizeof name, "%s", host);
    return call->SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name) == 1;
}

static struct tls *openssl_open(struct tls_trust *base, const char *host) {
    static const struct tls_calls calls = {openssl_handshake, openssl_encrypt, openssl_take,
                                           openssl_read, openssl_close};
    struct openssl_trust *trust = (struct openssl_trust *)base;
    const struct openssl *call = &trust->call;
    struct openssl_tls *t = (struct openssl_tls *)calloc(1, sizeof *t);
    if (t == NULL) return NULL;
    t->base.calls = &calls;
    t->call = call;
    t->ssl = call->SSL_new(trust->context);
    t->in = call->BIO_new(call->BIO_s_mem());
    t->out = call->BIO_new(call->BIO_s_mem());
    if (t->ssl == NULL || t->in == NULL || t->out == NULL || !name_host(trust, t->ssl, host)) {
        call->BIO_free(t->in);
        call->BIO_free(t->out);
        openssl_close(&t->base);
        return NULL;
    }
    call->SSL_set_bio(t->ssl, t->in, t->out);
    return &t->base;
}

/* ---- the library and the trusted authorities */

static bool load_openssl(struct openssl *call, char *error, size_t size) {
    /* Never closed: OpenSSL registers exit handlers. */
    void *library = dlopen(TAMIS_OPENSSL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(error, size, "TLS needs OpenSSL, which is not here: %s", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof openssl_calls / sizeof openssl_calls[0]; i++) {
        void *symbol = dlsym(library, openssl_calls[i].name);
        if (symbol == NULL) {
            snprintf(error, size, "TLS: this OpenSSL has no %s", openssl_calls[i].name);
            return false;
        }
        /* POSIX defines the conversion to a function pointer, C does not. */
        memcpy((char *)call + openssl_calls[i].at, &symbol, sizeof symbol);
    }
    return true;
}

/* A key with a passphrase is refused: no prompt on the terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

static bool set_authorities(struct openssl_trust *trust, const char *cacert) {
    const struct openssl *call = &trust->call;
    trust->check_host = cacert == NULL;
    call->SSL_CTX_set_verify(trust->context, SSL_VERIFY_PEER, NULL);
    if (cacert == NULL) return call->SSL_CTX_set_default_verify_paths(trust->context) == 1;
    return call->SSL_CTX_load_verify_locations(trust->context, cacert, NULL) == 1;
}

/* NULL, or the name of the invalid file. */
static const char *use_files(struct openssl_trust *trust, const tamis_cluster_options *options) {
    const struct openssl *call = &trust->call;
    SSL_CTX *context = trust->context;
    if (!set_authorities(trust, options->cacert)) {
        return options->cacert != NULL ? options->cacert : "the system's certificates";
    }
    if (options->cert == NULL) return NULL;
    if (call->SSL_CTX_use_certificate_chain_file(context, options->cert) != 1) return options->cert;
    const char *key = options->key != NULL ? options->key : options->cert;
    call->SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (call->SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
        call->SSL_CTX_check_private_key(context) != 1) {
        return key;
    }
    return NULL;
}

static void openssl_free(struct tls_trust *base) {
    struct openssl_trust *trust = (struct openssl_trust *)base;
    if (trust->context != NULL) trust->call.SSL_CTX_free(trust->context);
    free(trust);
}

struct tls_trust *tls_trust_new(const tamis_cluster_options *options, char *error, size_t size) {
    struct openssl_trust *trust = (struct openssl_trust *)calloc(1, sizeof *trust);
    if (trust == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    trust->base.open = openssl_open;
    trust->base.free = openssl_free;
    bool good = load_openssl(&trust->call, error, size);
    if (good) {
        const struct openssl *call = &trust->call;
        call->ERR_clear_error();
        trust->context = call->SSL_CTX_new(call->TLS_client_method());
        good = trust->context != NULL &&
               call->SSL_CTX_ctrl(trust->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION,
                                  NULL) == 1;
        const char *bad = good ? use_files(trust, options) : "TLS";
        good = bad == NULL;
        if (!good) snprintf(error, size, "%s: %s", bad, reason(call));
    }
    if (good) return &trust->base;
    openssl_free(&trust->base);
    return NULL;
}

#else

struct tls_trust *tls_trust_new(const tamis_cluster_options *options, char *error, size_t size) {
    (void)options;
    snprintf(error, size,
             "this was built without TLS: install OpenSSL (Debian: libssl-dev) and build again");
    return NULL;
}

#endif
