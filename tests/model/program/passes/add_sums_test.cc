#include "weft/model/program/passes/add_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/model/program/passes/find_misused_buffer.h"
#include "weft/tests/fixture/value_program.h"

namespace weft {
namespace {

using test::ValueProgram;
using testing::ElementsAre;

/// One of two ranks.
ValueProgram values_of_rank(std::int32_t rank) {
  ValueProgram values;
  values.program.part.ranks = 2;
  values.program.part.rank = rank;
  return values;
}

/// The program with its sums; their values are checked to be written once.
Program with_sums(const ValueProgram& values) {
  EXPECT_EQ(find_misused_buffer(values.program), "");
  Program program = add_sums(values.program);
  EXPECT_EQ(find_misused_buffer(program), "");
  return program;
}

std::vector<std::string_view> op_names_of(const Program& program) {
  std::vector<std::string_view> names;
  for (const Op& op : program.decode.ops) {
    names.push_back(std::visit([](const auto& one) { return one.kTraits.name; }, op));
  }
  return names;
}

template <class Wanted>
const Wanted& op_at(const Program& program, std::size_t at) {
  return std::get<Wanted>(program.decode.ops.at(at));
}

TEST(AddSumsTest, SumsUpAPartBehindTheOpThatWritesIt) {
  ValueProgram values = values_of_rank(0);
  const BufferId x = values.embed("x", true);
  values.norm(x, "h");
  const Program program = with_sums(values);
  EXPECT_THAT(op_names_of(program), ElementsAre("embed", "all_reduce", "norm"));
  EXPECT_EQ(op_at<AllReduceOp>(program, 1).values.before, x);
  EXPECT_EQ(op_at<NormOp>(program, 2).in, op_at<AllReduceOp>(program, 1).values.after);
}

/// Attention and MLP read the same, and each adds its part to the stream.
ValueProgram parallel_layer_of(std::int32_t rank) {
  ValueProgram values = values_of_rank(rank);
  const BufferId x = values.embed("x");
  const BufferId h = values.norm(x, "h");
  const BufferId attention = values.linear(h, "x", x, true);
  values.program.decode.result = values.linear(h, "x", attention, true);
  return values;
}

TEST(AddSumsTest, SumsUpOnceWhereAPartIsAddedToAPart) {
  const ValueProgram values = parallel_layer_of(0);
  const Program program = with_sums(values);
  EXPECT_THAT(op_names_of(program), ElementsAre("embed", "norm", "linear", "linear", "all_reduce"));
  EXPECT_EQ(op_at<LinearOp>(program, 2).residual, 0) << "the stream is the first rank's to add";
  EXPECT_EQ(op_at<LinearOp>(program, 3).residual, 2) << "its own part";
  EXPECT_EQ(op_at<AllReduceOp>(program, 4).values.before, values.program.decode.result);
  EXPECT_EQ(program.decode.result, op_at<AllReduceOp>(program, 4).values.after);
}

TEST(AddSumsTest, LetsTheFirstRankAloneAddAWholeValue) {
  const Program program = with_sums(parallel_layer_of(1));
  EXPECT_THAT(op_names_of(program), ElementsAre("embed", "norm", "linear", "linear", "all_reduce"));
  EXPECT_EQ(op_at<LinearOp>(program, 2).residual, kAbsent);
  EXPECT_EQ(op_at<LinearOp>(program, 3).residual, 2) << "each rank adds its own part";
}

TEST(AddSumsTest, SumsUpAPartThatIsNotOnlyAdded) {
  for (const std::int32_t rank : {0, 1}) {
    ValueProgram values = values_of_rank(rank);
    const BufferId attention = values.linear(values.embed("e"), "x", kAbsent, true);
    const BufferId h = values.norm(attention, "h");
    values.program.decode.result = values.linear(h, "x", attention, true);
    const Program program = with_sums(values);
    EXPECT_THAT(op_names_of(program),
                ElementsAre("embed", "linear", "all_reduce", "norm", "linear", "all_reduce"));
    const BufferId sum = op_at<AllReduceOp>(program, 2).values.after;
    EXPECT_EQ(op_at<NormOp>(program, 3).in, sum);
    EXPECT_EQ(op_at<LinearOp>(program, 4).residual, rank == 0 ? sum : BufferId());
  }
}

TEST(AddSumsTest, SumsUpAPartThatIsAddedToAWholeValue) {
  for (const std::int32_t rank : {0, 1}) {
    ValueProgram values = values_of_rank(rank);
    const BufferId attention = values.linear(values.embed("e"), "x", kAbsent, true);
    values.program.decode.result = values.linear(0, "x", attention);
    const Program program = with_sums(values);
    EXPECT_THAT(op_names_of(program), ElementsAre("embed", "linear", "all_reduce", "linear"));
    EXPECT_EQ(op_at<LinearOp>(program, 3).residual, op_at<AllReduceOp>(program, 2).values.after);
  }
}

TEST(AddSumsTest, TellsWhereTheHeadBeginsBehindTheSums) {
  ValueProgram values = values_of_rank(0);
  const BufferId x = values.embed("x", true);
  values.program.hidden_states = x;
  values.program.first_head_op = 1;
  values.program.decode.result = values.linear(x, "logits");
  const Program program = with_sums(values);
  EXPECT_THAT(op_names_of(program), ElementsAre("embed", "all_reduce", "linear"));
  EXPECT_EQ(program.first_head_op, 2U);
  EXPECT_EQ(program.hidden_states, op_at<AllReduceOp>(program, 1).values.after);
}

TEST(AddSumsTest, LeavesAProgramWithoutPartsAsItIs) {
  ValueProgram values;
  const BufferId x = values.embed("x");
  values.program.decode.result = values.linear(values.norm(x, "h"), "x", x);
  values.program.first_head_op = 3;
  const Program program = with_sums(values);
  EXPECT_THAT(op_names_of(program), ElementsAre("embed", "norm", "linear"));
  EXPECT_EQ(op_at<LinearOp>(program, 2).residual, x);
  EXPECT_EQ(program.first_head_op, 3U);
  EXPECT_EQ(program.buffers.size(), 3U);
}

}  // namespace
}  // namespace weft
