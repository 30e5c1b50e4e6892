# Compiler options of the whole project: language, warnings, sanitizers, coverage.

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

# tamis_compile(TARGET): C11 without extensions, all warnings, 64-bit file offsets on 32-bit
# machines.  No fused multiply-add (Clang's default where the machine has it): sizes and rates, and
# so the bytes of a filter, are the same on every machine.
function(tamis_compile target)
    set_target_properties(${target} PROPERTIES
                          C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
    target_compile_definitions(${target} PRIVATE _FILE_OFFSET_BITS=64)
    if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
        target_compile_options(${target} PRIVATE ${tamis_warnings} -ffp-contract=off)
    endif()
endfunction()
