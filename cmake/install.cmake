# Installation, the packages for CMake (find_package) and pkg-config, and the target uninstall.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tamis)

install(FILES include/tamis.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Two sets of targets: users of the shared library need nothing else, users of the static library
# need libxxhash as well.
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

# pkg-config expects directories below ${prefix}, so that users can move the prefix; packagers may
# set absolute ones.
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
# tamis_install_pc(TEMPLATE NAME): installs a file for pkg-config.  `cmake --install BUILD --prefix
# ELSEWHERE` decides the prefix after configuration, so the installation fills it in.  (A prefix
# relative to the file works too, but pkg-config does not recognise it as a system directory.)
# The loader searches neither a home directory nor /opt: there the flags include an rpath.
function(tamis_install_pc template name)
    configure_file(${template} ${PROJECT_BINARY_DIR}/${name} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
        install(CODE "
            set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/${name}\")
            get_filename_component(prefix \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
            file(READ \"\${file}\" text)
            string(REGEX REPLACE \"^prefix=[^\n]*\" \"prefix=\${prefix}\" text \"\${text}\")
            if(NOT prefix MATCHES \"^/(usr(/local)?)?\$\")
                string(REPLACE \"Libs: \" \"Libs: -Wl,-rpath,\\\${libdir} \" text \"\${text}\")
            endif()
            file(WRITE \"\${file}\" \"\${text}\")")
    endif()
endfunction()
tamis_install_pc(cmake/tamis.pc.in tamis.pc)

if(TARGET tamis_cli)
    install(TARGETS tamis_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The man pages and completions in the tree are generated; see tests/check_generated.
file(GLOB pages CONFIGURE_DEPENDS doc/man/*.1)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# Completions go where each shell searches for them.  zsh searches different directories for
# packages and for /usr/local.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(zsh_directory zsh/vendor-completions)
else()
    set(zsh_directory zsh/site-functions)
endif()
install(FILES completions/tamis.bash RENAME tamis
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES completions/_tamis DESTINATION ${CMAKE_INSTALL_DATADIR}/${zsh_directory})
install(FILES completions/tamis.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# README.md and doc/ stay in the source tree: their links lead to sources and examples.
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(tamis_is_top)
    add_custom_target(uninstall
                      COMMAND ${CMAKE_COMMAND} -D "build=${PROJECT_BINARY_DIR}"
                              -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
                      COMMENT "Remove the installed files" VERBATIM)
endif()
