#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "weft/tests/kernels/cuda/device_cuda_test.h"
#include "weft/tests/kernels/cuda/rows_reference_cuda.h"
#include "weft/tests/kernels/cuda/sizes_cuda.h"

/// Shared by the tests of a GPU's ops.
namespace weft::cuda {

using test::Mirror;

inline constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

class OpsCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }

  Mirror<float> floats(std::int64_t count, float low = -1, float high = 1) {
    std::vector<float> all(static_cast<std::size_t>(count));
    std::uniform_real_distribution<float> uniform(low, high);
    for (float& value : all) value = uniform(engine_);
    return Mirror(std::move(all));
  }
  std::int32_t below(std::int32_t limit) {
    return static_cast<std::int32_t>(engine_() % static_cast<std::uint32_t>(limit));
  }
  Mirror<std::int32_t> integers(std::int64_t count, std::int32_t limit) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(count));
    for (std::int32_t& value : all) value = below(limit);
    return Mirror(std::move(all));
  }

  std::mt19937 engine_{1};
};

inline void expect_runs(const std::function<Status(Stream)>& op) {
  const char* error = test::run(op);
  ASSERT_EQ(error, nullptr) << error;
}

/// Rows on both sides; NaN wherever nothing was put.
class RowsPair {
 public:
  static RowsPair poisoned(std::int64_t count, std::int64_t width, DType dtype = DType::kF32) {
    const DeviceRows rows = shape(count, width, dtype);
    return {rows, poison(rows)};
  }
  static RowsPair random(std::int64_t count, std::int64_t width, DType dtype,
                         std::mt19937& engine) {
    std::normal_distribution<float> normal;
    return filled(count, width, dtype, [&] { return normal(engine); });
  }
  /// Row after row, without what lies between them.
  static RowsPair of(std::int64_t count, std::int64_t width, const std::vector<float>& numbers,
                     DType dtype = DType::kF32) {
    auto next = numbers.begin();
    return filled(count, width, dtype, [&] { return *next++; });
  }

  [[nodiscard]] DeviceRows host() { return with(bytes_.host.data()); }
  [[nodiscard]] DeviceRows device() const { return with(bytes_.device()); }

  /// The numbers of the device's first rows.
  [[nodiscard]] std::vector<double> fetch(std::int64_t count) {
    auto got = bytes_.fetch();
    const DeviceRows rows = with(got.data());
    std::vector<double> numbers;
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t i = 0; i < rows.width; ++i) numbers.push_back(reference::at(rows, r, i));
    }
    return numbers;
  }

  /// Compares the device's rows with the reference's; beyond the width both are unchanged.
  void expect_close(double tolerance) {
    auto got = bytes_.fetch();
    const DeviceRows rows = with(got.data());
    const DeviceRows wanted = host();
    // Half a unit in the last place, and what decides between two.
    const double unit = rows.dtype == DType::kF32 ? 0 : (rows.dtype == DType::kF16 ? 1e-3 : 8e-3);
    for (std::int64_t r = 0; r < rows.capacity; ++r) {
      for (std::int64_t i = 0; i < rows.stride; ++i) {
        const double want = reference::at(wanted, r, i);
        const double found = reference::at(rows, r, i);
        if (std::isnan(want) && std::isnan(found)) continue;
        ASSERT_NEAR(found, want, tolerance * std::max(1.0, std::abs(want)) + unit * std::abs(want))
            << "row " << r << ", column " << i << ", width " << rows.width;
      }
    }
  }

 private:
  RowsPair(const DeviceRows& rows, std::vector<std::byte> bytes)
      : rows_(rows), bytes_(std::move(bytes)) {}

  static RowsPair filled(std::int64_t count, std::int64_t width, DType dtype,
                         const std::function<float()>& next) {
    DeviceRows rows = shape(count, width, dtype);
    auto bytes = poison(rows);
    rows.data = bytes.data();
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t i = 0; i < width; ++i) reference::put(rows, r, i, next());
    }
    return {rows, std::move(bytes)};
  }
  static DeviceRows shape(std::int64_t count, std::int64_t width, DType dtype) {
    return {.dtype = dtype, .width = width, .stride = (width + 63) / 64 * 64, .capacity = count};
  }
  static std::vector<std::byte> poison(const DeviceRows& rows) {
    const std::int64_t bytes = rows.dtype == DType::kF32 ? 4 : 2;
    return std::vector<std::byte>(static_cast<std::size_t>(rows.capacity * rows.stride * bytes),
                                  std::byte{0xff});
  }
  [[nodiscard]] DeviceRows with(std::byte* data) const {
    DeviceRows rows = rows_;
    rows.data = data;
    return rows;
  }

  DeviceRows rows_;
  Mirror<std::byte> bytes_;
};

}  // namespace weft::cuda
