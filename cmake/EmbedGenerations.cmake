# Writes a C++ source that embeds the generation files, byte for byte, as raw string literals.
#
#   cmake -DOUTPUT=embedded_generations.cpp "-DINPUTS=topologies/v2.json;topologies/v3.json" -P cmake/EmbedGenerations.cmake
#
# The files appear in the order given, each under the name "topologies/<file name>". In a custom command quote the
# list, "-DINPUTS=${files}", say VERBATIM, and name this script and the files under DEPENDS.

cmake_minimum_required(VERSION 3.25)

foreach(required IN ITEMS OUTPUT INPUTS)
  if("${${required}}" STREQUAL "")
    message(FATAL_ERROR "EmbedGenerations.cmake: needs -D${required}=")
  endif()
endforeach()

set(source "// Generated from topologies/*.json by cmake/EmbedGenerations.cmake.\n")
string(APPEND source
  "#include \"topology/embedded_generations.h\"\n"
  "\n"
  "namespace podsim {\n"
  "\n"
  "std::span<const EmbeddedGeneration> EmbeddedGenerations() {\n"
  "  static constexpr EmbeddedGeneration kFiles[] = {\n")

foreach(input IN LISTS INPUTS)
  if(NOT EXISTS "${input}")
    message(FATAL_ERROR "EmbedGenerations.cmake: ${input}: no such file")
  endif()
  # The text stays one quoted string from here on: as a list, its semicolons and brackets would be eaten.
  file(READ "${input}" text)
  string(FIND "${text}" ")json\"" end_of_literal)
  if(NOT end_of_literal EQUAL -1)
    message(FATAL_ERROR "EmbedGenerations.cmake: ${input}: contains )json\", which ends a raw string literal")
  endif()
  # file(READ) drops the carriage returns of CRLF line ends; the embedded text must be that of the file.
  file(SIZE "${input}" bytes_in_file)
  string(LENGTH "${text}" bytes_read)
  if(NOT bytes_read EQUAL bytes_in_file)
    message(FATAL_ERROR "EmbedGenerations.cmake: ${input}: has CRLF line ends; use LF")
  endif()
  cmake_path(GET input FILENAME name)
  string(APPEND source "      {\"topologies/${name}\", R\"json(${text})json\"},\n")
endforeach()

string(APPEND source
  "  };\n"
  "  return kFiles;\n"
  "}\n"
  "\n"
  "}  // namespace podsim\n")

file(WRITE "${OUTPUT}" "${source}")
