#include "weft/model/program/passes/attach_adapters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"
#include "weft/tests/fixture/small_model.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::SmallSpec;
using testing::ElementsAre;

std::vector<std::string_view> verbs_in(const Program& program) {
  std::vector<std::string_view> names;
  for (const Op& op : program.decode.ops) {
    names.push_back(std::visit([](const auto& one) { return one.kTraits.name; }, op));
  }
  return names;
}

template <class Wanted>
const Wanted& adapted_op(const Program& program, std::size_t at) {
  return std::get<Wanted>(program.decode.ops.at(at));
}

std::vector<std::string> tensors_at(const Program& program, const Extent& sites) {
  std::vector<std::string> names;
  for (std::int64_t site = sites.first; site < sites.end(); ++site) {
    names.push_back(program.adapter_sites.at(static_cast<std::size_t>(site)).tensor->name);
  }
  return names;
}

TEST(AttachAdaptersTest, PutsPairsBeforeTheProductsOfLayers) {
  const Program base = SmallSpec().compile(test::small_model()).value();
  const Program adapted = attach_adapters(base, 5);
  EXPECT_EQ(adapted.adapter_rank, 16);
  EXPECT_THAT(verbs_in(adapted),
              ElementsAre("embed", "norm", "shrink", "expand", "linear", "rotary", "attention",
                          "shrink", "expand", "linear", "norm", "shrink", "expand", "linear",
                          "activate", "shrink", "expand", "linear", "norm", "linear"));
  EXPECT_EQ(adapted.first_head_op, base.first_head_op + 9);
  EXPECT_EQ(adapted.matrices.size(), base.matrices.size());
}

TEST(AttachAdaptersTest, MakesOneLowForTheTensorsOfOneInput) {
  const Program adapted = attach_adapters(SmallSpec().compile(test::small_model()).value(), 16);
  const auto& shrink = adapted_op<AdapterShrinkOp>(adapted, 2);
  const auto& expand = adapted_op<AdapterExpandOp>(adapted, 3);
  const auto& product = adapted_op<LinearOp>(adapted, 4);
  EXPECT_THAT(tensors_at(adapted, shrink.sites), ElementsAre("q.weight", "k.weight", "v.weight"));
  EXPECT_EQ(adapted.buffers.at(static_cast<std::size_t>(shrink.low)).width, 48);
  EXPECT_EQ(shrink.in, product.in);
  EXPECT_EQ(expand.low, shrink.low);
  EXPECT_EQ(expand.residual, kAbsent);
  EXPECT_EQ(expand.out, product.out);
  EXPECT_EQ(product.residual, product.out);
  EXPECT_EQ(expand.runs, (Extent{0, 3}));
  EXPECT_EQ(adapted.adapter_runs.at(1), (AdapterRun{.site = 1,
                                                    .low = 16,
                                                    .first_row = 0,
                                                    .row_step = 1,
                                                    .outputs = 4,
                                                    .first_output = 4,
                                                    .first_panel = 0}));
}

/// The small model whose MLP reads attention's norm; `rewritten`: but not the same numbers of it.
Program parallel_model(bool rewritten) {
  SmallSpec spec;
  spec.top = "parallel = true";
  Program program = spec.compile(test::small_model()).value();
  auto& ops = program.decode.ops;
  const BufferId input = std::get<NormOp>(ops.at(1)).out;
  EXPECT_EQ(verbs_in(program).at(7), "linear");
  std::get<LinearOp>(ops.at(7)).in = input;
  const Op again = ops.at(1);
  if (rewritten) ops.insert(ops.begin() + 7, again);
  return program;
}

TEST(AttachAdaptersTest, MakesLowAgainBehindAProductOfAnotherValue) {
  const Program adapted = attach_adapters(parallel_model(false), 8);
  EXPECT_EQ(std::ranges::count(verbs_in(adapted), "shrink"), 4)
      << "a GPU has one low at a time, and that of attention's output is between";
  const auto& shrink = adapted_op<AdapterShrinkOp>(adapted, 3);
  EXPECT_THAT(tensors_at(adapted, shrink.sites), ElementsAre("q.weight", "k.weight", "v.weight"));
}

TEST(AttachAdaptersTest, MakesAnotherLowWhereTheInputIsWrittenAgain) {
  const Program adapted = attach_adapters(parallel_model(true), 8);
  EXPECT_EQ(std::ranges::count(verbs_in(adapted), "shrink"), 4);
}

TEST(AttachAdaptersTest, CutsAProductWithAGateBeforeItsActivation) {
  const Program adapted = attach_adapters(SmallSpec().compile(test::small_model()).value(), 16);
  const auto& expand = adapted_op<AdapterExpandOp>(adapted, 12);
  const auto& product = adapted_op<LinearOp>(adapted, 13);
  const auto& activate = adapted_op<ActivateOp>(adapted, 14);
  EXPECT_TRUE(product.gate_apart);
  EXPECT_EQ(product.spec, LinearSpec());
  EXPECT_EQ(product.out, expand.out);
  EXPECT_EQ(adapted.buffers.at(static_cast<std::size_t>(product.out)).width, 6);
  EXPECT_EQ(activate.in, product.out);
  EXPECT_TRUE(activate.gated);
  EXPECT_EQ(activate.spec.activation, Activation::kSilu);
  // Rows of up stand behind the three of gate.
  EXPECT_EQ(adapted.adapter_runs.at(5).first_output, 3);
}

TEST(AttachAdaptersTest, ScalesWhatItAddsAsTheProductDoes) {
  SmallSpec spec;
  spec.attention.append("\nresidual_scale = 0.5");
  const Program adapted = attach_adapters(spec.compile(test::small_model()).value(), 16);
  EXPECT_EQ(adapted_op<AdapterExpandOp>(adapted, 8).scale, 0.5F);
  EXPECT_EQ(adapted_op<AdapterExpandOp>(adapted, 8).residual, adapted_op<LinearOp>(adapted, 9).out);
}

/// A rank's part of B is that of its outputs, and its part of A that of its inputs.
TEST(AttachAdaptersTest, CutsPairsAsARankHasItsMatrices) {
  ProgramPart part;
  part.ranks = 2;
  part.rank = 1;
  const Program base = SmallSpec().compile(test::small_model(), part).value();
  const Program adapted = attach_adapters(base, 16);
  ASSERT_EQ(adapted.adapter_sites.at(0).tensor->name, "q.weight");
  EXPECT_EQ(adapted.adapter_runs.at(0).first_row, 2);
  EXPECT_EQ(adapted.adapter_runs.at(0).outputs, 2);
  ASSERT_EQ(adapted.adapter_sites.at(3).tensor->name, "out.weight");
  EXPECT_EQ(adapted.adapter_sites.at(3).first_input, 2);
  EXPECT_EQ(adapted.adapter_sites.at(3).inputs, 2);
  EXPECT_EQ(adapted.adapter_runs.at(3).outputs, 4);
}

// --- What holds in the programs of all families.

/// Buffers that some op uses at a place, and whether they share memory with others.
class Places {
 public:
  Places(const Program& planned, const OpList& list) : planned_(planned) {
    const std::size_t none = list.ops.size();
    first_.assign(planned.buffers.size(), none + 1);
    last_.assign(planned.buffers.size(), 0);
    for (std::size_t at = 0; at < list.ops.size(); ++at) {
      for (const BufferUse& use : buffers_of(list.ops[at])) touch(use.id, at);
    }
    if (list.result != kAbsent) touch(list.result, none);
  }

  /// Two buffers that live at once and overlap; an empty text where there are none.
  [[nodiscard]] std::string overlap() const {
    for (std::size_t a = 0; a < first_.size(); ++a) {
      for (std::size_t b = a + 1; b < first_.size(); ++b) {
        if (first_[a] <= last_[b] && first_[b] <= last_[a] && meet(a, b))
          return planned_.buffers[a].name + " and " + planned_.buffers[b].name;
      }
    }
    return {};
  }

 private:
  void touch(BufferId id, std::size_t at) {
    const auto buffer = static_cast<std::size_t>(id);
    first_[buffer] = std::min(first_[buffer], at);
    last_[buffer] = std::max(last_[buffer], at);
  }
  [[nodiscard]] bool meet(std::size_t a, std::size_t b) const {
    const BufferPlan& one = planned_.buffers[a];
    const BufferPlan& other = planned_.buffers[b];
    if ((one.rows == RowKind::kOutputs) != (other.rows == RowKind::kOutputs)) return false;
    return one.offset < other.offset + other.width * other.rows_per_token &&
           other.offset < one.offset + one.width * one.rows_per_token;
  }

  const Program& planned_;
  std::vector<std::size_t> first_, last_;
};

TEST(AttachAdaptersTest, SuitsBothProgramsOfEachFamily) {
  std::size_t programs = 0;
  for (const auto& entry : fs::directory_iterator(test::source_path("tests/model/data/goldens"))) {
    const Checkpoint checkpoint = open_checkpoint(entry.path()).value();
    const Program base =
        compile(resolve_architecture(find_spec(checkpoint).value(), checkpoint).value(), checkpoint)
            .value();
    const Program adapted = attach_adapters(base, 16);
    for (const OpList* list : {&base.encode, &base.decode, &adapted.encode, &adapted.decode}) {
      EXPECT_EQ(Places(adapted, *list).overlap(), "") << entry.path();
    }
    std::vector<std::int64_t> outputs(adapted.matrices.size());
    for (const AdapterRun& run : adapted.adapter_runs) {
      const AdapterSite& site = adapted.adapter_sites.at(static_cast<std::size_t>(run.site));
      outputs[static_cast<std::size_t>(site.weight)] += run.outputs;
    }
    for (const OpList* list : {&adapted.encode, &adapted.decode}) {
      for (std::size_t at = 1; at < list->ops.size(); ++at) {
        const auto* product = std::get_if<LinearOp>(&list->ops[at]);
        if (product == nullptr || (list == &adapted.decode && at >= adapted.first_head_op))
          continue;
        const auto* expand = std::get_if<AdapterExpandOp>(&list->ops[at - 1]);
        ASSERT_NE(expand, nullptr) << entry.path() << ", op " << at;
        EXPECT_EQ(expand->out, product->residual);
        const auto id = static_cast<std::size_t>(product->weight);
        const MatrixPlan& matrix = adapted.matrices[id];
        EXPECT_EQ(outputs[id], matrix.outputs * (matrix.gated ? 2 : 1)) << matrix.name;
      }
    }
    ++programs;
  }
  EXPECT_GE(programs, builtin_specs().size());
}

}  // namespace
}  // namespace weft
