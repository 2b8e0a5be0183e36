// The verdict on results against a baseline, from times written down here.
#include "report/check.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace podsim {
namespace {

using Keys = std::vector<std::string>;

ResultPoint Timed(const std::string& request, double time_s) {
  ResultPoint point;
  point.where = request;
  point.request = request;
  point.identity = "id " + request;
  point.time_s = time_s;
  point.version = "1";
  point.parameters = {{"alpha", 1e-6}};
  return point;
}

ResultPoint Failed(const std::string& request, const std::string& error) {
  ResultPoint point = Timed(request, 0);
  point.time_s = {};
  point.error = error;
  point.parameters = {};
  return point;
}

CheckResult Compare(const std::vector<ResultPoint>& after,
                    const std::vector<ResultPoint>& before,
                    double tolerance = 0.01) {
  return CompareResults({.path = "new", .points = after},
                        {.path = "old", .points = before}, tolerance);
}

TEST_CASE("equal results pass, in any order", "[report]") {
  const CheckResult result = Compare({Timed("b", 2), Timed("a", 1)},
                                     {Timed("a", 1), Timed("b", 2)}, 0);
  CHECK(Passes(result, /*either_way=*/true));
  CHECK(CheckText(result, "0%", false) ==
        "2 points: 2 within 0%, 0 slower, 0 missing, 0 new\n");
}

TEST_CASE("slower beyond the tolerance fails, worst first", "[report]") {
  // 1 % of 1 us: 1.0099 us is within, 1.0101 us is not.
  const CheckResult result = Compare(
      {Timed("a", 1.0099e-6), Timed("b", 1.0101e-6), Timed("c", 3e-6),
       Failed("d", "too large")},
      {Timed("a", 1e-6), Timed("b", 1e-6), Timed("c", 2e-6), Timed("d", 5e-6)});
  CHECK_FALSE(Passes(result, false));
  CHECK(CheckText(result, "1%", false) ==
        "failed: d: 5 us -> too large\n"
        "slower: c: 2 us -> 3 us (x1.5)\n"
        "slower: b: 1 us -> 1.0101 us (x1.0101)\n"
        "4 points: 1 within 1%, 2 slower, 1 failed, 0 missing, 0 new\n");
}

TEST_CASE("times that differ in the last digits are printed apart",
          "[report]") {
  const CheckResult result =
      Compare({Timed("a", 1.00000001)}, {Timed("a", 1)}, 1e-9);
  CHECK(CheckText(result, "0.0000001%", false) ==
        "slower: a: 1000000 us -> 1000000.01 us (x1.00000001)\n"
        "1 point: 0 within 0.0000001%, 1 slower, 0 missing, 0 new\n");
}

TEST_CASE("faster beyond the tolerance is counted, and fails either way",
          "[report]") {
  // Faster: old > new x 1.01.
  const CheckResult result =
      Compare({Timed("a", 1e-6), Timed("b", 1e-6), Timed("c", 4e-6)},
              {Timed("a", 1.0099e-6), Timed("b", 2e-6), Failed("c", "broken")});
  CHECK(Passes(result, false));
  CHECK_FALSE(Passes(result, true));
  const std::string summary =
      "3 points: 1 within 1%, 0 slower, 2 faster, 0 missing, 0 new\n";
  CHECK(CheckText(result, "1%", false) == summary);
  CHECK(CheckText(result, "1%", true) ==
        "faster: b: 2 us -> 1 us (x0.5)\n"
        "faster: c: broken -> 4 us\n" +
            summary);
}

TEST_CASE("missing points fail, new ones are named", "[report]") {
  const CheckResult missing =
      Compare({Timed("a", 1)}, {Timed("a", 1), Timed("b", 1)});
  CHECK_FALSE(Passes(missing, false));
  CHECK(CheckText(missing, "1%", false) ==
        "missing: b\n2 points: 1 within 1%, 0 slower, 1 missing, 0 new\n");
  const CheckResult added =
      Compare({Timed("a", 1), Timed("b", 1)}, {Timed("a", 1)});
  CHECK(Passes(added, true));
  CHECK(CheckText(added, "1%", false) ==
        "new: b\n1 point: 1 within 1%, 0 slower, 0 missing, 1 new\n");
}

TEST_CASE("points without a time in both are neither slower nor within",
          "[report]") {
  const CheckResult result = Compare({Failed("a", "x"), Timed("b", 0)},
                                     {Failed("a", "y"), Timed("b", 0)});
  CHECK(Passes(result, true));
  CHECK(CheckText(result, "1%", false) ==
        "2 points: 1 within 1%, 0 slower, 1 without a time, 0 missing, "
        "0 new\n");
  CHECK_FALSE(Passes(Compare({Timed("b", 1e-9)}, {Timed("b", 0)}), false));
}

TEST_CASE("other parameters or another version are refused", "[report]") {
  const std::string remedy =
      "; the times do not compare. If the change is meant, record the baseline "
      "anew in the same commit\n";
  ResultPoint other = Timed("a", 9);
  other.parameters = {{"alpha", 2e-6}};
  const CheckResult parameter = Compare({other}, {Timed("a", 1)});
  CHECK_FALSE(Passes(parameter, false));
  CHECK(CheckText(parameter, "1%", false) ==
        "refused: a: alpha is 2e-06 in new and 1e-06 in old" + remedy);
  other.parameters = {{"alpha", 1e-6}, {"beta", 1}};
  CHECK(CheckText(Compare({other}, {Timed("a", 1)}), "1%", false) ==
        "refused: a: beta is 1 in new and not known in old" + remedy);
  other = Timed("b", 1);
  other.version = "2";
  ResultPoint third = Timed("c", 1);
  third.version = "2";
  CHECK(CheckText(Compare({Timed("a", 1), other, third},
                          {Timed("a", 1), Timed("b", 1), Timed("c", 1)}),
                  "1%", false) ==
        "refused: b: the version is 2 in new and 1 in old (and 1 more "
        "points)" +
            remedy);
}

TEST_CASE("files that do not say their version are compared, with a note",
          "[report]") {
  ResultPoint silent = Timed("a", 1);
  silent.version = {};
  silent.parameters = {};
  const CheckResult result = Compare({Timed("a", 1)}, {silent});
  CHECK(Passes(result, true));
  CHECK(CheckText(result, "1%", false) ==
        "note: old does not say its version and parameters: they were not "
        "compared\n"
        "1 point: 1 within 1%, 0 slower, 0 missing, 0 new\n");
}

TEST_CASE("points match by request if both files have them, else by identity",
          "[report]") {
  ResultPoint plain = Timed("x", 1);
  plain.identity = "id a";
  CHECK(Compare({Timed("a", 1)}, {plain}).missing == Keys{"x"});
  plain.request = {};
  CHECK(Passes(Compare({Timed("a", 1)}, {plain}), true));
  CHECK(Compare({Timed("b", 1)}, {plain}).missing == Keys{"id a"});
}

TEST_CASE("a point that stands twice has one time", "[report]") {
  CHECK(Passes(Compare({Timed("a", 1), Timed("a", 1)}, {Timed("a", 1)}), true));
  ResultPoint second = Timed("a", 2);
  second.where = "second";
  CHECK_THROWS_WITH(Compare({Timed("a", 1), second}, {Timed("a", 1)}),
                    "second: \"a\" stands in a too, with another time; remove "
                    "one of the two");
  CHECK_THROWS_WITH(Compare({Timed("a", 1)}, {}),
                    "old: the baseline has no points: nothing would be "
                    "checked");
}

}  // namespace
}  // namespace podsim
