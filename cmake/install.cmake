# What is installed, and how others find it: by CMake (find_package) and by pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tamis)

install(FILES include/tamis.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Two sets of targets: who links the shared library needs nothing besides it, who links the
# static one needs libxxhash as well.
install(TARGETS tamis_static EXPORT tamis_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT tamis_static NAMESPACE tamis:: FILE tamis-static.cmake DESTINATION ${package_dir})
if(TAMIS_SHARED)
    install(TARGETS tamis EXPORT tamis_shared
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(EXPORT tamis_shared NAMESPACE tamis:: FILE tamis-shared.cmake
            DESTINATION ${package_dir})
endif()

configure_package_config_file(cmake/tamisConfig.cmake.in tamisConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 every minor version may change the API.
write_basic_package_version_file(tamisConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tamisConfig.cmake ${PROJECT_BINARY_DIR}/tamisConfigVersion.cmake
        DESTINATION ${package_dir})

# pkg-config wants directories below ${prefix}, so that a user can move the prefix; a packager
# may have made them absolute.
foreach(part INCLUDEDIR LIBDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${part}}")
        set(pc_${part} "${CMAKE_INSTALL_${part}}")
    else()
        set(pc_${part} "\${prefix}/${CMAKE_INSTALL_${part}}")
    endif()
endforeach()
if(TAMIS_XXHASH_INLINE)
    set(pc_requires_private "")
else()
    set(pc_requires_private "libxxhash")
endif()
# tamis_install_pc(TEMPLATE NAME): for pkg-config.  Where it goes is known when it is installed:
# `cmake --install BUILD --prefix ELSEWHERE` is not asked at configuration.  (A prefix relative to
# the file would do as well, but pkg-config would not know it for one of the system's own.)
function(tamis_install_pc template name)
    configure_file(${template} ${PROJECT_BINARY_DIR}/${name} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
        install(CODE "
            set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/${name}\")
            get_filename_component(prefix \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
            file(READ \"\${file}\" text)
            string(REGEX REPLACE \"^prefix=[^\n]*\" \"prefix=\${prefix}\" text \"\${text}\")
            file(WRITE \"\${file}\" \"\${text}\")")
    endif()
endfunction()
tamis_install_pc(cmake/tamis.pc.in tamis.pc)

if(TARGET tamis_cli)
    install(TARGETS tamis_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

foreach(section 1 3 5)
    file(GLOB pages CONFIGURE_DEPENDS doc/man/*.${section})
    if(pages)
        install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endif()
endforeach()

# Completions go where each shell looks for them.  zsh does not look below /usr/local where it looks
# for those of Debian's packages.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(zsh_directory zsh/vendor-completions)
else()
    set(zsh_directory zsh/site-functions)
endif()
function(install_completion file directory name)
    if(EXISTS ${PROJECT_SOURCE_DIR}/completions/${file})
        install(FILES completions/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${directory}
                RENAME ${name})
    endif()
endfunction()
install_completion(tamis.bash bash-completion/completions tamis)
install_completion(_tamis ${zsh_directory} _tamis)
install_completion(tamis.fish fish/vendor_completions.d tamis.fish)

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
