#pragma once

#include <boost/pfr/core.hpp>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "weft/model/program/program.h"

namespace weft {

template <class Operand>
inline constexpr bool kIsBuffer = std::derived_from<Operand, BufferId>;
template <class Operand>
inline constexpr bool kIsTable = std::same_as<Operand, TableRows>;
template <class Operand>
inline constexpr bool kIsOperand =
    kIsBuffer<Operand> || kIsTable<Operand> || std::same_as<Operand, MatrixId> ||
    std::same_as<Operand, VectorId> || std::same_as<Operand, RotaryId>;
template <class Field>
inline constexpr bool kIsInPlace = false;
template <OperandRows kRows>
inline constexpr bool kIsInPlace<InPlace<kRows>> = true;
/// Whether an op has a matrix or a vector for each expert.
template <class Field>
inline constexpr bool kIsOperandList =
    std::same_as<Field, std::vector<MatrixId>> || std::same_as<Field, std::vector<VectorId>>;

/// Calls `visit` with each operand and each list of operands among the fields of one op, or of
/// several ops of one type.
template <class Visit, class One, class... Same>
constexpr void visit_fields(Visit& visit, One& one, Same&... same) {
  using Field = std::remove_const_t<One>;
  static_assert(!std::same_as<Field, BufferId> && !std::same_as<Field, std::vector<BufferId>>,
                "an op's buffer is an Input, an Output, InPlace or a Residual");
  if constexpr (kIsOperand<Field> || kIsOperandList<Field>) {
    visit(one, same...);
  } else if constexpr (std::is_class_v<Field> && std::is_aggregate_v<Field>) {
    boost::pfr::for_each_field(one, [&](auto& field, [[maybe_unused]] auto at) {
      visit_fields(visit, field, boost::pfr::get<decltype(at)::value>(same)...);
    });
  } else {
    static_assert(std::is_arithmetic_v<Field> || std::is_enum_v<Field> ||
                      std::same_as<Field, std::vector<Extent>>,
                  "a field of an op is an operand, a number or a struct of such");
  }
}

/// Calls `visit` with each operand among the fields of one op, or of several ops of one type. For
/// lists it passes the elements at the same index, so the lists must be equally long.
template <class Visit, class One, class... Same>
constexpr void visit_operands(Visit& visit, One& one, Same&... same) {
  const auto visit_each = [&visit]<class Field>(Field& field, auto&... others) {
    if constexpr (kIsOperandList<std::remove_const_t<Field>>) {
      for (std::size_t i = 0; i < field.size(); ++i) visit(field[i], others[i]...);
    } else {
      visit(field, others...);
    }
  };
  visit_fields(visit_each, one, same...);
}

/// Calls `visit` with each operand of an op, in the order of its fields, including absent ones. An
/// operand is a BufferOperand, a MatrixId, a VectorId, a RotaryId or TableRows.
template <class AnyOp, class Visit>
constexpr void for_each_operand(AnyOp& op, Visit&& visit) {
  visit_operands(visit, op);
}

/// As above for two ops of one type: passes both ops' operands. Their lists must be equally long.
template <class AnyOp, class Visit>
constexpr void for_each_operand_of_both(AnyOp& a, AnyOp& b, Visit&& visit) {
  visit_operands(visit, a, b);
}

/// Whether two ops of one type agree in all fields except operands, and in the lengths of their
/// lists of weights.
template <class AnyOp>
[[nodiscard]] constexpr bool have_same_attributes(const AnyOp& a, const AnyOp& b) {
  bool all = true;
  boost::pfr::for_each_field(a, [&]<class Field>(const Field& own, auto at) {
    const Field& other = boost::pfr::get<decltype(at)::value>(b);
    if constexpr (kIsOperandList<Field>) {
      all = all && own.size() == other.size();
    } else if constexpr (!kIsOperand<Field> && !kIsInPlace<Field>) {
      all = all && own == other;
    }
  });
  return all;
}

/// Visits only the tables that the op has.
template <class AnyOp, class Visit>
constexpr void for_each_table(AnyOp& op, Visit&& visit) {
  for_each_operand(op, [&](auto& operand) {
    if constexpr (kIsTable<std::remove_cvref_t<decltype(operand)>>) {
      if (operand.tensor != nullptr) visit(operand);
    }
  });
}

/// Visits only the lists: std::vector<MatrixId> or std::vector<VectorId>.
template <class AnyOp, class Visit>
constexpr void for_each_list(AnyOp& op, Visit&& visit) {
  const auto visit_list = [&visit]<class Field>(Field& field) {
    if constexpr (kIsOperandList<std::remove_const_t<Field>>) visit(field);
  };
  visit_fields(visit_list, op);
}

/// Visits only the buffers that the op has.
template <class AnyOp, class Visit>
constexpr void for_each_buffer(AnyOp& op, Visit&& visit) {
  for_each_operand(op, [&](auto& operand) {
    if constexpr (kIsBuffer<std::remove_cvref_t<decltype(operand)>>) {
      if (operand != kAbsent) visit(operand);
    }
  });
}

/// Visits only the matrices.
template <class AnyOp, class Visit>
constexpr void for_each_matrix(AnyOp& op, Visit&& visit) {
  for_each_operand(op, [&](auto& operand) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(operand)>, MatrixId>) {
      if (operand != kAbsent) visit(operand);
    }
  });
}

/// Visits only the vectors.
template <class AnyOp, class Visit>
constexpr void for_each_vector(AnyOp& op, Visit&& visit) {
  for_each_operand(op, [&](auto& operand) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(operand)>, VectorId>) {
      if (operand != kAbsent) visit(operand);
    }
  });
}

/// Returns the buffer whose rows are the op's: the first that it writes, else the first that it
/// reads.
template <class AnyOp>
[[nodiscard]] constexpr BufferId row_buffer(const AnyOp& op) {
  BufferId read;
  BufferId written;
  for_each_buffer(op, [&]<OperandSpec kSpec>(const BufferOperand<kSpec>& buffer) {
    BufferId& first = kSpec.writes() ? written : read;
    if (first == kAbsent) first = buffer;
  });
  return written == kAbsent ? read : written;
}

/// Whether the op takes only some rows of its input: tokens whose outputs are wanted, or tokens
/// that chose an expert.
template <class AnyOp>
[[nodiscard]] constexpr bool gathers_rows(const Program& program, const AnyOp& op) {
  const auto rows = [&](const BufferId& id) {
    return program.buffers[static_cast<std::size_t>(id)].rows;
  };
  bool gathers = false;
  for_each_buffer(op, [&]<OperandSpec kSpec>(const BufferOperand<kSpec>& buffer) {
    if (kSpec.rows != OperandRows::kGathered) return;
    gathers = rows(buffer) == RowKind::kTokens && rows(row_buffer(op)) != RowKind::kTokens;
  });
  return gathers;
}

/// A buffer and how an op uses it.
struct BufferUse {
  BufferId id;
  OperandSpec spec;
};

/// Returns the buffers that an op uses, in the order of its fields, without kAbsent ones.
[[nodiscard]] std::vector<BufferUse> buffers_of(const Op& op);

/// Returns the buffer that an op writes; kAbsent if it writes none.
[[nodiscard]] BufferId output_of(const Op& op);

}  // namespace weft
