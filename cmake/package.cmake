# `cmake --install`: headers, libraries, the program, and what find_package(heed) needs.
include(CMakePackageConfigHelpers)

set(floors ${HEED_FLOORS})
list(REMOVE_ITEM floors cli)
list(TRANSFORM floors PREPEND heed_ OUTPUT_VARIABLE libraries)
foreach(floor IN LISTS floors)
  install(DIRECTORY heed/${floor} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed
          FILES_MATCHING PATTERN "*.h" REGEX "(-inl|testing|/test_[^/]*|_test|/golden)\\.h$" EXCLUDE)
endforeach()

set_target_properties(heed_library PROPERTIES EXPORT_NAME heed)
install(TARGETS heed_library ${libraries} EXPORT heed)
install(EXPORT heed NAMESPACE heed:: FILE heedTargets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heed)
if(TARGET heed)
  install(TARGETS heed)
endif()

configure_package_config_file(cmake/heedConfig.cmake.in ${PROJECT_BINARY_DIR}/heedConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heed)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heedConfig.cmake ${PROJECT_BINARY_DIR}/heedConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heed)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
