#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "weft/kernels/adapter/adapter_expand.h"
#include "weft/kernels/adapter/adapter_shrink.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/kernels/op_fixture.h"

namespace weft {
namespace {

/// A pair in the form of the kernels, and its numbers as they are multiplied.
struct TestPair {
  std::vector<std::byte> a, b;
  std::vector<float> wide_a;  ///< [rank, K]
  std::vector<float> wide_b;  ///< [rank, outputs of all runs]
  AdapterPair pair;

  TestPair(std::int32_t rank, std::int64_t inputs, std::span<const AdapterRun> runs, DType dtype,
           float scale, Random& random) {
    const std::int64_t row = adapter_row(inputs);
    const std::int64_t rows =
        (rank + kAdapterRankBlock - 1) / kAdapterRankBlock * kAdapterRankBlock;
    a.resize(static_cast<std::size_t>(rows * row * size_of(dtype)));
    for (std::int64_t r = 0; r < rank; ++r) {
      for (std::int64_t k = 0; k < inputs; ++k)
        wide_a.push_back(put(a, r * row + k, dtype, random()));
    }
    std::int64_t panels = 0;
    for (const AdapterRun& run : runs) panels += run.panels();
    b.resize(static_cast<std::size_t>(panels * rank * kAdapterPanel * size_of(dtype)));
    for (std::int64_t r = 0; r < rank; ++r) {
      for (const AdapterRun& run : runs) {
        for (std::int64_t i = 0; i < run.outputs; ++i) {
          const std::int64_t panel = run.first_panel + i / kAdapterPanel;
          const std::int64_t at = (panel * rank + r) * kAdapterPanel + i % kAdapterPanel;
          wide_b.push_back(put(b, at, dtype, random()));
        }
      }
    }
    pair = {a.data(), b.data(), dtype, rank, scale};
  }

 private:
  static std::int64_t size_of(DType dtype) { return dtype == DType::kF32 ? 4 : 2; }
  static float put(std::vector<std::byte>& to, std::int64_t at, DType dtype, float value) {
    const std::uint16_t narrow = to_bf16(value);
    if (dtype == DType::kF32) {
      std::memcpy(to.data() + at * 4, &value, 4);
      return value;
    }
    std::memcpy(to.data() + at * 2, &narrow, 2);
    return from_bf16(narrow);
  }
};

/// A step of seven rows: four of one adapter, one without, and two of another, which changes only
/// the second of two tensors.
struct TestStep {
  static constexpr std::int64_t kRows = 7;
  static constexpr std::int64_t kRank = 16;
  static constexpr std::int32_t kRanks[2] = {5, 16};
  static constexpr std::int32_t kFirstSite = 1;  ///< another product has site 0

  std::int64_t inputs;
  std::vector<AdapterRun> runs;
  Random random{3};
  TestPair first, second, other;
  std::vector<AdapterPair> pairs, other_pairs;
  std::vector<std::int32_t> rows = {6, 0, 3, 1}, other_rows = {2, 5};
  std::vector<AdapterTask> tasks;
  Table in;

  TestStep(std::int64_t width, std::int64_t outputs, DType dtype)
      : inputs(width),
        runs({{.site = 1, .low = 0, .outputs = outputs, .first_output = 0},
              {.site = 2, .low = 16, .outputs = outputs + 3, .first_output = outputs}}),
        first(kRanks[0], width, std::span(runs).first(1), dtype, 0.5F, random),
        second(kRanks[1], width, std::span(runs).last(1), dtype, 2, random),
        other(kRanks[0], width, std::span(runs).last(1), dtype, -1, random),
        pairs({AdapterPair{}, first.pair, second.pair}),
        other_pairs({AdapterPair{}, AdapterPair{}, other.pair}),
        tasks({{rows, pairs.data()}, {other_rows, other_pairs.data()}}),
        in(kRows, width, random) {}

  AdapterShrinkParams shrink(Rows low) { return {in.rows(), low, tasks, kFirstSite, 2, kRank}; }
};

class AdapterTest : public OpTest {};

bool have_same_bits(std::span<const float> a, std::span<const float> b) {
  return test::same_bits(a.data(), b.data(), std::ssize(b));
}

void expect_shrunk(TestStep& step, std::span<const std::int32_t> rows, const TestPair& pair,
                   std::int64_t column, Table& low) {
  for (const std::int32_t row : rows) {
    std::vector<double> wanted;
    for (std::int64_t r = 0; r < pair.pair.rank; ++r) {
      double sum = 0;
      for (std::int64_t k = 0; k < step.inputs; ++k) {
        const float number = step.in.row(row)[static_cast<std::size_t>(k)];
        sum += double{pair.wide_a[static_cast<std::size_t>(r * step.inputs + k)]} * double{number};
      }
      wanted.push_back(double{pair.pair.scale} * sum);
    }
    const auto got = low.row(row).subspan(static_cast<std::size_t>(column), wanted.size());
    EXPECT_TRUE(is_close(got, wanted, 1e-6 * static_cast<double>(step.inputs)));
  }
}

TEST_P(AdapterTest, ShrinksEachRowByItsOwnAdapter) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t inputs : {1, 15, 16, 17, 70}) {
      TestStep step(inputs, 5, dtype);
      Table low(TestStep::kRows, 2 * TestStep::kRank);
      in_parts(3, [&](Share share) { adapter_shrink(step.shrink(low.rows()), share); });
      expect_shrunk(step, step.rows, step.first, 0, low);
      expect_shrunk(step, step.rows, step.second, 16, low);
      expect_shrunk(step, step.other_rows, step.other, 16, low);
      EXPECT_TRUE(std::isnan(low.row(4)[0])) << "a row without an adapter";
      EXPECT_TRUE(std::isnan(low.row(2)[0])) << "a tensor that the adapter does not change";
      EXPECT_TRUE(low.is_untouched_between_rows());
    }
  }
}

/// Returns the number that expanding adds to output `output` of a run of a pair.
double expanded(const TestPair& pair, const AdapterRun& run, std::span<const float> low,
                std::int64_t output) {
  double sum = 0;
  for (std::int64_t r = 0; r < pair.pair.rank; ++r) {
    sum += double{low[static_cast<std::size_t>(run.low + r)]} *
           double{pair.wide_b[static_cast<std::size_t>(r * run.outputs + output)]};
  }
  return sum;
}

void expect_expanded(TestStep& step, float scale, Table& low, Table* residual, Table& out) {
  for (std::int32_t row = 0; row < TestStep::kRows; ++row) {
    std::vector<double> wanted;
    for (std::size_t which = 0; which < step.runs.size(); ++which) {
      const AdapterRun& run = step.runs[which];
      const bool own = std::ranges::find(step.rows, row) != step.rows.end();
      const bool others = std::ranges::find(step.other_rows, row) != step.other_rows.end();
      for (std::int64_t i = 0; i < run.outputs; ++i) {
        const auto column = static_cast<std::size_t>(run.first_output + i);
        double value = residual == nullptr ? 0 : double{residual->row(row)[column]};
        if (own)
          value += scale * expanded(which == 0 ? step.first : step.second, run, low.row(row), i);
        if (others && which == 1) value += scale * expanded(step.other, run, low.row(row), i);
        wanted.push_back(value);
      }
    }
    EXPECT_TRUE(is_close(out.row(row), wanted, 1e-5)) << "row " << row;
  }
}

TEST_P(AdapterTest, ExpandsEachRowByItsOwnAdapter) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t outputs : {1, 16, 63, 150}) {
      TestStep step(8, outputs, dtype);
      const std::int64_t width = 2 * outputs + 3;
      Table low(TestStep::kRows, 2 * TestStep::kRank, step.random);
      Table residual(TestStep::kRows, width, step.random);
      Table out(TestStep::kRows, width);
      AdapterExpandParams params{low.rows(), residual.rows(), out.rows(),
                                 0.5F,       step.tasks,      step.runs};
      in_parts(3, [&](Share share) { adapter_expand(params, share); });
      expect_expanded(step, 0.5F, low, &residual, out);
      EXPECT_TRUE(have_same_bits(out.row(4), residual.row(4))) << "a row without an adapter";
      EXPECT_TRUE(out.is_untouched_between_rows());

      Table in_place = residual;
      params.residual = params.out = in_place.rows();
      adapter_expand(params, {});
      for (std::int64_t row = 0; row < TestStep::kRows; ++row)
        EXPECT_TRUE(have_same_bits(in_place.row(row), out.row(row)));
    }
  }
}

TEST_P(AdapterTest, LeavesMinusZeroWhereThereIsNothingToAdd) {
  TestStep step(8, 20, DType::kF32);
  Table low(TestStep::kRows, 2 * TestStep::kRank, step.random);
  Table out(TestStep::kRows, 43);
  adapter_expand({low.rows(), {}, out.rows(), 1, step.tasks, step.runs}, {});
  expect_expanded(step, 1, low, nullptr, out);
  for (const float number : out.row(4)) EXPECT_TRUE(number == 0 && std::signbit(number));
}

TEST_P(AdapterTest, ARowsBitsDoNotDependOnOtherRowsOrThreads) {
  TestStep step(70, 70, DType::kBF16);
  Table low(TestStep::kRows, 2 * TestStep::kRank);
  Table out(TestStep::kRows, 143);
  in_parts(4, [&](Share share) { adapter_shrink(step.shrink(low.rows()), share); });
  adapter_expand({low.rows(), {}, out.rows(), 1, step.tasks, step.runs}, {});
  for (const AdapterTask& task : step.tasks) {
    for (std::size_t i = 0; i < task.rows.size(); ++i) {
      const AdapterTask alone{task.rows.subspan(i, 1), task.pairs};
      Table own_low(TestStep::kRows, 2 * TestStep::kRank);
      Table own(TestStep::kRows, 143);
      AdapterShrinkParams params = step.shrink(own_low.rows());
      params.tasks = {&alone, 1};
      adapter_shrink(params, {});
      adapter_expand({own_low.rows(), {}, own.rows(), 1, {&alone, 1}, step.runs}, {});
      EXPECT_TRUE(have_same_bits(own.row(task.rows[i]), out.row(task.rows[i])));
    }
  }
}

TEST_P(AdapterTest, WrongParametersAreBugs) {
  TestStep step(8, 20, DType::kF32);
  Table low(TestStep::kRows, 2 * TestStep::kRank, step.random);
  Table out(TestStep::kRows, 43);
  step.rows[1] = TestStep::kRows;
  WEFT_EXPECT_BUG(adapter_shrink(step.shrink(low.rows()), {}), "a task's row is not there");
  step.rows[1] = 0;
  step.pairs[1].rank = 17;
  WEFT_EXPECT_BUG(adapter_shrink(step.shrink(low.rows()), {}), "a pair's rank");
  step.runs[1].outputs = 30;
  WEFT_EXPECT_BUG(adapter_expand({low.rows(), {}, out.rows(), 1, step.tasks, step.runs}, {}),
                  "a run outside of out");
}

WEFT_OP_TEST(AdapterTest);

}  // namespace
}  // namespace weft
