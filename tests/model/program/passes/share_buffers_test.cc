#include "weft/model/program/passes/share_buffers.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weft/model/program/operands.h"
#include "weft/model/program/passes/find_misused_buffer.h"
#include "weft/tests/fixture/value_program.h"

namespace weft {
namespace {

using test::ValueProgram;

template <class Wanted>
Wanted shared_op(const Program& program, std::size_t at) {
  return std::get<Wanted>(program.decode.ops.at(at));
}

TEST(ShareBuffersTest, AddsToTheStreamInItsOwnBuffer) {
  ValueProgram values;
  const BufferId x = values.embed("x");
  const BufferId added = values.linear(values.norm(x, "h"), "x", x);
  values.program.decode.result = values.norm(added, "x");
  const Program program = share_buffers(values.program);
  ASSERT_EQ(program.buffers.size(), 2U);
  EXPECT_EQ(program.buffers[0].name, "x");
  EXPECT_EQ(program.buffers[1].name, "h");
  EXPECT_EQ(shared_op<LinearOp>(program, 2).out, 0);
  EXPECT_EQ(shared_op<LinearOp>(program, 2).residual, 0);
  EXPECT_EQ(shared_op<NormOp>(program, 3).out, 0);
  EXPECT_EQ(program.decode.result, 0);
}

TEST(ShareBuffersTest, KeepsAValueThatIsReadLater) {
  ValueProgram values;
  const BufferId x = values.embed("x");
  const BufferId added = values.linear(values.norm(x, "h"), "x", x);
  values.program.decode.result = values.linear(added, "x", x);
  const Program program = share_buffers(values.program);
  EXPECT_EQ(program.buffers.size(), 3U);
  EXPECT_NE(shared_op<LinearOp>(program, 2).out, shared_op<LinearOp>(program, 2).residual);
  EXPECT_EQ(shared_op<LinearOp>(program, 3).out, 0) << "its last use";
}

TEST(ShareBuffersTest, KeepsTheHiddenStatesForApplications) {
  ValueProgram values;
  const BufferId x = values.embed("x");
  values.program.hidden_states = x;
  values.program.decode.result = values.norm(x, "x");
  EXPECT_EQ(share_buffers(values.program).buffers.size(), 2U);
}

TEST(ShareBuffersTest, KeepsAnInputThatAProductReadsWhileItWrites) {
  ValueProgram values;
  const BufferId x = values.embed("x");
  values.program.decode.result = values.linear(x, "x", x);
  EXPECT_EQ(share_buffers(values.program).buffers.size(), 2U);
}

TEST(ShareBuffersTest, KeepsValuesOfTwoNamesOrShapesApart) {
  ValueProgram values;
  values.norm(values.embed("x"), "h");
  EXPECT_EQ(share_buffers(values.program).buffers.size(), 2U);
  ValueProgram widths;
  const BufferId wide = widths.norm(widths.embed("x"), "x");
  widths.program.buffers[static_cast<std::size_t>(wide)].width = 8;
  EXPECT_EQ(share_buffers(widths.program).buffers.size(), 2U);
}

TEST(ShareBuffersTest, HasWhatAnOpChangesInPlaceInOneBuffer) {
  ValueProgram values;
  const BufferId part = values.embed("part", true);
  values.program.decode.result = values.all_reduce(part, "whole");
  const Program program = share_buffers(values.program);
  ASSERT_EQ(program.buffers.size(), 1U);
  EXPECT_FALSE(program.buffers[0].is_part);
  EXPECT_EQ(shared_op<AllReduceOp>(program, 1).values.before, 0);
  EXPECT_EQ(shared_op<AllReduceOp>(program, 1).values.after, 0);
}

/// Ops that read any of the values before them.
Program random_values(std::uint32_t seed) {
  std::mt19937 random(seed);
  ValueProgram values;
  std::vector<BufferId> known = {values.embed("x")};
  const auto any = [&] { return known[random() % known.size()]; };
  const auto name = [&] { return std::string(random() % 2 == 0 ? "x" : "h"); };
  for (int i = 0; i < 20; ++i) {
    const BufferId residual = random() % 2 == 0 ? any() : BufferId();
    const bool is_norm = random() % 2 == 0;
    known.push_back(is_norm ? values.norm(any(), name(), residual)
                            : values.linear(any(), name(), residual));
    if (known.size() > 4) known.erase(known.begin());  // no op reads it any more
  }
  const BufferId changed = known.back();
  known.back() = values.all_reduce(changed, name());
  values.program.decode.result = any();
  values.program.hidden_states = any();
  return values.program;
}

/// Runs both programs over buffers that hold the number of the value written last, and expects
/// that each op reads the values that it was written to read.
void expect_same_values(const Program& values, const Program& shared, std::uint32_t seed) {
  std::vector<BufferId> held(shared.buffers.size());
  const auto at = [&](BufferId buffer) -> BufferId& {
    return held[static_cast<std::size_t>(buffer)];
  };
  for (std::size_t op = 0; op < values.decode.ops.size(); ++op) {
    const std::vector<BufferUse> wanted = buffers_of(values.decode.ops[op]);
    const std::vector<BufferUse> used = buffers_of(shared.decode.ops[op]);
    ASSERT_EQ(wanted.size(), used.size());
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i].spec.reads()) {
        EXPECT_EQ(at(used[i].id), wanted[i].id) << "seed " << seed << ", op " << op;
      }
    }
    at(output_of(shared.decode.ops[op])) = output_of(values.decode.ops[op]);
  }
  EXPECT_EQ(at(shared.decode.result), values.decode.result) << "seed " << seed;
  EXPECT_EQ(at(shared.hidden_states), values.hidden_states) << "seed " << seed;
}

TEST(ShareBuffersTest, LosesNoValueInRandomPrograms) {
  std::size_t values_in_all = 0;
  std::size_t buffers_in_all = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Program values = random_values(seed);
    ASSERT_EQ(find_misused_buffer(values), "");
    const Program shared = share_buffers(values);
    expect_same_values(values, shared, seed);
    values_in_all += values.buffers.size();
    buffers_in_all += shared.buffers.size();
  }
  EXPECT_LT(buffers_in_all, values_in_all * 9 / 10);
}

}  // namespace
}  // namespace weft
