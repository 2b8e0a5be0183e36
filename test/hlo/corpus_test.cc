// Real files: what independent readers counted in them, and our own samples.
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "hlo/parser.h"
#include "hlo/replica_groups.h"
#include "test/hlo/hlo_texts.h"

namespace podsim {
namespace {

std::int64_t InstructionsIn(const HloModule& module) {
  std::int64_t count = module.open_instructions;
  for (const HloComputation& computation : module.computations) {
    count += std::ssize(computation.instructions);
  }
  return count;
}

void CheckModule(const HloModule& module, const JsonValue& expected) {
  const auto number = [&](const char* key) {
    return expected.Get(key).AsInteger(0, INT64_MAX);
  };
  const JsonValue name = expected.Get("module");
  CHECK(module.has_header == !name.is_null());
  if (module.has_header) CHECK(module.name == name.AsString());
  // The independent readers count the computation that is cut, too.
  CHECK(std::ssize(module.computations) + (module.open_instructions > 0) ==
        number("computations"));
  CHECK(InstructionsIn(module) == number("instructions"));
  CHECK(module.truncated.has_value() == expected.Get("truncated").AsBool());
  CHECK(module.entry.has_value() == !module.truncated);
  CHECK(module.replica_count == number("replica_count"));
  CHECK(module.num_partitions == number("num_partitions"));
  CHECK(module.is_scheduled == expected.Get("is_scheduled").AsBool());
  // Devices are inferred up to the largest id, unless the header names them.
  const auto largest = expected.Get("max_device_id");
  if (largest.is_number() && number("num_partitions") == 1) {
    CHECK(InferDevices(module).devices() == number("max_device_id") + 1);
  }
}

TEST_CASE(
    "real modules have the computations and instructions that "
    "independent readers counted",
    "[hlo][corpus]") {
  const std::string corpus = HloCorpus();
  if (corpus.empty()) return;
  const JsonValue index = JsonValue::ReadFile(corpus + "/expected.json");
  int compared = 0;
  for (const std::string& name : index.Keys()) {
    CAPTURE(name);
    const std::vector<HloModule> modules = ReadHlo(corpus + "/" + name);
    const auto expected = index.Get(name).Get("modules").Elements();
    REQUIRE(modules.size() == expected.size());
    for (std::size_t m = 0; m < modules.size(); ++m) {
      CAPTURE(m);
      CheckModule(modules[m], expected[m]);
      ++compared;
    }
  }
  CHECK(index.Keys().size() == HloFilesIn(corpus).size());
  CHECK(compared == 13);
}

TEST_CASE("the samples are read without a warning", "[hlo][samples]") {
  REQUIRE(HloSamples().size() == 8);
  for (const std::string& path : HloSamples()) {
    CAPTURE(path);
    const std::vector<HloModule> modules = ReadHlo(path);
    REQUIRE(modules.size() == 1);
    CHECK(modules[0].warnings.empty());
    CHECK_FALSE(modules[0].truncated);
    CHECK(modules[0].entry);
    CHECK(modules[0].is_scheduled ==
          (std::filesystem::path(path).stem() == "async_pairs"));
    CHECK(InferDevices(modules[0]).devices() == modules[0].num_partitions);
  }
}

}  // namespace
}  // namespace podsim
