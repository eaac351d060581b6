#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace weft {

struct BufferPlan;
struct MatrixPlan;
struct RotaryFrequencies;
struct VectorPlan;

/// The index of an operand that an op does not have, such as the bias of a product without one.
inline constexpr std::int32_t kAbsent = -1;

/// The index of a buffer, a matrix, a vector or a set of angles in its program's list; kAbsent if
/// the op lacks the operand. Each list has its own index type, so an op's fields distinguish its
/// operands from its other numbers.
template <class List>
class Index {
 public:
  constexpr Index() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): kAbsent and small numbers are indices
  constexpr Index(std::int32_t value) noexcept : value_(value) {}
  template <std::integral Integer>
  constexpr explicit Index(Integer value) noexcept : value_(static_cast<std::int32_t>(value)) {}

  constexpr explicit operator std::size_t() const noexcept {
    return static_cast<std::size_t>(value_);
  }

  friend constexpr bool operator==(const Index&, const Index&) noexcept = default;
  friend constexpr auto operator<=>(const Index&, const Index&) noexcept = default;

 private:
  std::int32_t value_ = kAbsent;
};

using BufferId = Index<BufferPlan>;
using MatrixId = Index<MatrixPlan>;
using VectorId = Index<VectorPlan>;
using RotaryId = Index<RotaryFrequencies>;

/// How an op uses a buffer.
enum class Access : std::uint8_t {
  kRead,
  kWrite,
};

/// Whether an op can write its output into the memory of a buffer that it reads.
enum class Overwrite : std::uint8_t {
  kNever,  ///< no: the op still reads the buffer after it has begun to write
  kMay,    ///< yes: the op reads each number before it writes to the same place
  kMust,   ///< the op changes the numbers in place, so the output has the same memory
};

/// The rows of a step that an op's buffer has.
enum class OperandRows : std::uint8_t {
  kOfOp,      ///< tokens or outputs: the same for all such buffers of the op
  kTokens,    ///< tokens alone
  kChoices,   ///< tokens' choices of experts
  kOutputs,   ///< outputs alone
  kGathered,  ///< the op's own rows, or all tokens, from which the op takes the rows that it needs
};

/// The type in which a device may hold a buffer other than the layers' stream, as an operand
/// requests it. A buffer is f32 unless all ops that read it request the same type.
enum class OperandType : std::uint8_t {
  kF32,             ///< f32 alone
  kAny,             ///< any type that its readers request
  kOfWeight,        ///< the input type of a product with the op's weight
  kOfWeightOrCodes  ///< kOfWeight, or bf16 if the device multiplies the weight's codes
};

struct OperandSpec {
  Access access = Access::kRead;
  bool optional = false;  ///< may be kAbsent
  OperandRows rows = OperandRows::kOfOp;
  OperandType type = OperandType::kF32;
  Overwrite overwrite = Overwrite::kNever;  ///< what the output may do to a read buffer

  [[nodiscard]] constexpr bool reads() const noexcept { return access == Access::kRead; }
  [[nodiscard]] constexpr bool writes() const noexcept { return access == Access::kWrite; }
};

/// A buffer as a field of an op. Its type says how the op uses the buffer. An op writes at most one
/// buffer.
template <OperandSpec kSpec>
class BufferOperand : public BufferId {
 public:
  using BufferId::BufferId;
  constexpr BufferOperand() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): the field takes any buffer
  constexpr BufferOperand(BufferId id) noexcept : BufferId(id) {}
};

template <OperandRows kRows = OperandRows::kOfOp, OperandType kType = OperandType::kF32>
using Input = BufferOperand<OperandSpec{Access::kRead, false, kRows, kType}>;
/// An input; the output may be written in its memory.
template <OperandRows kRows = OperandRows::kOfOp>
using ReplaceableInput =
    BufferOperand<OperandSpec{Access::kRead, false, kRows, OperandType::kF32, Overwrite::kMay}>;
template <OperandRows kRows = OperandRows::kOfOp, OperandType kType = OperandType::kF32>
using Output = BufferOperand<OperandSpec{Access::kWrite, false, kRows, kType}>;
template <OperandRows kRows = OperandRows::kOfOp>
using OptionalOutput = BufferOperand<OperandSpec{Access::kWrite, true, kRows}>;
/// An optional addend of the output. The output may be written in its memory.
template <OperandRows kRows = OperandRows::kOfOp>
using Residual =
    BufferOperand<OperandSpec{Access::kRead, true, kRows, OperandType::kF32, Overwrite::kMay}>;

/// A value that an op changes in place, before and after the change. share_buffers() assigns both
/// the same buffer; devices use `after`.
template <OperandRows kRows = OperandRows::kOfOp>
struct InPlace {
  BufferOperand<OperandSpec{Access::kRead, false, kRows, OperandType::kF32, Overwrite::kMust}>
      before;
  Output<kRows> after;
};

}  // namespace weft
