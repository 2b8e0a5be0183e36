#include "cost/roofline.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "test/support/random_slices.h"

namespace podsim {
namespace {

Parameters MakeChip() {
  Parameters chip;
  chip.hbm_bandwidth = BytesPerSecond(2e12);
  chip.chip_flops = {{"bf16", FlopsPerSecond(4e14)},
                     {"int8", FlopsPerSecond(8e14)}};
  return chip;
}

ComputeWork Work(std::optional<double> flops, std::optional<std::int64_t> hbm) {
  ComputeWork work;
  if (flops) work.flops = Flops(*flops);
  if (hbm) work.hbm = Bytes(*hbm);
  return work;
}

TEST_CASE("a roofline is the larger of flops/peak and bytes/bandwidth",
          "[cost]") {
  const Parameters chip = MakeChip();
  const auto time = [&](std::optional<double> flops,
                        std::optional<std::int64_t> hbm) {
    return RooflineTime(Work(flops, hbm), chip, "op").value();
  };
  CHECK(Near(time(8e12, {}), 8e12 / 4e14));
  CHECK(Near(time({}, 6'000'000), 6e6 / 2e12));
  CHECK(time({}, {}) == 0);
  CHECK(time(0, 0) == 0);
  // Ridge point: 4e14 / 2e12 = 200 flops per byte.
  CHECK(Near(time(199e6, 1'000'000), 1e6 / 2e12));  // memory bound
  CHECK(Near(time(201e6, 1'000'000), 201e6 / 4e14));
  CHECK(Near(time(200e6, 1'000'000), 5e-7));
}

TEST_CASE("the peak is that of the dtype", "[cost]") {
  ComputeWork work = Work(8e12, {});
  work.dtype = "int8";
  CHECK(Near(RooflineTime(work, MakeChip(), "op").value(), 8e12 / 8e14));
}

std::string ErrorOf(const ComputeWork& work, const Parameters& chip) {
  try {
    RooflineTime(work, chip, "step.json: /ops/0/compute");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("an unknown peak or bandwidth is an error with its remedy",
          "[cost]") {
  ComputeWork work = Work(8e12, {});
  work.dtype = "fp8";
  CHECK(ErrorOf(work, MakeChip()) ==
        "step.json: /ops/0/compute: the peak of dtype fp8 is not known for "
        "this generation (known: bf16, int8); set chip.flops.fp8, for example "
        "--set chip.flops.fp8=459TFLOP/s, or give a duration");
  Parameters bare;
  CHECK(ErrorOf(Work(1, {}), bare) ==
        "step.json: /ops/0/compute: the peak of dtype bf16 is not known for "
        "this generation; set chip.flops.bf16, for example --set "
        "chip.flops.bf16=459TFLOP/s, or give a duration");
  CHECK(ErrorOf(Work({}, 1), bare) ==
        "step.json: /ops/0/compute: the HBM bandwidth of this generation is "
        "not known; set hbm.bandwidth, for example --set "
        "hbm.bandwidth=2765GB/s, or give a duration");
  // What is not used need not be known.
  CHECK(ErrorOf(Work({}, {}), bare) == "no error");
}

}  // namespace
}  // namespace podsim
