#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/core/io/byte_reader.h"

namespace weft {

/// Position of a value in its PickleReader.
using PickleRef = std::uint32_t;

/// One of the few names that a state dict may import. None is executed.
enum class PickleName : std::uint8_t {
  kOrderedDict,       ///< collections.OrderedDict
  kRebuildTensor,     ///< torch._utils._rebuild_tensor
  kRebuildTensorV2,   ///< torch._utils._rebuild_tensor_v2
  kRebuildParameter,  ///< torch._utils._rebuild_parameter
  kSize,              ///< torch.Size
  kStorage,           ///< torch.FloatStorage and its like
};

struct PickleGlobal {
  PickleName name = PickleName::kStorage;
  DType dtype = DType::kU8;  ///< For kStorage: the elements' type.
};

struct PickleNone {};

/// An integer of more than 64 bits, little-endian two's complement. Legacy files begin with one.
struct PickleBigInteger {
  std::string_view bytes;
};

/// A tuple or a list.
struct PickleSequence {
  std::vector<PickleRef> items;
};

/// A dict or OrderedDict; keys in the file's order, perhaps with duplicates.
struct PickleDict {
  std::vector<std::pair<PickleRef, PickleRef>> items;
};

/// A block of numbers outside the pickle, found by its key.
struct PickleStorage {
  std::string_view key;
  std::int64_t elements = 0;
  DType dtype = DType::kF32;
};

/// A view of a storage; it is not checked yet.
struct PickleTensor {
  PickleRef storage = 0;
  PickleRef shape = 0;
  PickleRef strides = 0;
  std::int64_t offset = 0;
};

using PickleValue =
    std::variant<PickleNone, bool, std::int64_t, double, std::string_view, PickleBigInteger,
                 PickleSequence, PickleDict, PickleGlobal, PickleStorage, PickleTensor>;

/// Reads pickles without executing anything. Opcodes are those of
/// model/checkpoint/pickle/pickle_opcode.h, names those of PickleName. A call of a name is
/// interpreted as PyTorch means it, and never made. All values are in one list and refer to each
/// other by position, so cycles and depth do no harm. Values, containers' items, stack, marks and
/// memo are bounded. Text is borrowed from the bytes. Owner only.
class PickleReader {
 public:
  /// `file` is for messages.
  explicit PickleReader(std::string_view file) : file_(file) {}

  /// Reads one pickle and stops after it; a file may have several. kForbiddenPickle names the
  /// forbidden opcode or name and its offset; kBadCheckpoint names what is broken.
  [[nodiscard]] Result<PickleRef> read(ByteReader& reader);

  /// Returns the number of values read so far; each PickleRef is less.
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

  /// Returns the value if it is a T, else null.
  template <class T>
  [[nodiscard]] const T* get(PickleRef at) const noexcept {
    return std::get_if<T>(&values_[at]);
  }

 private:
  class Machine;

  std::string file_;
  std::vector<PickleValue> values_;
  std::size_t items_ = 0;  // items of all containers
};

}  // namespace weft
