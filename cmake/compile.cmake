# Compiler options of the whole project: language, warnings, sanitizers, coverage.

# Fuzzing: sanitizers and coverage in everything, and assertions.  TAMIS_FUZZ_ENGINE, if set, is
# linked instead of libFuzzer, and CFLAGS select the instrumentation (tests/fuzz/build.sh).
set(TAMIS_FUZZ_ENGINE "" CACHE STRING "a fuzzing engine to link instead of clang's libFuzzer")
if(TAMIS_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "TAMIS_FUZZ needs clang, not ${CMAKE_C_COMPILER_ID}: add -DCMAKE_C_COMPILER=clang")
    endif()
    add_compile_options(-O2 -gline-tables-only -UNDEBUG)
    set(TAMIS_WERROR OFF)
    if(NOT TAMIS_FUZZ_ENGINE)
        set(TAMIS_SANITIZE fuzzer-no-link,address,undefined,float-cast-overflow)
        # Reporting every comparison takes two thirds of the time: only decoders do it (see
        # tamis_fuzz_comparisons).
        add_compile_options(-fno-sanitize-coverage=trace-cmp)
    endif()
endif()

set(tamis_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes
                   -Wmissing-prototypes)
# Under a sanitizer the compiler warns about its own instrumentation.
if(TAMIS_WERROR AND NOT TAMIS_SANITIZE)
    list(APPEND tamis_warnings -Werror)
endif()

if(TAMIS_SANITIZE)
    set(sanitizer_flags -fsanitize=${TAMIS_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    # Conversions of doubles that exceed the integer are not part of "undefined".
    if(TAMIS_SANITIZE MATCHES undefined)
        list(APPEND sanitizer_flags -fsanitize=float-cast-overflow)
    endif()
    add_compile_options(${sanitizer_flags})
    add_link_options(${sanitizer_flags})
endif()

# Counts lines and branches for tests/check_coverage.  Without inlining, a branch of the source is
# one branch.  Without assertions, whose second branch never runs.
if(TAMIS_COVERAGE)
    add_compile_options(--coverage -Og -fno-inline -DNDEBUG -DTAMIS_COVERAGE)
    add_link_options(--coverage)
endif()

# tamis_fuzz_comparisons(FILE...): the fuzzer learns the values that these files compare.
function(tamis_fuzz_comparisons)
    if(TAMIS_FUZZ AND NOT TAMIS_FUZZ_ENGINE)
        set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS
                                    -fsanitize-coverage=trace-cmp)
    endif()
endfunction()

# tamis_compile(TARGET): C11 without extensions, all warnings, 64-bit file offsets on 32-bit
# machines.  Assertions only in Debug builds: distributions leave the build type to None, which would
# keep them.  No fused multiply-add (Clang's default where the machine has it): sizes and rates, and
# so the bytes of a filter, are the same on every machine.
function(tamis_compile target)
    set_target_properties(${target} PROPERTIES
                          C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
    target_compile_definitions(${target} PRIVATE _FILE_OFFSET_BITS=64
                               $<$<NOT:$<CONFIG:Debug>>:NDEBUG>)
    if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
        target_compile_options(${target} PRIVATE ${tamis_warnings} -ffp-contract=off)
    endif()
endfunction()
