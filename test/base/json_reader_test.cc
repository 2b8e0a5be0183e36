#include "base/json_reader.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>

#include "test/support/error_of.h"

namespace podsim {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

JsonValue Parse(const std::string& text) {
  return JsonValue::ParseText(text, "f.json");
}

std::string SyntaxErrorOf(const std::string& text) {
  return ErrorOf([&text] { Parse(text); });
}

std::string Repeated(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

// A file or folder of the test's own, removed at the end.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / name) {
    std::filesystem::remove_all(path_);
  }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  ~TemporaryPath() { std::filesystem::remove_all(path_); }
  std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("values of the right type are read as they stand", "[base]") {
  const JsonValue root = Parse(
      R"({"s": "text", "t": true, "i": -3, "n": 2.5, "z": null,
          "a": [1, 2, 3], "o": {}})");
  CHECK(root.file() == "f.json");
  CHECK(root.is_object());
  CHECK(root.size() == 7);
  CHECK(root.Get("s").is_string());
  CHECK(root.Get("s").AsString() == "text");
  CHECK(root.Get("t").AsBool());
  CHECK(root.Get("i").is_number());
  CHECK(root.Get("i").AsInteger(-3, -3) == -3);
  CHECK(root.Get("i").AsNumber() == -3);
  CHECK(root.Get("n").AsNumber() == 2.5);
  CHECK(root.Get("z").is_null());
  CHECK(root.Get("a").is_array());
  CHECK(root.Get("a").size() == 3);
  CHECK(root.Get("a").Elements()[2].AsInteger(0, 9) == 3);
  CHECK(root.Get("o").size() == 0);
  CHECK_FALSE(root.Find("missing").has_value());
}

TEST_CASE("keys keep the order of the file", "[base]") {
  CHECK(Parse(R"({"z": 1, "a": 2, "m": 3})").Keys() ==
        std::vector<std::string>{"z", "a", "m"});
}

TEST_CASE("integers reach both ends of 64 bits", "[base]") {
  CHECK(Parse("9223372036854775807").AsInteger(kMin, kMax) == kMax);
  CHECK(Parse("-9223372036854775808").AsInteger(kMin, kMax) == kMin);
}

TEST_CASE("strings with units are read as quantities", "[base]") {
  const JsonValue root = Parse(R"(["64MiB", "0.25us", "90GB/s", "8TFLOP",
                                   "459TFLOP/s"])");
  const std::vector<JsonValue> values = root.Elements();
  CHECK(values[0].AsBytes() == Bytes(64 << 20));
  CHECK(values[1].AsDuration() == Seconds(0.25e-6));
  CHECK(values[2].AsBandwidth() == BytesPerSecond(90e9));
  CHECK(values[3].AsFlops() == Flops(8e12));
  CHECK(values[4].AsFlopRate() == FlopsPerSecond(459e12));
}

TEST_CASE("a value outlives the document it was taken from", "[base]") {
  const JsonValue value =
      Parse(R"({"a": [{"b": "text"}]})").Get("a").Elements()[0].Get("b");
  CHECK(value.AsString() == "text");
  CHECK(value.where() == "f.json: /a/0/b");
}

TEST_CASE("where is the file and the JSON pointer", "[base]") {
  const JsonValue root =
      Parse(R"({"ops": [{}, {"a/b": {"m~n": 1}}], "": 2, "\n\"": 3, "é": 4})");
  CHECK(root.where() == "f.json");
  CHECK(root.Get("ops").where() == "f.json: /ops");
  const JsonValue op = root.Get("ops").Elements()[1];
  CHECK(op.where() == "f.json: /ops/1");
  // RFC 6901: / is ~1 and ~ is ~0.
  CHECK(op.Get("a/b").Get("m~n").where() == "f.json: /ops/1/a~1b/m~0n");
  CHECK(root.Get("").where() == "f.json: /");
  CHECK(root.Get("\n\"").where() == R"(f.json: /\n\")");
  CHECK(root.Get("é").where() == "f.json: /é");
}

TEST_CASE("Fail throws at the value", "[base]") {
  CHECK_THROWS_WITH(Parse(R"({"a": 1})").Get("a").Fail("is wrong"),
                    "f.json: /a: is wrong");
  CHECK_THROWS_WITH(Parse("1").Fail("is wrong"), "f.json: is wrong");
}

TEST_CASE("a value of the wrong type is an error at its pointer", "[base]") {
  const JsonValue root = Parse(
      R"({"n": 90, "s": "x", "o": {"k": [1, null]}, "f": 3.0, "u": "90Gbps"})");
  const JsonValue n = root.Get("n");
  const JsonValue s = root.Get("s");
  const JsonValue o = root.Get("o");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {ErrorOf([&] { n.AsString(); }), "/n: expected a string, got 90"},
      {ErrorOf([&] { n.AsBool(); }), "/n: expected true or false, got 90"},
      {ErrorOf([&] { s.AsNumber(); }), R"(/s: expected a number, got "x")"},
      {ErrorOf([&] { o.Elements(); }),
       R"(/o: expected an array, got {"k":[1,null]})"},
      {ErrorOf([&] { n.Keys(); }), "/n: expected an object, got 90"},
      {ErrorOf([&] { n.Find("k"); }), "/n: expected an object, got 90"},
      {ErrorOf([&] { o.Get("k").Get("k"); }),
       "/o/k: expected an object, got [1,null]"},
      {ErrorOf([&] { o.Get("k").RejectUnknownKeys({"k"}); }),
       "/o/k: expected an object, got [1,null]"},
      {ErrorOf([&] { s.size(); }),
       R"(/s: expected an array or an object, got "x")"},
      {ErrorOf([&] { o.Get("k").Elements()[1].AsString(); }),
       "/o/k/1: expected a string, got null"},
      {ErrorOf([&] { n.AsBytes(); }),
       R"(/n: expected a string with a unit such as "64MiB", got 90)"},
      {ErrorOf([&] { n.AsDuration(); }),
       R"(/n: expected a string with a unit such as "1us", got 90)"},
      {ErrorOf([&] { n.AsBandwidth(); }),
       R"(/n: expected a string with a unit such as "90GB/s", got 90)"},
      {ErrorOf([&] { n.AsFlops(); }),
       R"(/n: expected a string with a unit such as "8TFLOP", got 90)"},
      {ErrorOf([&] { n.AsFlopRate(); }),
       R"(/n: expected a string with a unit such as "459TFLOP/s", got 90)"},
      {ErrorOf([&] { root.Get("u").AsBandwidth(); }),
       R"(/u: "90Gbps" is ambiguous; write "90GB/s" or "90Gbit/s")"},
      {ErrorOf([&] { o.Get("x"); }), R"(/o: missing key "x")"},
  };
  for (const auto& [error, expected] : rows) {
    CHECK(error == "f.json: " + expected);
  }
  CHECK_THROWS_WITH(root.Get("x"), R"(f.json: missing key "x")");
}

TEST_CASE("an integer outside of its range or with a point is an error",
          "[base]") {
  const auto error = [](const std::string& text, std::int64_t min,
                        std::int64_t max) {
    return ErrorOf([&] { Parse(text).AsInteger(min, max); });
  };
  const std::string expected = "f.json: expected an integer from 1 to 16, got ";
  CHECK(error("-1", 1, 16) == expected + "-1");
  CHECK(error("17", 1, 16) == expected + "17");
  CHECK(error("18446744073709551615", 1, 16) ==
        expected + "18446744073709551615");
  CHECK(error("1e30", 1, 16) == expected + "1e+30");
  CHECK(error("2.5", 1, 16) == expected + "2.5");
  CHECK(error("3.0", 1, 16) == expected + "3.0; write 3");
  CHECK(error("1e1", 1, 16) == expected + "10.0; write 10");
  CHECK(error("20.0", 1, 16) == expected + "20.0");
  CHECK(error("\"4\"", 1, 16) == expected + "\"4\"");
  CHECK(error("0", 1, kMax) ==
        "f.json: expected an integer of at least 1, got 0");
  CHECK(error("18446744073709551615", kMin, kMax) ==
        "f.json: expected an integer, got 18446744073709551615");
}

TEST_CASE("an unknown key is an error at its own pointer", "[base]") {
  const JsonValue op =
      Parse(R"({"ops": [{"id": 1, "byte": 2}]})").Get("ops").Elements()[0];
  CHECK_THROWS_WITH(op.RejectUnknownKeys({"id", "bytes", "axes"}),
                    "f.json: /ops/0/byte: unknown key; did you mean "
                    "\"bytes\"? (known: id, bytes, axes)");
  CHECK_THROWS_WITH(op.RejectUnknownKeys({"id", "collective"}),
                    "f.json: /ops/0/byte: unknown key (known: id, collective)");
  CHECK_THROWS_WITH(op.RejectUnknownKeys({}),
                    "f.json: /ops/0/id: unknown key (known: none)");
  CHECK_NOTHROW(op.RejectUnknownKeys({"byte", "id"}));
  const std::vector<std::string> known = {"id", "byte"};
  CHECK_NOTHROW(op.RejectUnknownKeys(known));
}

TEST_CASE("an excerpt is compact JSON of at most 60 characters", "[base]") {
  CHECK(Parse(R"({ "a" : [ 1, "x" ] })").Excerpt() == R"({"a":[1,"x"]})");
  const std::string text(100, 'x');
  CHECK(Parse('"' + text + '"').Excerpt() == '"' + text.substr(0, 56) + "...");
}

TEST_CASE("a syntax error has line and column", "[base]") {
  struct Row {
    std::string text;
    std::string error;
  };
  const Row row = GENERATE(
      Row{"{",
          ":1:2: syntax error while parsing object key - unexpected end "
          "of input; expected string literal"},
      Row{"[1,\n 2,\n  tru]",
          ":3:6: syntax error while parsing value - invalid literal"},
      Row{"[1,]",
          ":1:4: syntax error while parsing value - unexpected ']'; "
          "expected '[', '{', or a literal"},
      Row{"{} x",
          ":1:4: syntax error while parsing value - invalid literal; "
          "expected end of input"},
      Row{R"({"a": 1 "b"})",
          ":1:11: syntax error while parsing object - "
          "unexpected string literal; expected '}'"},
      Row{"{a: 1}",
          ":1:2: syntax error while parsing object key - invalid "
          "literal; expected string literal"},
      Row{"NaN", ":1:1: syntax error while parsing value - invalid literal"},
      Row{"\n[-Infinity]",
          ":2:3: syntax error while parsing value - invalid "
          "number; expected digit after '-'"},
      Row{"01",
          ":1:2: syntax error while parsing value - unexpected number "
          "literal; expected end of input"},
      Row{"[1] // one",
          ":1:5: syntax error while parsing value - invalid "
          "literal; expected end of input"},
      Row{"\"\xFF\"",
          ":1:2: syntax error while parsing value - invalid "
          "string: ill-formed UTF-8 byte"},
      Row{"\"\xC3",
          ":1:3: syntax error while parsing value - invalid string: "
          "ill-formed UTF-8 byte"},
      Row{"\xFF", ":1:1: syntax error while parsing value - invalid literal"},
      Row{"\"a\nb\"",
          ":1:3: syntax error while parsing value - invalid string: control "
          "character U+000A (LF) must be escaped to \\u000A or \\n"},
      Row{R"("\ud800")",
          ":1:8: syntax error while parsing value - invalid string: surrogate "
          "U+D800..U+DBFF must be followed by U+DC00..U+DFFF"},
      Row{"[\"open",
          ":1:7: syntax error while parsing value - invalid string: "
          "missing closing quote"},
      Row{"", ": empty file"}, Row{" \n", ": empty file"},
      Row{std::string("{}\0", 3),
          ": contains a zero byte, expected UTF-8 text"});
  CHECK(SyntaxErrorOf(row.text) == "f.json" + row.error);
}

TEST_CASE("a byte order mark is skipped", "[base]") {
  CHECK(Parse("\xEF\xBB\xBF{}").is_object());
}

TEST_CASE("a key that stands twice is an error, wherever it stands", "[base]") {
  CHECK(SyntaxErrorOf(R"({"a": 1, "a": 2})") ==
        "f.json: /a: the key stands twice");
  CHECK(
      SyntaxErrorOf(R"([0, {"b": [{"c": 1}, {"d": {}, "c~": 2, "c~": 3}]}])") ==
      "f.json: /1/b/1/c~0: the key stands twice");
  // The same key in two objects, or as a key inside of its value.
  CHECK(SyntaxErrorOf(R"([{"a": {"a": 1}}, {"a": 1}])") == "no error");
  CHECK(SyntaxErrorOf(R"({"a": 1, "\u0061": 2})") ==
        "f.json: /a: the key stands twice");
}

TEST_CASE("a number outside of double range is an error", "[base]") {
  CHECK(SyntaxErrorOf(R"({"a": [1, 1e400]})") ==
        "f.json: /a/1: number out of range: 1e400");
  CHECK(SyntaxErrorOf(R"({"a": {"b": -1e400}})") ==
        "f.json: /a/b: number out of range: -1e400");
  CHECK(SyntaxErrorOf("1e400") == "f.json: number out of range: 1e400");
  CHECK(SyntaxErrorOf(std::string(400, '9')) ==
        "f.json: number out of range: " + std::string(57, '9') + "...");
}

TEST_CASE("64 levels are read, 65 are an error", "[base]") {
  CHECK(SyntaxErrorOf(Repeated("[", 64) + Repeated("]", 64)) == "no error");
  const std::string too_deep =
      "f.json: " + Repeated("/0", 64) + ": nested deeper than 64 levels";
  CHECK(SyntaxErrorOf(Repeated("[", 65) + Repeated("]", 65)) == too_deep);
  CHECK(SyntaxErrorOf(Repeated("[", 1'000'000)) == too_deep);
  CHECK(SyntaxErrorOf(Repeated("{\"a\":", 1'000'000)) ==
        "f.json: " + Repeated("/a", 64) + ": nested deeper than 64 levels");
}

TEST_CASE("any cut of a good text and any changed byte is read or an error",
          "[base][property]") {
  const std::string good =
      R"({"a": [1, -2.5e3, "x\u00e9\n", true], "é": {"b": null, "c": {}}})";
  for (std::size_t i = 0; i < good.size(); ++i) {
    CHECK(SyntaxErrorOf(good.substr(0, i)) != "no error");
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = good;
      changed[i] = static_cast<char>(byte);
      CHECK_NOTHROW(SyntaxErrorOf(changed));
    }
  }
}

TEST_CASE("a large object is read in time that grows with its size", "[base]") {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += '"' + std::to_string(i) + R"(":0,)";
  const JsonValue root = Parse(text + R"("last":"x"})");
  CHECK(root.size() == 200'001);
  CHECK(root.Get("last").AsString() == "x");
}

TEST_CASE("a file is read whole", "[base]") {
  const TemporaryPath path("podsim_json_reader_test.json");
  const std::string text(200'000, 'x');
  std::ofstream(path.text()) << "[\"" << text << "\"]\n";
  const JsonValue root = JsonValue::ReadFile(path.text());
  CHECK(root.file() == path.text());
  CHECK(root.Elements()[0].AsString() == text);
  CHECK(root.Elements()[0].where() == path.text() + ": /0");
}

TEST_CASE("a path that cannot be read is an error with the reason", "[base]") {
  const TemporaryPath path("podsim_json_reader_test");
  CHECK_THROWS_WITH(
      JsonValue::ReadFile(path.text()),
      path.text() + ": cannot be read: No such file or directory");
  CHECK_THROWS_WITH(JsonValue::ReadFile("-"),
                    "-: cannot be read: No such file or directory");
  std::filesystem::create_directory(path.text());
  CHECK_THROWS_WITH(JsonValue::ReadFile(path.text()),
                    path.text() + ": is a directory, expected a file");
  CHECK_THROWS_WITH(JsonValue::ReadFile("/dev/null"), "/dev/null: empty file");
}

}  // namespace
}  // namespace podsim
