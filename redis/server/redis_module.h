/* redis_module.h - the part of Redis's module API that this module uses
 *
 * The server loads the module, a shared object, and calls RedisModule_OnLoad.  The context that it
 * passes begins with a pointer to a function that finds all others by name (redis_api.c).  This
 * header declares them, with the types and numbers that the server defines.  Server version 7.0 has
 * all that are REQUIRED; OPTIONAL ones came later and may be NULL. */
#ifndef TAMIS_REDIS_SERVER_REDIS_MODULE_H
#define TAMIS_REDIS_SERVER_REDIS_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define REDISMODULE_OK 0
#define REDISMODULE_ERR 1
#define REDISMODULE_APIVER_1 1
#define REDISMODULE_TYPE_METHOD_VERSION 4
#define REDISMODULE_POSTPONED_LEN (-1)
#define REDISMODULE_ERRORMSG_WRONGTYPE \
    "WRONGTYPE Operation against a key holding the wrong kind of value"

enum { REDISMODULE_READ = 1, REDISMODULE_WRITE = 2 };

enum { REDISMODULE_KEYTYPE_EMPTY = 0 };

enum {
    REDISMODULE_CTX_FLAGS_LUA = 1 << 0,
    REDISMODULE_CTX_FLAGS_MULTI = 1 << 1,
    REDISMODULE_CTX_FLAGS_SLAVE = 1 << 3,
    REDISMODULE_CTX_FLAGS_CLUSTER = 1 << 5,
    REDISMODULE_CTX_FLAGS_REPLICATED = 1 << 12,
    REDISMODULE_CTX_FLAGS_LOADING = 1 << 13,
    REDISMODULE_CTX_FLAGS_DENY_BLOCKING = 1 << 21,
    REDISMODULE_CTX_FLAGS_RESP3 = 1 << 22
};

enum { REDISMODULE_NOTIFY_MODULE = 1 << 13 };

enum {
    REDISMODULE_OPTIONS_HANDLE_IO_ERRORS = 1 << 0,
    REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED = 1 << 1
};

enum { REDISMODULE_CONFIG_DEFAULT = 0, REDISMODULE_CONFIG_UNPREFIXED = 1 << 9 };

typedef struct RedisModuleBlockedClient RedisModuleBlockedClient;
typedef struct RedisModuleCallReply RedisModuleCallReply;
typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleCommand RedisModuleCommand;
typedef struct RedisModuleDefragCtx RedisModuleDefragCtx;
typedef struct RedisModuleDigest RedisModuleDigest;
typedef struct RedisModuleInfoCtx RedisModuleInfoCtx;
typedef struct RedisModuleIO RedisModuleIO;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleKeyOptCtx RedisModuleKeyOptCtx;
typedef struct RedisModuleServerInfoData RedisModuleServerInfoData;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleType RedisModuleType;
typedef uint64_t RedisModuleTimerID;

typedef int (*RedisModuleCmdFunc)(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
typedef void (*RedisModuleInfoFunc)(RedisModuleInfoCtx *ctx, int for_crash_report);

typedef RedisModuleString *(*RedisModuleConfigGetStringFunc)(const char *name, void *privdata);
typedef int (*RedisModuleConfigSetStringFunc)(const char *name, RedisModuleString *value,
                                              void *privdata, RedisModuleString **err);
typedef int (*RedisModuleConfigApplyFunc)(RedisModuleCtx *ctx, void *privdata,
                                          RedisModuleString **err);

/* The callbacks of a data type.  Callbacks that this module does not implement are placeholders. */
typedef struct RedisModuleTypeMethods {
    uint64_t version;
    void *(*rdb_load)(RedisModuleIO *rdb, int encver);
    void (*rdb_save)(RedisModuleIO *rdb, void *value);
    void (*aof_rewrite)(RedisModuleIO *aof, RedisModuleString *key, void *value);
    size_t (*mem_usage)(const void *value);
    void (*digest)(RedisModuleDigest *digest, void *value);
    void (*free)(void *value);
    int (*aux_load)(RedisModuleIO *rdb, int encver, int when);
    void (*aux_save)(RedisModuleIO *rdb, int when);
    int aux_save_triggers;
    size_t (*free_effort)(RedisModuleString *key, const void *value);
    void (*unlink)(RedisModuleString *key, const void *value);
    void *(*copy)(RedisModuleString *from, RedisModuleString *to, const void *value);
    int (*defrag)(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value);
    size_t (*mem_usage2)(RedisModuleKeyOptCtx *ctx, const void *value, size_t samples);
    size_t (*free_effort2)(RedisModuleKeyOptCtx *ctx, const void *value);
    void (*unlink2)(RedisModuleKeyOptCtx *ctx, const void *value);
    void *(*copy2)(RedisModuleKeyOptCtx *ctx, const void *value);
} RedisModuleTypeMethods;

/* ---- COMMAND DOCS and COMMAND INFO */

typedef enum RedisModuleCommandArgType {
    REDISMODULE_ARG_TYPE_STRING,
    REDISMODULE_ARG_TYPE_INTEGER,
    REDISMODULE_ARG_TYPE_DOUBLE,
    REDISMODULE_ARG_TYPE_KEY,
    REDISMODULE_ARG_TYPE_PATTERN,
    REDISMODULE_ARG_TYPE_UNIX_TIME,
    REDISMODULE_ARG_TYPE_PURE_TOKEN,
    REDISMODULE_ARG_TYPE_ONEOF,
    REDISMODULE_ARG_TYPE_BLOCK
} RedisModuleCommandArgType;

enum { REDISMODULE_CMD_ARG_OPTIONAL = 1 << 0, REDISMODULE_CMD_ARG_MULTIPLE = 1 << 1 };

typedef struct RedisModuleCommandArg {
    const char *name;
    RedisModuleCommandArgType type;
    int key_spec_index; /* -1 if the argument is not a key */
    const char *token;
    const char *summary;
    const char *since;
    int flags;
    const char *deprecated_since;
    struct RedisModuleCommandArg *subargs;
    const char *display_text;
} RedisModuleCommandArg;

typedef struct RedisModuleCommandHistoryEntry {
    const char *since;
    const char *changes;
} RedisModuleCommandHistoryEntry;

enum {
    REDISMODULE_CMD_KEY_RO = 1 << 0,
    REDISMODULE_CMD_KEY_RW = 1 << 1,
    REDISMODULE_CMD_KEY_ACCESS = 1 << 4,
    REDISMODULE_CMD_KEY_UPDATE = 1 << 5
};

enum { REDISMODULE_KSPEC_BS_INDEX = 2, REDISMODULE_KSPEC_FK_RANGE = 2 };

typedef struct RedisModuleCommandKeySpec {
    const char *notes;
    uint64_t flags;
    int begin_search_type;
    union {
        struct {
            int pos;
        } index;
        struct {
            const char *keyword;
            int startfrom;
        } keyword;
    } bs;
    int find_keys_type;
    union {
        struct {
            int lastkey, keystep, limit;
        } range;
        struct {
            int keynumidx, firstkey, keystep;
        } keynum;
    } fk;
} RedisModuleCommandKeySpec;

typedef struct RedisModuleCommandInfoVersion {
    int version;
    size_t sizeof_historyentry, sizeof_keyspec, sizeof_arg;
} RedisModuleCommandInfoVersion;

typedef struct RedisModuleCommandInfo {
    const RedisModuleCommandInfoVersion *version;
    const char *summary;
    const char *complexity;
    const char *since;
    RedisModuleCommandHistoryEntry *history;
    const char *tips;
    int arity;
    RedisModuleCommandKeySpec *key_specs;
    RedisModuleCommandArg *args;
} RedisModuleCommandInfo;

/* ---- functions: X(REQUIRED or OPTIONAL, return type, name, parameters) */

enum redis_need { OPTIONAL, REQUIRED };

#define REDIS_API_MAP(X)                                                                           \
    X(REQUIRED, int, SetModuleAttribs, (RedisModuleCtx *, const char *, int, int))                 \
    X(REQUIRED, int, IsModuleNameBusy, (const char *))                                             \
    X(REQUIRED, void, SetModuleOptions, (RedisModuleCtx *, int))                                   \
    X(REQUIRED, void *, TryAlloc, (size_t))                                                        \
    X(OPTIONAL, void *, TryCalloc, (size_t, size_t))                                               \
    X(REQUIRED, void, Free, (void *))                                                              \
    X(REQUIRED, void, Log, (RedisModuleCtx *, const char *, const char *, ...))                    \
    X(REQUIRED, int, CreateCommand,                                                                \
      (RedisModuleCtx *, const char *, RedisModuleCmdFunc, const char *, int, int, int))           \
    X(REQUIRED, RedisModuleCommand *, GetCommand, (RedisModuleCtx *, const char *))                \
    X(REQUIRED, int, SetCommandInfo, (RedisModuleCommand *, const RedisModuleCommandInfo *))       \
    X(OPTIONAL, int, AddACLCategory, (RedisModuleCtx *, const char *))                             \
    X(OPTIONAL, int, SetCommandACLCategories, (RedisModuleCommand *, const char *))                \
    X(REQUIRED, RedisModuleType *, CreateDataType,                                                 \
      (RedisModuleCtx *, const char *, int, RedisModuleTypeMethods *))                             \
    X(REQUIRED, RedisModuleKey *, OpenKey, (RedisModuleCtx *, RedisModuleString *, int))           \
    X(REQUIRED, void, CloseKey, (RedisModuleKey *))                                                \
    X(REQUIRED, int, DeleteKey, (RedisModuleKey *))                                                \
    X(REQUIRED, int, KeyType, (RedisModuleKey *))                                                  \
    X(REQUIRED, int, ModuleTypeSetValue, (RedisModuleKey *, RedisModuleType *, void *))            \
    X(REQUIRED, int, ModuleTypeReplaceValue,                                                       \
      (RedisModuleKey *, RedisModuleType *, void *, void **))                                      \
    X(REQUIRED, RedisModuleType *, ModuleTypeGetType, (RedisModuleKey *))                          \
    X(REQUIRED, void *, ModuleTypeGetValue, (RedisModuleKey *))                                    \
    X(REQUIRED, RedisModuleString *, CreateString, (RedisModuleCtx *, const char *, size_t))       \
    X(REQUIRED, void, FreeString, (RedisModuleCtx *, RedisModuleString *))                         \
    X(REQUIRED, const char *, StringPtrLen, (const RedisModuleString *, size_t *))                 \
    X(REQUIRED, int, StringToLongLong, (const RedisModuleString *, long long *))                   \
    X(REQUIRED, int, StringToDouble, (const RedisModuleString *, double *))                        \
    X(REQUIRED, int, WrongArity, (RedisModuleCtx *))                                               \
    X(REQUIRED, int, ReplyWithError, (RedisModuleCtx *, const char *))                             \
    X(REQUIRED, int, ReplyWithSimpleString, (RedisModuleCtx *, const char *))                      \
    X(REQUIRED, int, ReplyWithLongLong, (RedisModuleCtx *, long long))                             \
    X(REQUIRED, int, ReplyWithDouble, (RedisModuleCtx *, double))                                  \
    X(REQUIRED, int, ReplyWithNull, (RedisModuleCtx *))                                            \
    X(REQUIRED, int, ReplyWithBool, (RedisModuleCtx *, int))                                       \
    X(REQUIRED, int, ReplyWithArray, (RedisModuleCtx *, long))                                     \
    X(REQUIRED, int, ReplyWithMap, (RedisModuleCtx *, long))                                       \
    X(REQUIRED, void, ReplySetArrayLength, (RedisModuleCtx *, long))                               \
    X(REQUIRED, int, ReplyWithStringBuffer, (RedisModuleCtx *, const char *, size_t))              \
    X(REQUIRED, RedisModuleCallReply *, Call, (RedisModuleCtx *, const char *, const char *, ...)) \
    X(REQUIRED, const char *, CallReplyProto, (RedisModuleCallReply *, size_t *))                  \
    X(REQUIRED, int, ReplyWithCallReply, (RedisModuleCtx *, RedisModuleCallReply *))               \
    X(REQUIRED, void, FreeCallReply, (RedisModuleCallReply *))                                     \
    X(REQUIRED, int, Replicate, (RedisModuleCtx *, const char *, const char *, ...))               \
    X(REQUIRED, int, ReplicateVerbatim, (RedisModuleCtx *))                                        \
    X(REQUIRED, int, NotifyKeyspaceEvent,                                                          \
      (RedisModuleCtx *, int, const char *, RedisModuleString *))                                  \
    X(REQUIRED, int, SignalModifiedKey, (RedisModuleCtx *, RedisModuleString *))                   \
    X(REQUIRED, int, GetContextFlags, (RedisModuleCtx *))                                          \
    X(REQUIRED, void, GetRandomBytes, (unsigned char *, size_t))                                   \
    X(REQUIRED, long long, Milliseconds, (void))                                                   \
    X(REQUIRED, RedisModuleServerInfoData *, GetServerInfo, (RedisModuleCtx *, const char *))      \
    X(REQUIRED, void, FreeServerInfo, (RedisModuleCtx *, RedisModuleServerInfoData *))             \
    X(REQUIRED, unsigned long long, ServerInfoGetFieldUnsigned,                                    \
      (RedisModuleServerInfoData *, const char *, int *))                                          \
    X(REQUIRED, void, SaveUnsigned, (RedisModuleIO *, uint64_t))                                   \
    X(REQUIRED, uint64_t, LoadUnsigned, (RedisModuleIO *))                                         \
    X(REQUIRED, void, SaveDouble, (RedisModuleIO *, double))                                       \
    X(REQUIRED, double, LoadDouble, (RedisModuleIO *))                                             \
    X(REQUIRED, void, SaveStringBuffer, (RedisModuleIO *, const char *, size_t))                   \
    X(REQUIRED, char *, LoadStringBuffer, (RedisModuleIO *, size_t *))                             \
    X(REQUIRED, int, IsIOError, (RedisModuleIO *))                                                 \
    X(REQUIRED, RedisModuleCtx *, GetContextFromIO, (RedisModuleIO *))                             \
    X(REQUIRED, void, EmitAOF, (RedisModuleIO *, const char *, const char *, ...))                 \
    X(REQUIRED, void, DigestAddStringBuffer, (RedisModuleDigest *, const char *, size_t))          \
    X(REQUIRED, void, DigestEndSequence, (RedisModuleDigest *))                                    \
    X(REQUIRED, int, RegisterInfoFunc, (RedisModuleCtx *, RedisModuleInfoFunc))                    \
    X(REQUIRED, int, InfoAddSection, (RedisModuleInfoCtx *, const char *))                         \
    X(REQUIRED, int, InfoAddFieldULongLong,                                                        \
      (RedisModuleInfoCtx *, const char *, unsigned long long))                                    \
    X(REQUIRED, float, GetUsedMemoryRatio, (void))                                                 \
    X(REQUIRED, RedisModuleBlockedClient *, BlockClient,                                           \
      (RedisModuleCtx *, RedisModuleCmdFunc, RedisModuleCmdFunc,                                   \
       void (*)(RedisModuleCtx *, void *), long long))                                             \
    X(REQUIRED, int, UnblockClient, (RedisModuleBlockedClient *, void *))                          \
    X(REQUIRED, int, IsBlockedReplyRequest, (RedisModuleCtx *))                                    \
    X(REQUIRED, void *, GetBlockedClientPrivateData, (RedisModuleCtx *))                           \
    X(REQUIRED, int, EventLoopAddOneShot, (void (*)(void *), void *))                              \
    X(REQUIRED, RedisModuleTimerID, CreateTimer,                                                   \
      (RedisModuleCtx *, long long, void (*)(RedisModuleCtx *, void *), void *))                   \
    X(REQUIRED, RedisModuleCtx *, GetDetachedThreadSafeContext, (RedisModuleCtx *))                \
    X(REQUIRED, int, AvoidReplicaTraffic, (void))                                                  \
    X(REQUIRED, int, RedactClientCommandArgument, (RedisModuleCtx *, int))                         \
    X(REQUIRED, void *, DefragAlloc, (RedisModuleDefragCtx *, void *))                             \
    X(REQUIRED, int, GetServerVersion, (void))                                                     \
    X(REQUIRED, int, RegisterStringConfig,                                                         \
      (RedisModuleCtx *, const char *, const char *, unsigned int, RedisModuleConfigGetStringFunc, \
       RedisModuleConfigSetStringFunc, RedisModuleConfigApplyFunc, void *))                        \
    X(REQUIRED, int, LoadConfigs, (RedisModuleCtx *))

#define X(need, type, name, arguments) extern type(*RedisModule_##name) arguments;
REDIS_API_MAP(X)
#undef X

/* Binds all functions; false if a required one is missing. */
_Bool redis_bind(RedisModuleCtx *ctx);

/* True if the command comes from a primary or from an AOF file.  The primary has decided with its
 * own settings and limits, so those of this server do not apply. */
_Bool redis_is_following(RedisModuleCtx *ctx);

#endif
