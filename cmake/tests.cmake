# Tests of the whole: they link every floor, run the program, or check the house itself.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.cpp ${PROJECT_SOURCE_DIR}/tests/golden/*_test.cpp)
heed_tests(whole heed_library ${sources})
if(TARGET whole_test AND TARGET heed)
  add_dependencies(whole_test heed)
endif()

# tools/golden/*.py ask for them; no other build does.
add_executable(golden_tokenizers EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tools/golden/marian_tokenizers.cpp)
target_link_libraries(golden_tokenizers PRIVATE heed_text heed_flags)
add_executable(golden_marian EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tools/golden/marian.cpp)
target_link_libraries(golden_marian PRIVATE heed_models heed_flags)
add_executable(golden_decoders EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tools/golden/decoders.cpp)
target_link_libraries(golden_decoders PRIVATE heed_models heed_flags)

# What the fuzzers are seeded with is read once by every build.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  heed_floors_of(${source} floors)
  add_executable(replay_${name} ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/support/replay.cpp)
  target_link_libraries(replay_${name} PRIVATE ${floors} heed_flags)
  add_test(NAME fuzz.${name}.corpus COMMAND replay_${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  set_tests_properties(fuzz.${name}.corpus PROPERTIES LABELS fuzz TIMEOUT 120)
endforeach()

# The rest looks at sources or at the finished program: once is enough, in the ordinary build.
if(HEED_SANITIZE OR HEED_FUZZ)
  return()
endif()

add_test(NAME house.includes_go_down COMMAND ${PROJECT_SOURCE_DIR}/tools/check-includes ${PROJECT_SOURCE_DIR})
add_test(NAME house.an_include_that_goes_up_is_rejected
         COMMAND ${PROJECT_SOURCE_DIR}/tests/check_includes_test.sh ${PROJECT_SOURCE_DIR}/tools/check-includes)
add_test(NAME house.install_deps COMMAND ${PROJECT_SOURCE_DIR}/tests/install_deps_test.sh
         ${PROJECT_SOURCE_DIR}/tools/install-deps)
add_test(NAME house.sources COMMAND ${PROJECT_SOURCE_DIR}/tests/sources_test.sh ${PROJECT_SOURCE_DIR}/tools)
add_test(NAME house.every_command_of_a_line COMMAND ${PROJECT_SOURCE_DIR}/tests/readme_script_test.sh
         ${PROJECT_SOURCE_DIR}/tests/readme_test.sh)
set_tests_properties(house.includes_go_down house.an_include_that_goes_up_is_rejected house.install_deps house.sources
                     house.every_command_of_a_line PROPERTIES LABELS house)

if(TARGET heed)
  foreach(readme README README.ko)
    add_test(NAME house.commands_of_${readme}
             COMMAND ${PROJECT_SOURCE_DIR}/tests/readme_test.sh ${PROJECT_SOURCE_DIR}/${readme}.md $<TARGET_FILE:heed>)
    set_tests_properties(house.commands_of_${readme} PROPERTIES LABELS house TIMEOUT 300)
  endforeach()
  add_test(NAME package.installed_and_used
           COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR} -D SOURCE=${PROJECT_SOURCE_DIR}
                   -D GENERATOR=${CMAKE_GENERATOR} -D COMPILER=${CMAKE_CXX_COMPILER} -D CONFIG=$<CONFIG>
                   -P ${PROJECT_SOURCE_DIR}/tests/package_test.cmake)
  set_tests_properties(package.installed_and_used PROPERTIES LABELS package TIMEOUT 300)
endif()
