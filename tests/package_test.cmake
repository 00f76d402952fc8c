# Installs heed into an empty folder, builds examples/train_small against it, and looks at what it prints.
# -D BUILD=, SOURCE=, GENERATOR=, COMPILER=, CONFIG=
set(work ${BUILD}/package-test)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}\nstatus ${result}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix --config ${CONFIG})
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/train_small -B ${work}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${work}/prefix -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Release)
if(output MATCHES "${SOURCE}/heed")
  message(FATAL_ERROR "the example looked into the source tree:\n${output}")
endif()
run(${CMAKE_COMMAND} --build ${work}/build)

run(${work}/build/train_small)
string(REGEX MATCHALL "loss [0-9]+\\.[0-9]+" losses "${output}")
list(LENGTH losses count)
if(count LESS 3)
  message(FATAL_ERROR "expected at least three lines with a loss, found:\n${output}")
endif()
list(GET losses 0 first)
list(GET losses -1 last)
string(REPLACE "loss " "" first ${first})
string(REPLACE "loss " "" last ${last})
# if() compares numbers as doubles; math() knows whole ones only.
if(NOT last LESS first)
  message(FATAL_ERROR "the loss did not fall: ${first} to ${last}\n${output}")
endif()

run(${work}/prefix/bin/heed --version)
message(STATUS "loss ${first} -> ${last}; ${output}")
