#include "weft/model/program/buffer_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"
#include "weft/model/program/program.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::int64_t float_count(const BufferPlan& buffer) { return buffer.width * buffer.rows_per_token; }

/// Whether `id` is read or written at op `at` or both before and after it; the result lives on.
bool is_alive(const OpList& list, BufferId id, std::size_t at) {
  const auto touches = [&](const Op& op) {
    return std::ranges::any_of(buffers_of(op), [&](const BufferUse& use) { return use.id == id; });
  };
  const auto here = list.ops.begin() + static_cast<std::ptrdiff_t>(at);
  const bool before = std::any_of(list.ops.begin(), here + 1, touches);
  const bool after = std::any_of(here, list.ops.end(), touches);
  return before && (after || id == list.result);
}

std::string overlap_of(const BufferPlan& a, const BufferPlan& b, std::size_t at) {
  const bool apart = (a.rows == RowKind::kOutputs) != (b.rows == RowKind::kOutputs) ||
                     a.offset + float_count(a) <= b.offset || b.offset + float_count(b) <= a.offset;
  return apart ? "" : "op " + std::to_string(at) + ": " + a.name + " and " + b.name;
}

/// The first two buffers that are alive together and share memory; "" when there are none. Looks at
/// every op and every pair.
std::string find_overlap(const OpList& list, const std::vector<BufferPlan>& buffers) {
  for (std::size_t at = 0; at < list.ops.size(); ++at) {
    std::vector<BufferId> alive;
    for (std::size_t id = 0; id < buffers.size(); ++id) {
      if (is_alive(list, static_cast<BufferId>(id), at)) alive.push_back(static_cast<BufferId>(id));
    }
    for (std::size_t i = 0; i < alive.size(); ++i) {
      for (std::size_t j = i + 1; j < alive.size(); ++j) {
        const std::string found = overlap_of(buffers[static_cast<std::size_t>(alive[i])],
                                             buffers[static_cast<std::size_t>(alive[j])], at);
        if (!found.empty()) return found;
      }
    }
  }
  return {};
}

/// Every buffer that an op uses lies in the arena whose size the list states.
void expect_within_arena(const OpList& list, const std::vector<BufferPlan>& buffers) {
  for (const Op& op : list.ops) {
    for (const BufferUse& use : buffers_of(op)) {
      const BufferPlan& buffer = buffers[static_cast<std::size_t>(use.id)];
      const std::int64_t arena =
          buffer.rows == RowKind::kOutputs ? list.floats_per_output : list.floats_per_token;
      EXPECT_GE(buffer.offset, 0) << buffer.name;
      EXPECT_LE(buffer.offset + float_count(buffer), arena) << buffer.name;
    }
  }
}

/// in -> out, plus a residual.
Op op_of(BufferId in, BufferId out, BufferId residual = kAbsent) {
  LinearOp op;
  op.in = in;
  op.residual = residual;
  op.out = out;
  return op;
}

std::vector<BufferPlan> tokens_of_width(const std::vector<std::int64_t>& widths) {
  std::vector<BufferPlan> buffers;
  for (const std::int64_t width : widths) {
    buffers.push_back({std::to_string(buffers.size()), RowKind::kTokens, width, 1, 0});
  }
  return buffers;
}

TEST(BufferPlannerTest, UsesMemoryAgainWhenItsBufferIsDead) {
  OpList list;
  list.ops = {op_of(0, 1), op_of(1, 2), op_of(2, 3)};
  list.result = 3;
  std::vector<BufferPlan> buffers = tokens_of_width({16, 16, 16, 16});
  plan_buffers(list, buffers);
  EXPECT_EQ(list.floats_per_token, 32);
  EXPECT_EQ(find_overlap(list, buffers), "");
}

TEST(BufferPlannerTest, KeepsAResidualUntilItIsAdded) {
  OpList list;
  list.ops = {op_of(0, 1), op_of(1, 2), op_of(2, 3, 0)};
  list.result = 3;
  std::vector<BufferPlan> buffers = tokens_of_width({16, 16, 16, 16});
  plan_buffers(list, buffers);
  EXPECT_EQ(list.floats_per_token, 48);
  EXPECT_EQ(find_overlap(list, buffers), "");
}

TEST(BufferPlannerTest, KeepsTheResultToTheEnd) {
  OpList list;
  list.ops = {op_of(0, 1), op_of(0, 2), op_of(2, 3)};
  list.result = 1;
  std::vector<BufferPlan> buffers = tokens_of_width({16, 16, 16, 16});
  plan_buffers(list, buffers);
  EXPECT_EQ(find_overlap(list, buffers), "");
}

TEST(BufferPlannerTest, GivesRowsOfOutputsAnArenaOfTheirOwn) {
  OpList list;
  list.ops = {op_of(0, 1)};
  list.result = 1;
  std::vector<BufferPlan> buffers = tokens_of_width({16, 100});
  buffers[1].rows = RowKind::kOutputs;
  plan_buffers(list, buffers);
  EXPECT_EQ(list.floats_per_token, 16);
  EXPECT_EQ(list.floats_per_output, 112);  // whole cache lines
}

TEST(BufferPlannerTest, CountsEveryRowOfAToken) {
  OpList list;
  list.ops = {op_of(0, 1)};
  list.result = 1;
  std::vector<BufferPlan> buffers = tokens_of_width({16, 16});
  buffers[1].rows = RowKind::kChoices;
  buffers[1].rows_per_token = 3;
  plan_buffers(list, buffers);
  EXPECT_EQ(list.floats_per_token, 64);
}

TEST(BufferPlannerTest, LeavesBuffersOfNoOpAlone) {
  OpList list;
  list.ops = {op_of(0, 2)};
  list.result = 2;
  std::vector<BufferPlan> buffers = tokens_of_width({16, 1000, 16});
  plan_buffers(list, buffers);
  EXPECT_EQ(list.floats_per_token, 32);
}

TEST(BufferPlannerTest, NeverLetsLivingBuffersOverlapInRandomLists) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t bound) {
      return static_cast<std::int32_t>(random() % bound);
    };
    std::vector<BufferPlan> buffers;
    for (int i = 0; i < 12; ++i) {
      const auto rows = static_cast<RowKind>(below(3));
      buffers.push_back({std::to_string(i), rows, 1 + below(70),
                         rows == RowKind::kChoices ? 1 + below(4) : 1, 0});
    }
    OpList list;
    for (int i = 0; i < 20; ++i) {
      list.ops.push_back(op_of(below(12), below(12), below(2) == 0 ? kAbsent : below(12)));
    }
    list.result = below(12);
    plan_buffers(list, buffers);
    ASSERT_EQ(find_overlap(list, buffers), "") << "seed " << seed;
    expect_within_arena(list, buffers);
  }
}

TEST(BufferPlannerTest, NeverLetsLivingBuffersOverlapInTheProgramsOfTheFamilies) {
  std::size_t programs = 0;
  for (const auto& entry : fs::directory_iterator(test::source_path("tests/model/data/goldens"))) {
    const Checkpoint checkpoint = open_checkpoint(entry.path()).value();
    const Program program =
        compile(resolve_architecture(find_spec(checkpoint).value(), checkpoint).value(), checkpoint)
            .value();
    for (const OpList* list : {&program.encode, &program.decode}) {
      EXPECT_EQ(find_overlap(*list, program.buffers), "") << entry.path();
      expect_within_arena(*list, program.buffers);
    }
    ++programs;
  }
  EXPECT_GE(programs, builtin_specs().size());
}

// A second layer needs nothing that the first did not.
TEST(BufferPlannerTest, NeedsNoMoreMemoryForMoreLayers) {
  OpList list;
  std::vector<BufferPlan> buffers = tokens_of_width({16});
  std::int64_t after_one = 0;
  for (int layer = 0; layer < 3; ++layer) {
    const auto normed = static_cast<std::int32_t>(buffers.size());
    buffers.push_back({"h", RowKind::kTokens, 16, 1, 0});
    buffers.push_back({"f", RowKind::kTokens, 64, 1, 0});
    list.ops.insert(list.ops.end(),
                    {op_of(0, normed), op_of(normed, normed + 1), op_of(normed + 1, 0, 0)});
    list.result = 0;
    plan_buffers(list, buffers);
    if (layer == 0) after_one = list.floats_per_token;
    EXPECT_EQ(list.floats_per_token, after_one);
  }
}

}  // namespace
}  // namespace weft
