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

/// Where a buffer, a matrix, a vector or a set of angles stands in its program's list; kAbsent
/// where it is not there. Each list has a type of its own, so an op's fields tell its operands from
/// its other numbers.
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
  kNever,  ///< no: the op still reads the buffer when it has begun to write
  kMay,    ///< yes: the op reads each number before it writes the number at the same place
  kMust,   ///< the op changes the numbers where they are, so the output has the same memory
};

/// Which rows of a step a buffer of an op has.
enum class OperandRows : std::uint8_t {
  kOfOp,      ///< tokens or outputs: the same for all such buffers of the op
  kTokens,    ///< tokens alone
  kChoices,   ///< tokens' choices of experts
  kOutputs,   ///< outputs alone
  kGathered,  ///< the op's own rows, or all tokens, of which the op takes the rows that it wants
};

/// The type in which a device may hold a buffer that is not the stream of the layers. It is an
/// operand's wish: a buffer is f32 unless all ops that read it wish for the same type.
enum class OperandType : std::uint8_t {
  kF32,             ///< f32 alone
  kAny,             ///< whichever its readers wish for
  kOfWeight,        ///< in which a product with the op's weight takes its input
  kOfWeightOrCodes  ///< the same, or bf16 where the device multiplies the weight's codes
};

struct OperandSpec {
  Access access = Access::kRead;
  bool optional = false;  ///< may be kAbsent
  OperandRows rows = OperandRows::kOfOp;
  OperandType type = OperandType::kF32;
  Overwrite overwrite = Overwrite::kNever;  ///< what may become of a read buffer

  [[nodiscard]] constexpr bool reads() const noexcept { return access == Access::kRead; }
  [[nodiscard]] constexpr bool writes() const noexcept { return access == Access::kWrite; }
};

/// A buffer as a field of an op: its type says how the op uses the buffer. An op writes one buffer
/// at most.
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
/// An input in whose memory the output may be written.
template <OperandRows kRows = OperandRows::kOfOp>
using ReplaceableInput =
    BufferOperand<OperandSpec{Access::kRead, false, kRows, OperandType::kF32, Overwrite::kMay}>;
template <OperandRows kRows = OperandRows::kOfOp, OperandType kType = OperandType::kF32>
using Output = BufferOperand<OperandSpec{Access::kWrite, false, kRows, kType}>;
template <OperandRows kRows = OperandRows::kOfOp>
using OptionalOutput = BufferOperand<OperandSpec{Access::kWrite, true, kRows}>;
/// An addend of the output, which may be absent. The output may be written into its memory.
template <OperandRows kRows = OperandRows::kOfOp>
using Residual =
    BufferOperand<OperandSpec{Access::kRead, true, kRows, OperandType::kF32, Overwrite::kMay}>;

/// A value that an op changes in place, before and after. share_buffers() gives both the same
/// buffer; devices use `after`.
template <OperandRows kRows = OperandRows::kOfOp>
struct InPlace {
  BufferOperand<OperandSpec{Access::kRead, false, kRows, OperandType::kF32, Overwrite::kMust}>
      before;
  Output<kRows> after;
};

}  // namespace weft
