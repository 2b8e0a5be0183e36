# Writes a C++ source that embeds the parts of the HTML report, byte for byte, as raw string literals.
#
#   cmake -DOUTPUT=html_assets.cc "-DINPUTS=report.html;report.js" -P cmake/EmbedHtml.cmake
#
# Each appears under its file name. In a custom command quote the list, say VERBATIM, and name this script and the
# files under DEPENDS.

cmake_minimum_required(VERSION 3.25)

foreach(required IN ITEMS OUTPUT INPUTS)
  if("${${required}}" STREQUAL "")
    message(FATAL_ERROR "EmbedHtml.cmake: needs -D${required}=")
  endif()
endforeach()

set(source "// Generated from src/report/html/ by cmake/EmbedHtml.cmake.\n")
string(APPEND source
  "#include \"report/html_assets.h\"\n"
  "\n"
  "namespace podsim {\n"
  "\n"
  "std::span<const HtmlAsset> HtmlAssets() {\n"
  "  static constexpr HtmlAsset kFiles[] = {\n")

foreach(input IN LISTS INPUTS)
  # One quoted string from here on: as a list, its semicolons and brackets would be eaten.
  file(READ "${input}" text)
  string(FIND "${text}" ")html\"" end_of_literal)
  if(NOT end_of_literal EQUAL -1)
    message(FATAL_ERROR "EmbedHtml.cmake: ${input}: contains )html\", which ends a raw string literal")
  endif()
  file(SIZE "${input}" bytes_in_file)
  string(LENGTH "${text}" bytes_read)
  if(NOT bytes_read EQUAL bytes_in_file)
    message(FATAL_ERROR "EmbedHtml.cmake: ${input}: has CRLF line ends; use LF")
  endif()
  cmake_path(GET input FILENAME name)
  string(APPEND source "      {\"${name}\", R\"html(${text})html\"},\n")
endforeach()

string(APPEND source
  "  };\n"
  "  return kFiles;\n"
  "}\n"
  "\n"
  "}  // namespace podsim\n")

file(WRITE "${OUTPUT}" "${source}")
