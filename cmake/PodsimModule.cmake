# podsim_module(NAME SOURCES ... [DEPS ...] [LIBS ...]): the library podsim_NAME, one
# per folder of src/. DEPS are modules by their short names, as in NAME's row of the
# diagram in docs/architecture.md; LIBS are targets of other projects, used in the
# sources only:
#   podsim_module(engine SOURCES pod_model.cc DEPS schedule LIBS PkgConfig::SIMGRID)
function(podsim_module name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPS;LIBS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "podsim_module(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  list(TRANSFORM ARG_DEPS PREPEND podsim_)
  add_library(podsim_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(podsim_${name} PUBLIC podsim_options ${ARG_DEPS} PRIVATE ${ARG_LIBS})
endfunction()
