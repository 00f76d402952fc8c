# How a floor, the program and their tests are built.
include(GNUInstallDirs)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc)
find_package(tomlplusplus REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(sentencepiece REQUIRED IMPORTED_TARGET GLOBAL sentencepiece)

# The flags of heed's own sources; programs that link heed do not inherit them.
add_library(heed_flags INTERFACE)
target_compile_options(heed_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # GCC 12 sees overlaps in std::string that are not there (bug 105651)
# -O3 pays where numbers are computed; elsewhere it would cost a third of the time to compile, and most of it in tests.
set(HEED_NUMERIC_FLOORS base kernels tensor nn)
target_compile_options(heed_flags INTERFACE $<$<CONFIG:Release>:$<TARGET_PROPERTY:HEED_OPTIMIZATION>>)
if(HEED_WERROR)
  target_compile_options(heed_flags INTERFACE -Werror)
endif()
# Three builds of every kernel: AVX-512, AVX2 and the baseline; Highway picks one at run time.
target_compile_definitions(heed_flags INTERFACE "HWY_DISABLED_TARGETS=(HWY_AVX3_DL|HWY_SSE4|HWY_SSSE3)")
if(HEED_FUZZ)
  # Nothing that is fuzzed is decided in a kernel, and they would take many times as long to compile.
  target_compile_options(heed_flags INTERFACE
    $<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:NAME>,heed_kernels>>:-fsanitize=fuzzer-no-link>)
endif()
if(HEED_SANITIZE)
  target_compile_options(heed_flags INTERFACE -fsanitize=${HEED_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  # Kernels are thousands of small inlined functions: with these checks they would take five times as long to compile.
  target_compile_options(heed_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:NAME>,heed_kernels>:-fno-sanitize=null,alignment,object-size>
    $<$<STREQUAL:$<TARGET_PROPERTY:NAME>,heed_kernels>:-fno-sanitize-address-use-after-scope>)
  target_link_options(heed_flags INTERFACE -fsanitize=${HEED_SANITIZE})
endif()

if(HEED_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# The order of the floors, from the ground up; tools/check-includes reads the same file.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS heed/floors.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/heed/floors.txt HEED_FLOORS)

# Stops the configuration when `floor` links one that is not below it.
function(heed_check_links floor)
  list(FIND HEED_FLOORS ${floor} height)
  if(height EQUAL -1)
    message(FATAL_ERROR "heed/floors.txt does not name the floor '${floor}'")
  endif()
  foreach(link IN LISTS ARGN)
    if(link MATCHES "^heed_(.+)$")
      list(FIND HEED_FLOORS ${CMAKE_MATCH_1} below)
      if(below EQUAL -1 OR NOT below LESS height)
        message(FATAL_ERROR "floor '${floor}' links '${CMAKE_MATCH_1}', which heed/floors.txt does not put below it")
      endif()
    endif()
  endforeach()
endfunction()

# Sources of heed/floor: `sources` without tests and main, `tests`, and `main`.
macro(heed_sources floor)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/heed/${floor}/*.cpp)
  set(tests ${sources})
  set(main ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER main INCLUDE REGEX "/main\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
endmacro()

# heed_floor(name LINK libs...): every source of heed/name, with the *_test.cpp beside them as one test program.
function(heed_floor name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  heed_check_links(${name} ${ARG_LINK})
  heed_sources(${name})
  set(scope PUBLIC)
  if(sources)
    add_library(heed_${name} STATIC ${sources})
    target_link_libraries(heed_${name} PRIVATE $<BUILD_INTERFACE:heed_flags>)
    if(NOT name IN_LIST HEED_NUMERIC_FLOORS)
      set_target_properties(heed_${name} PROPERTIES HEED_OPTIMIZATION -O2)
    endif()
  else()
    add_library(heed_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(heed_${name} ${scope} ${ARG_LINK})
  target_compile_features(heed_${name} ${scope} cxx_std_20)
  target_include_directories(heed_${name} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(heed_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(heed::${name} ALIAS heed_${name})
  heed_tests(${name} heed_${name} ${tests})
endfunction()

# heed_program(name floor LINK libs...): the command line, its parts as a library so that tests reach them.
function(heed_program name floor)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  heed_check_links(${floor} ${ARG_LINK})
  heed_sources(${floor})
  if(NOT main)
    return()
  endif()
  add_library(heed_${floor} STATIC ${sources})
  target_include_directories(heed_${floor} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(heed_${floor} PUBLIC HEED_VERSION="${PROJECT_VERSION}")
  target_link_libraries(heed_${floor} PUBLIC ${ARG_LINK} PRIVATE heed_flags)
  set_target_properties(heed_${floor} PROPERTIES HEED_OPTIMIZATION -O2)
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE heed_${floor} heed_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  heed_tests(${floor} heed_${floor} ${tests})
  if(TARGET ${floor}_test)
    add_dependencies(${floor}_test ${name})  # they run it
  endif()
endfunction()

# The lengths of the benchmark's batches as part of the program: it needs no file at run time.
function(heed_embed_batches target)
  foreach(preset TINY BASE)
    string(TOLOWER ${preset} name)
    set(table ${PROJECT_SOURCE_DIR}/bench/batches_${name}.tsv)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    file(READ ${table} HEED_BATCHES_${preset})
  endforeach()
  configure_file(heed/cli/bench_batches.cpp.in ${PROJECT_BINARY_DIR}/bench_batches.cpp @ONLY)
  target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/bench_batches.cpp)
endfunction()

# Floors whose fast paths depend on the CPU: their tests run a second time with the wider path switched off.
set(HEED_ISA_FLOORS kernels tensor nn models train)

# heed_tests(name library sources...): one program name_test, every case a test of its own, labelled with the floor.
function(heed_tests name library)
  if(NOT HEED_TESTS OR NOT ARGN)
    return()
  endif()
  add_executable(${name}_test ${ARGN})
  target_link_libraries(${name}_test PRIVATE ${library} heed_flags GTest::gtest_main)
  set_target_properties(${name}_test PROPERTIES HEED_OPTIMIZATION -O1)
  if(HEED_SANITIZE)
    # The floor is what runs long; its tests compile in half the time.
    target_compile_options(${name}_test PRIVATE -O0)
  endif()
  target_compile_definitions(${name}_test PRIVATE HEED_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             HEED_PROGRAM="${PROJECT_BINARY_DIR}/heed")
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS ${name} TIMEOUT 300)
  if(name IN_LIST HEED_ISA_FLOORS AND NOT HEED_SANITIZE)
    gtest_discover_tests(${name}_test TEST_PREFIX "avx2.${name}." DISCOVERY_MODE PRE_TEST TEST_LIST ${name}_avx2_tests
                         PROPERTIES LABELS avx2 ENVIRONMENT HEED_MAX_ISA=avx2 TIMEOUT 300)
  endif()
endfunction()

# The floors that a source outside heed/ includes, as libraries.
function(heed_floors_of source result)
  file(STRINGS ${source} includes REGEX "^#include \"heed/")
  string(REGEX MATCHALL "heed/[a-z]+/" floors "${includes}")
  list(REMOVE_DUPLICATES floors)
  list(TRANSFORM floors REPLACE "heed/([a-z]+)/" "heed_\\1")
  set(${result} ${floors} PARENT_SCOPE)
endfunction()

# Every tests/fuzz/NAME.cpp as a libFuzzer program fuzz_NAME; the target 'fuzzers' is all of them. They link only the
# floors they read.
function(heed_fuzzers)
  add_custom_target(fuzzers)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    heed_floors_of(${source} floors)
    add_executable(fuzz_${name} ${source})
    add_dependencies(fuzzers fuzz_${name})
    target_link_libraries(fuzz_${name} PRIVATE ${floors} heed_flags)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  endforeach()
endfunction()
