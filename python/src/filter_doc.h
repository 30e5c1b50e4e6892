/* filter_doc.h - the docstrings of Filter; tests/test_docs.py runs their examples */
#ifndef TAMIS_PYTHON_FILTER_DOC_H
#define TAMIS_PYTHON_FILTER_DOC_H

#include <Python.h>

PyDoc_STRVAR(
    filter_doc,
    "Filter(capacity=0, fpr=None, kind=None, *, needs=(), bytes=0, bits=0, hashes=0, "
    "stage=None, seed=0, secret=None, shared=False, prehashed=False, key_type='bytes', "
    "fold_case=False, format=None)\n"
    "--\n"
    "\n"
    "A set that forgets its members: it only reports whether a key was added.\n"
    "\n"
    "\"No\" is always right.  \"Yes\" is wrong at a false positive rate that you "
    "choose.\n"
    "\n"
    ">>> seen = tamis.Filter(capacity=1_000_000, fpr=0.01)\n"
    ">>> seen.add('apple')\n"
    "True\n"
    ">>> 'apple' in seen\n"
    "True\n"
    ">>> 'pear' in seen\n"
    "False\n"
    "\n"
    "A key is str (its UTF-8 bytes: 'a' and b'a' are the same key), bytes, bytearray, "
    "memoryview, int\n"
    "(its 8 bytes, little-endian, from -2**63 to 2**64 - 1; -1 and 2**64 - 1 have the "
    "same bytes), or a\n"
    "tuple of str, bytes, int and float.  Any other type is a TypeError.  In a tuple the "
    "type counts: 'a' and\n"
    "b'a' differ, and so do 1, 1.0 and '1'; floats are compared by their bytes, so that "
    "0.0 and -0.0 differ;\n"
    "key_type and fold_case do not apply to fields.\n"
    "\n"
    "capacity   keys you expect; without it the filter grows\n"
    "fpr        false positive rate, between 0 and 1; by default 0.01, or what `bytes` "
    "allows\n"
    "kind       one of tamis.KINDS; by default the best for `needs`.  xor, fuse and "
    "ribbon filters are\n"
    "           built from all keys at once: see tamis.build()\n"
    "needs      what it must support: 'add', 'remove', 'grow', 'merge'; ArgumentError "
    "if it cannot\n"
    "bytes      use about this much memory for `capacity` keys, with the lowest false "
    "positive rate that fits;\n"
    "           not with fpr\n"
    "bits, hashes   bloom and counting: exactly this many bits (counters) and hash "
    "functions\n"
    "stage      growing: the kind of its stages\n"
    "seed       of the hash\n"
    "secret     16 secret bytes: nobody without them can choose keys that collide; not "
    "with prehashed\n"
    "shared     bloom and block: many threads may add at once; an add takes 20 to 40 ns longer\n"
    "prehashed  keys are ints that are 64-bit hashes already\n"
    "key_type   'i32', 'i64', 'u64', 'f32', 'f64' or 'utf16': keys have this type, "
    "which is stored with\n"
    "           the filter, as `tamis build --as` does\n"
    "fold_case  ASCII letters of keys are in lower case; stored with the filter\n"
    "format     of another system, one of tamis.FORMATS, with parameters such as "
    "'leveldb:bits=10'; needs a capacity\n"
    "\n"
    "len(), bool(), info() and repr() read the whole table.\n");

PyDoc_STRVAR(add_doc,
             "add($self, key, /)\n"
             "--\n"
             "\n"
             "Adds a key.  Returns True if it was definitely not in the filter before.\n"
             "\n"
             ">>> seen = tamis.Filter(1000)\n"
             ">>> seen.add('apple'), seen.add('apple')\n"
             "(True, False)\n");

PyDoc_STRVAR(update_doc,
             "update($self, /, *keys, threads=1)\n"
             "--\n"
             "\n"
             "Adds all keys of lists, other iterables, NumPy arrays, Arrow arrays or Arrow "
             "streams.  `threads`: see\n"
             "contains_many().\n"
             "\n"
             ">>> seen = tamis.Filter(1000)\n"
             ">>> seen.update(['apple', 'pear'], range(10))\n"
             ">>> 'pear' in seen, 9 in seen\n"
             "(True, True)\n");

PyDoc_STRVAR(remove_doc,
             "remove($self, key, /)\n"
             "--\n"
             "\n"
             "Removes one occurrence of a key; KeyError if it is not in the filter.\n"
             "\n"
             "Remove only keys that were added: removing a false positive damages other keys.  "
             "counting and\n"
             "cuckoo filters can remove, and some compatible formats.\n"
             "\n"
             ">>> seen = tamis.Filter(1000, kind='cuckoo')\n"
             ">>> seen.update(['apple'])\n"
             ">>> seen.remove('apple')\n"
             ">>> 'apple' in seen\n"
             "False\n");

PyDoc_STRVAR(discard_doc,
             "discard($self, key, /)\n"
             "--\n"
             "\n"
             "Removes one occurrence of a key if it is in the filter, and returns whether it "
             "was.\n"
             "\n"
             ">>> seen = tamis.Filter(1000, kind='counting')\n"
             ">>> seen.update(['apple'])\n"
             ">>> seen.discard('apple'), seen.discard('apple')\n"
             "(True, False)\n");

PyDoc_STRVAR(count_doc,
             "count($self, key, /)\n"
             "--\n"
             "\n"
             "Returns how often the key may be in the set: never less than it was added.\n"
             "\n"
             "Only counting and cuckoo filters count; others return 0 or 1.\n"
             "\n"
             ">>> seen = tamis.Filter(1000, kind='counting')\n"
             ">>> seen.update(['apple', 'apple'])\n"
             ">>> seen.count('apple')\n"
             "2\n");

PyDoc_STRVAR(hash_doc,
             "hash($self, key, /)\n"
             "--\n"
             "\n"
             "Returns the 64-bit hash that the filter computes of a key: see hash_many().\n"
             "\n"
             ">>> tamis.Filter(1000).hash('apple')\n"
             "5871078790819449344\n");

PyDoc_STRVAR(contains_many_doc,
             "contains_many($self, /, keys, *, threads=1, hashed=False, result=None)\n"
             "--\n"
             "\n"
             "Queries many keys and returns for each whether it is possibly in the set.\n"
             "\n"
             "`keys` is a list or any other iterable of keys, a NumPy array (integers, "
             "fixed-width strings and\n"
             "bytes, StringDType), or anything that exports Arrow data, such as a column of "
             "pyarrow, pandas,\n"
             "Polars or DuckDB.  The answer has the same shape: a list, a NumPy array of bool, "
             "or a tamis.Array,\n"
             "which is Arrow data as well.  `result` chooses another: 'list', 'numpy' or "
             "'arrow'.  Nulls stay\n"
             "null.  The GIL is released; `threads`, up to 65535, is the maximum number of "
             "threads; 0 and 1: only\n"
             "that of the caller.  `hashed`: the keys are 64-bit hashes from hash_many().\n"
             "\n"
             ">>> fruit = tamis.build(['apple', 'pear'])\n"
             ">>> fruit.contains_many(['apple', 'fig'])\n"
             "[True, False]\n");

PyDoc_STRVAR(add_many_doc,
             "add_many($self, /, keys, *, threads=1, hashed=False, result=None)\n"
             "--\n"
             "\n"
             "Adds many keys and returns for each whether it was new: see contains_many().\n"
             "\n"
             ">>> seen = tamis.Filter(1000)\n"
             ">>> seen.add_many(['apple', 'pear', 'apple'])\n"
             "[True, True, False]\n");

PyDoc_STRVAR(discard_many_doc,
             "discard_many($self, /, keys, *, threads=1, hashed=False, result=None)\n"
             "--\n"
             "\n"
             "Removes many keys and returns for each whether it was in the filter: see "
             "contains_many().\n"
             "\n"
             ">>> seen = tamis.Filter(1000, kind='counting')\n"
             ">>> seen.update(['apple'])\n"
             ">>> seen.discard_many(['apple', 'pear'])\n"
             "[True, False]\n");

PyDoc_STRVAR(hash_many_doc,
             "hash_many($self, /, keys, *, threads=1, result=None)\n"
             "--\n"
             "\n"
             "Returns the 64-bit hashes of many keys, for `hashed=True` in this filter and in "
             "any other with the\n"
             "same seed or secret.  Hash once to query several filters: see contains_many().\n"
             "\n"
             ">>> fruit = tamis.build(['apple', 'pear'])\n"
             ">>> fruit.contains_many(fruit.hash_many(['apple', 'fig']), hashed=True)\n"
             "[True, False]\n");

PyDoc_STRVAR(copy_doc,
             "copy($self, /)\n"
             "--\n"
             "\n"
             "Returns a copy in memory, which can be changed even if this filter is a read-only "
             "file.\n"
             "\n"
             "The copy of an instance of a subclass has the same attributes.\n");

PyDoc_STRVAR(convert_doc,
             "convert($self, /, kind=None, *, format=None)\n"
             "--\n"
             "\n"
             "Returns a copy as another kind (counting to bloom) or in another system's format.\n"
             "\n"
             ">>> seen = tamis.Filter(1000, kind='counting')\n"
             ">>> seen.convert('bloom').kind\n"
             "'bloom'\n");

PyDoc_STRVAR(open_doc,
             "open($type, /, path, *, format=None, part=None, secret=None, update=False, "
             "shared=False, map=True, verify=None, wait=None, threads=1)\n"
             "--\n"
             "\n"
             "Opens a file that holds one filter.  The path must be that of a regular file.\n"
             "\n"
             "format   of another system, where the content does not show it\n"
             "part     of a file that holds several: one name of Container.parts()\n"
             "secret   of a keyed filter\n"
             "update   open for changes, which commit() or the end of `with` writes back\n"
             "shared   many threads may add at once\n"
             "map      map the file, read-only; False reads it into memory, where it can be "
             "changed\n"
             "verify   when checksums are verified: 'touched' (each part when a query first "
             "touches it; the\n"
             "         default for a mapped file), 'all' or 'later' (not before verify(): do not "
             "trust answers\n"
             "         until it has returned)\n"
             "wait     seconds to wait while another process has the file locked; by default 60\n"
             "threads  that verify a whole table; 0 and 1: only that of the caller\n"
             "\n"
             "A mapped file must not be truncated: the operating system ends the process when a "
             "query touches a part\n"
             "that is missing.  Replacing the file, as save() does, is safe.  Open a file that "
             "other programs may\n"
             "truncate with map=False.\n"
             "\n"
             ">>> tamis.build(['apple', 'pear']).save('fruit.tamis')\n"
             ">>> fruit = tamis.Filter.open('fruit.tamis')\n"
             ">>> 'pear' in fruit\n"
             "True\n"
             ">>> with tamis.open('fruit.tamis', map=False) as fruit:\n"
             "...     fruit.kind\n"
             "'fuse'\n");

PyDoc_STRVAR(from_bytes_doc,
             "from_bytes($type, /, data, *, format=None, part=None, secret=None, shared=False)\n"
             "--\n"
             "\n"
             "Reads a filter from bytes, which may come from anywhere: damage is an exception.\n"
             "\n"
             ">>> fruit = tamis.Filter.from_bytes(tamis.build(['apple']).to_bytes())\n"
             ">>> 'apple' in fruit\n"
             "True\n");

PyDoc_STRVAR(restore_doc,
             "_restore($type, data, format, /)\n"
             "--\n"
             "\n"
             "Reads a filter from a pickle.\n");

PyDoc_STRVAR(save_doc,
             "save($self, path, *, replace=True)\n"
             "--\n"
             "\n"
             "Writes the filter to a file atomically: at any moment the file is the old or the "
             "new version.\n"
             "\n"
             "replace=False raises FileExistsError if the file exists.  The target of a "
             "symbolic link is replaced.  A\n"
             "pipe or device is not replaced: ArgumentError.\n"
             "\n"
             ">>> tamis.build(['apple', 'pear']).save('fruit.tamis')\n");

PyDoc_STRVAR(to_bytes_doc,
             "to_bytes($self, /)\n"
             "--\n"
             "\n"
             "Returns the filter as bytes, in its format; memoryview(filter) does not copy a "
             "mapped file.\n");

PyDoc_STRVAR(reduce_doc,
             "__reduce__($self, /)\n"
             "--\n"
             "\n"
             "For pickle.  A keyed filter is a TypeError: its secret must not be in the pickle.  "
             "The attributes of a\n"
             "subclass are kept.\n");

PyDoc_STRVAR(verify_doc,
             "verify($self, /)\n"
             "--\n"
             "\n"
             "Verifies the checksums of the whole table, if that has not been done: FormatError "
             "if it is damaged.\n"
             "\n"
             "After that every call but close() raises the same error.\n");

PyDoc_STRVAR(commit_doc,
             "commit($self, /)\n"
             "--\n"
             "\n"
             "Writes the changes to the file that was opened with update=True, atomically, and "
             "closes the filter.\n"
             "\n"
             "Returns the number of bytes written.  If it fails, the filter stays open with its "
             "changes, which save()\n"
             "can write to another path; after a ChangedError the file has them, and the filter "
             "is closed.\n"
             "\n"
             ">>> tamis.Filter(1000).save('seen.tamis')\n"
             ">>> with tamis.open('seen.tamis', update=True) as seen:\n"
             "...     seen.add('apple')       # written at the end of `with`, unless it raised\n"
             "True\n");

PyDoc_STRVAR(close_doc,
             "close($self, /)\n"
             "--\n"
             "\n"
             "Frees the memory or the mapped file.  Changes that were not committed are "
             "discarded.\n");

PyDoc_STRVAR(enter_doc,
             "__enter__($self, /)\n"
             "--\n"
             "\n"
             "Returns the filter.\n");

PyDoc_STRVAR(exit_doc,
             "__exit__($self, kind, error, traceback, /)\n"
             "--\n"
             "\n"
             "Closes the filter.  One that was opened with update=True is committed first, unless "
             "the block\n"
             "raised; if commit() fails, the filter stays open.\n");

PyDoc_STRVAR(sizeof_doc,
             "__sizeof__($self, /)\n"
             "--\n"
             "\n"
             "For sys.getsizeof(): the table counts, unless it is a mapped file.\n");

PyDoc_STRVAR(info_doc,
             "info($self, /)\n"
             "--\n"
             "\n"
             "Returns what `tamis info` shows, as a tamis.Info.\n"
             "\n"
             ">>> info = tamis.build(['apple', 'pear']).info()\n"
             ">>> info.kind, info.keys\n"
             "('fuse', 2)\n");

#endif
