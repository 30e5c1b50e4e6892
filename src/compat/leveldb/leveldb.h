/* leveldb.h - LevelDB: the format of one filter, and that of tables, which hold several */
#ifndef TAMIS_COMPAT_LEVELDB_LEVELDB_H
#define TAMIS_COMPAT_LEVELDB_LEVELDB_H

#include "compat/container.h"

extern const struct tamis__codec tamis__leveldb;
extern const struct tamis__container_format tamis__leveldb_table;

#endif
