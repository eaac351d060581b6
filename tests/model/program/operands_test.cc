#include "weft/model/program/operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/op_work.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// "B" for a buffer, "M" a matrix, "V" a vector, "R" angles, "T" a table, each with its number.
std::string operand_names_of(const Op& op) {
  std::string names;
  const auto add = [&]<class Operand>(const Operand& operand) {
    if constexpr (kIsTable<Operand>) {
      names += "T ";
    } else {
      const char* kind = kIsBuffer<Operand>                  ? "B"
                         : std::is_same_v<Operand, MatrixId> ? "M"
                         : std::is_same_v<Operand, RotaryId> ? "R"
                                                             : "V";
      names += kind + std::to_string(static_cast<std::size_t>(operand)) + " ";
    }
  };
  std::visit([&](const auto& one) { for_each_operand(one, add); }, op);
  return names;
}

/// The op with its operands numbered from 0 in the order in which they are visited, and how many.
template <class AnyOp>
int number(AnyOp& op) {
  std::int32_t next = 0;
  for_each_operand(op, [&]<class Operand>(Operand& operand) {
    if constexpr (!kIsTable<Operand>) operand = next;
    ++next;
  });
  return next;
}

std::string reads_and_writes(const Op& op) {
  std::string text;
  for (const BufferUse& use : buffers_of(op)) {
    text += std::to_string(static_cast<std::size_t>(use.id));
    if (use.spec.reads()) text += 'r';
    if (use.spec.writes()) text += 'w';
    if (use.spec.optional) text += '?';
    text += ' ';
  }
  return text;
}

/// Calls `check` with a default op of every type.
template <std::size_t kAt = 0, class Check>
void for_each_type(Check&& check) {
  if constexpr (kAt < std::variant_size_v<Op>) {
    check(std::variant_alternative_t<kAt, Op>());
    for_each_type<kAt + 1>(check);
  }
}

TEST(OperandsTest, EveryOperandOfAnOpIsVisitedOnce) {
  LinearOp linear;
  EXPECT_EQ(number(linear), 5);
  EXPECT_EQ(operand_names_of(linear), "M0 V1 B2 B3 B4 ");
  EXPECT_EQ(linear.weight, 0);
  EXPECT_EQ(linear.out, 4);
  EmbedOp embed;
  EXPECT_EQ(number(embed), 4);
  EXPECT_EQ(operand_names_of(embed), "T V1 V2 B3 ");
  AttentionOp attention;
  EXPECT_EQ(number(attention), 5);
  EXPECT_EQ(operand_names_of(attention), "B0 B1 V2 V3 V4 ");
}

TEST(OperandsTest, OperandsInAPartOfAnOpAreVisitedToo) {
  RotaryOp rotary;
  EXPECT_EQ(number(rotary), 9);
  EXPECT_EQ(operand_names_of(rotary), "B0 B1 V2 V3 V4 V5 V6 V7 R8 ");
  EXPECT_EQ(rotary.qkv.after, 1);
  EXPECT_EQ(rotary.value_norm.bias, 7);
}

TEST(OperandsTest, EachWeightOfAListIsAnOperand) {
  ExpertLinearOp experts;
  experts.weights.resize(3);
  experts.biases.resize(2);
  EXPECT_EQ(number(experts), 7);
  EXPECT_EQ(operand_names_of(experts), "M0 M1 M2 V3 V4 B5 B6 ");
}

TEST(OperandsTest, TablesAreFoundWithTheirRowsWhereAnOpHasOne) {
  std::vector<TableRows> found;
  const auto keep = [&](const TableRows& table) { found.push_back(table); };
  const CheckpointTensor tensor;
  const LinearOp linear;
  EmbedOp embed;
  for_each_table(embed, keep);
  for_each_table(linear, keep);
  EXPECT_TRUE(found.empty());
  embed.table = {&tensor, {3, 4}};
  for_each_table(embed, keep);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], embed.table);
}

TEST(OperandsTest, ListsOfWeightsAreFoundWhole) {
  std::vector<const void*> found;
  const auto keep = [&](const auto& list) { found.push_back(&list); };
  const LinearOp linear;
  const ExpertLinearOp experts;
  for_each_list(linear, keep);
  for_each_list(experts, keep);
  EXPECT_EQ(found, (std::vector<const void*>{&experts.weights, &experts.biases}));
}

TEST(OperandsTest, OperandsOfTwoOpsComeInPairs) {
  NormOp a;
  NormOp b;
  number(a);
  number(b);
  int pairs = 0;
  for_each_operand_of_both(a, b, [&](const auto& own, const auto& other) {
    EXPECT_TRUE(own == other);
    ++pairs;
  });
  EXPECT_EQ(pairs, 5);
}

TEST(OperandsTest, AttributesAreWhatIsNoOperand) {
  LinearOp linear;
  LinearOp other = linear;
  number(other);
  EXPECT_TRUE(have_same_attributes(linear, other));
  other.spec.scale = 2;
  EXPECT_FALSE(have_same_attributes(linear, other));
  ExpertLinearOp experts;
  ExpertLinearOp more = experts;
  more.weights.resize(3);
  EXPECT_FALSE(have_same_attributes(experts, more));
}

TEST(OperandsTest, ReadsAndWritesAreTold) {
  EXPECT_EQ(reads_and_writes(ScaleRowsOp{1, 2, 3, 4}), "1r 2r 3r? 4w ");
  EXPECT_EQ(reads_and_writes(CombineOp{1, 5, kAbsent, 6, {}}), "5r 6w ");
  EXPECT_EQ(reads_and_writes(AllReduceOp{{7, 8}}), "7r 8w ");
  EXPECT_EQ(reads_and_writes(SendOp{8}), "8r ");
  EXPECT_EQ(reads_and_writes(ReceiveOp{9}), "9w ");
  EXPECT_EQ(reads_and_writes(GatherOp{1, 2, {}}), "1r 2w? ");
}

TEST(OperandsTest, AnOpHasTheRowsOfWhatItWritesOrElseReads) {
  EXPECT_EQ(row_buffer(ScaleRowsOp{1, 2, 3, 4}), 4);
  EXPECT_EQ(row_buffer(AllReduceOp{{7, 8}}), 8);
  EXPECT_EQ(row_buffer(SendOp{8}), 8);
  EXPECT_EQ(row_buffer(GatherOp{1, kAbsent, {}}), 1);
}

TEST(OperandsTest, EveryOpHasABufferAndANameOfItsOwn) {
  std::vector<std::string_view> names;
  for_each_type([&](auto op) {
    number(op);
    EXPECT_NE(row_buffer(op), kAbsent) << decltype(op)::kTraits.name;
    const std::string_view name = decltype(op)::kTraits.name;
    EXPECT_EQ(std::ranges::count(names, name), 0) << name;
    names.push_back(name);
  });
  EXPECT_EQ(names.size(), std::variant_size_v<Op>);
}

// --- What ops say of their buffers holds in the programs of all families.

bool is_of(RowKind kind, OperandRows rows, RowKind of_op) {
  switch (rows) {
    case OperandRows::kOfOp:
      return kind == of_op;
    case OperandRows::kTokens:
      return kind == RowKind::kTokens;
    case OperandRows::kChoices:
      return kind == RowKind::kChoices;
    case OperandRows::kOutputs:
      return kind == RowKind::kOutputs;
    case OperandRows::kGathered:
      return kind == of_op || kind == RowKind::kTokens;
  }
  return false;
}

void expect_rows(const Program& program, const Op& op) {
  const auto kind_of = [&](const BufferId& id) {
    return program.buffers[static_cast<std::size_t>(id)].rows;
  };
  const BufferId rows = std::visit([](const auto& one) { return row_buffer(one); }, op);
  for (const BufferUse& use : buffers_of(op)) {
    EXPECT_TRUE(is_of(kind_of(use.id), use.spec.rows, kind_of(rows)))
        << program.family << ", op type " << op.index() << ", buffer "
        << program.buffers[static_cast<std::size_t>(use.id)].name;
  }
}

/// Every buffer that an op reads was written by one before it.
void expect_written_before(const Program& program, const OpList& list, std::vector<bool>& written) {
  for (const Op& op : list.ops) {
    const std::vector<BufferUse> uses = buffers_of(op);
    for (const BufferUse& use : uses) {
      const auto id = static_cast<std::size_t>(use.id);
      EXPECT_TRUE(!use.spec.reads() || written[id])
          << program.family << ": " << program.buffers[id].name;
    }
    for (const BufferUse& use : uses) {
      if (use.spec.writes()) written[static_cast<std::size_t>(use.id)] = true;
    }
  }
}

TEST(OperandsTest, HoldInTheProgramsOfTheFamilies) {
  std::size_t programs = 0;
  for (const auto& entry : fs::directory_iterator(test::source_path("tests/model/data/goldens"))) {
    const Checkpoint checkpoint = open_checkpoint(entry.path()).value();
    const Program program =
        compile(resolve_architecture(find_spec(checkpoint).value(), checkpoint).value(), checkpoint)
            .value();
    std::vector<bool> written(program.buffers.size());
    std::int64_t weight_bytes = 0;
    for (const OpList* list : {&program.encode, &program.decode}) {
      for (const Op& op : list->ops) {
        expect_rows(program, op);
        weight_bytes += work_of(program, op).weight_bytes;
      }
      expect_written_before(program, *list, written);
    }
    std::int64_t all = 0;
    for (const MatrixPlan& matrix : program.matrices) all += matrix.bytes();
    EXPECT_EQ(weight_bytes, all) << entry.path() << ": every matrix is some op's, and of one";
    ++programs;
  }
  EXPECT_GE(programs, builtin_specs().size());
}

}  // namespace
}  // namespace weft
