#include "weft/model/checkpoint/pickle/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/pickle/pickle_opcode.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

// The most values. A tensor of a state dict takes about 20 values, so a file can have 50,000
// tensors; the values take at most 50 MB.
constexpr std::size_t kMaxValues = 1U << 20U;
constexpr std::size_t kMaxItems = 1U << 21U;
constexpr std::size_t kMaxMarks = 256;  // a state dict's deepest tuple stands at 5
constexpr std::uint8_t kMaxProtocol = 5;
// Most bytes of an import; Python's own names are far shorter.
constexpr std::size_t kMaxImportNameBytes = 256;
constexpr PickleRef kNothing = std::numeric_limits<PickleRef>::max();

struct Allowed {
  std::string_view module;
  std::string_view name;
  PickleGlobal global;
};

constexpr Allowed storage_class(std::string_view name, DType dtype) {
  return {"torch", name, {PickleName::kStorage, dtype}};
}

constexpr std::array kAllowed = {
    Allowed{"collections", "OrderedDict", {PickleName::kOrderedDict, {}}},
    Allowed{"torch._utils", "_rebuild_tensor", {PickleName::kRebuildTensor, {}}},
    Allowed{"torch._utils", "_rebuild_tensor_v2", {PickleName::kRebuildTensorV2, {}}},
    Allowed{"torch._utils", "_rebuild_parameter", {PickleName::kRebuildParameter, {}}},
    Allowed{"torch", "Size", {PickleName::kSize, {}}},
    storage_class("DoubleStorage", DType::kF64),
    storage_class("FloatStorage", DType::kF32),
    storage_class("HalfStorage", DType::kF16),
    storage_class("BFloat16Storage", DType::kBF16),
    storage_class("LongStorage", DType::kI64),
    storage_class("IntStorage", DType::kI32),
    storage_class("ShortStorage", DType::kI16),
    storage_class("CharStorage", DType::kI8),
    storage_class("ByteStorage", DType::kU8),
    storage_class("BoolStorage", DType::kBool),
    Allowed{"torch.storage", "UntypedStorage", {PickleName::kStorage, DType::kU8}},
};

/// Returns the number that at most eight bytes are in little-endian two's complement.
std::int64_t integer_of(std::string_view bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  if (bytes.empty() || bytes.size() == sizeof value) return static_cast<std::int64_t>(value);
  const auto unused = 64U - 8U * static_cast<unsigned>(bytes.size());
  return static_cast<std::int64_t>(value << unused) >> unused;
}

}  // namespace

/// Runs one pickle, with the stack, marks and memo of pickle's machine.
class PickleReader::Machine {
 public:
  Machine(PickleReader& pickle, ByteReader& bytes) : pickle_(pickle), bytes_(bytes) {}

  Result<PickleRef> run();

 private:
  using Done = Result<void>;

  [[nodiscard]] Error bad(std::string_view what) const;
  [[nodiscard]] Error forbidden(std::string_view what) const;

  Done step(std::uint8_t byte);
  Done step_constant(PickleOpcode opcode);
  Done step_container(PickleOpcode opcode);
  Done step_memo(PickleOpcode opcode);
  Done step_import(PickleOpcode opcode);

  template <class T>
  Result<T> number(std::string_view field);
  template <class Length>
  Done push_text();
  Done push_long();
  Done push_float();
  Done check_protocol();
  Done check_frame();

  Done push(PickleValue value);
  Done push_ref(PickleRef at);
  Result<PickleRef> pop();
  Result<std::vector<PickleRef>> pop_to_mark();
  Done mark();
  Done charge_items(std::size_t count);

  Done push_sequence(Result<std::vector<PickleRef>> items);
  Done push_tuple(std::size_t count);
  Done append(const Result<std::vector<PickleRef>>& items);
  Done set_items(const Result<std::vector<PickleRef>>& items);
  Result<std::vector<PickleRef>> pop_many(std::size_t count);

  template <class Index>
  Done put();
  Done put_at(std::size_t index);
  template <class Index>
  Done get();

  Result<std::string_view> read_line();
  Done import_lines();
  Done import_stack();
  Done import_name(std::string_view module, std::string_view name);
  Done reduce();
  Done build();
  Done load_storage();
  Done make_dict(const PickleSequence& arguments);
  Done make_tensor(const PickleSequence& arguments);

  template <class T>
  [[nodiscard]] const T* as(PickleRef at) const {
    return pickle_.get<T>(at);
  }

  PickleReader& pickle_;
  ByteReader& bytes_;
  std::uint64_t at_ = 0;  // offset of the current opcode
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleRef> memo_;
};

Error PickleReader::Machine::bad(std::string_view what) const {
  return bad_checkpoint(pickle_.file_,
                        "pickle at offset " + std::to_string(at_) + ": " + std::string(what));
}

Error PickleReader::Machine::forbidden(std::string_view what) const {
  return {ModelErrc::kForbiddenPickle,
          pickle_.file_ + ": pickle at offset " + std::to_string(at_) + ": " + std::string(what)};
}

Result<PickleRef> PickleReader::Machine::run() {
  while (true) {
    at_ = bytes_.offset();
    const auto opcode = bytes_.read<std::uint8_t>("opcode");
    if (!opcode) return bad("it ends without STOP");
    if (*opcode == static_cast<std::uint8_t>(PickleOpcode::kStop)) break;
    if (const auto done = step(*opcode); !done) return done.error();
  }
  const auto root = pop();
  if (!root) return root.error();
  if (!stack_.empty() || !marks_.empty()) return bad("values are left when it stops");
  return *root;
}

Result<void> PickleReader::Machine::step(std::uint8_t byte) {
  const auto opcode = static_cast<PickleOpcode>(byte);
  switch (opcode) {
    case PickleOpcode::kNone:
    case PickleOpcode::kNewTrue:
    case PickleOpcode::kNewFalse:
    case PickleOpcode::kBinInt:
    case PickleOpcode::kBinInt1:
    case PickleOpcode::kBinInt2:
    case PickleOpcode::kLong1:
    case PickleOpcode::kBinFloat:
    case PickleOpcode::kBinString:
    case PickleOpcode::kShortBinString:
    case PickleOpcode::kBinUnicode:
    case PickleOpcode::kShortBinUnicode:
      return step_constant(opcode);
    case PickleOpcode::kMark:
    case PickleOpcode::kEmptyTuple:
    case PickleOpcode::kEmptyList:
    case PickleOpcode::kEmptyDict:
    case PickleOpcode::kTuple:
    case PickleOpcode::kTuple1:
    case PickleOpcode::kTuple2:
    case PickleOpcode::kTuple3:
    case PickleOpcode::kAppend:
    case PickleOpcode::kAppends:
    case PickleOpcode::kSetItem:
    case PickleOpcode::kSetItems:
      return step_container(opcode);
    case PickleOpcode::kBinPut:
    case PickleOpcode::kLongBinPut:
    case PickleOpcode::kMemoize:
    case PickleOpcode::kBinGet:
    case PickleOpcode::kLongBinGet:
      return step_memo(opcode);
    case PickleOpcode::kGlobal:
    case PickleOpcode::kStackGlobal:
    case PickleOpcode::kReduce:
    case PickleOpcode::kBuild:
    case PickleOpcode::kBinPersId:
      return step_import(opcode);
    case PickleOpcode::kProto:
      return check_protocol();
    case PickleOpcode::kFrame:
      return check_frame();
    case PickleOpcode::kStop:
      break;
  }
  return forbidden(name_of_refused_opcode(byte));
}

Result<void> PickleReader::Machine::step_constant(PickleOpcode opcode) {
  const auto push_number = [this](const auto& read) -> Done {
    if (!read) return read.error();
    return push(std::int64_t{*read});
  };
  switch (opcode) {
    case PickleOpcode::kNone:
      return push(PickleNone{});
    case PickleOpcode::kNewTrue:
      return push(true);
    case PickleOpcode::kNewFalse:
      return push(false);
    case PickleOpcode::kBinInt:
      return push_number(number<std::int32_t>("BININT"));
    case PickleOpcode::kBinInt1:
      return push_number(number<std::uint8_t>("BININT1"));
    case PickleOpcode::kBinInt2:
      return push_number(number<std::uint16_t>("BININT2"));
    case PickleOpcode::kLong1:
      return push_long();
    case PickleOpcode::kBinFloat:
      return push_float();
    case PickleOpcode::kShortBinString:
    case PickleOpcode::kShortBinUnicode:
      return push_text<std::uint8_t>();
    default:
      return push_text<std::uint32_t>();
  }
}

Result<void> PickleReader::Machine::step_container(PickleOpcode opcode) {
  switch (opcode) {
    case PickleOpcode::kMark:
      return mark();
    case PickleOpcode::kEmptyDict:
      return push(PickleDict{});
    case PickleOpcode::kEmptyTuple:
    case PickleOpcode::kEmptyList:
      return push(PickleSequence{});
    case PickleOpcode::kTuple1:
      return push_sequence(pop_many(1));
    case PickleOpcode::kTuple2:
      return push_sequence(pop_many(2));
    case PickleOpcode::kTuple3:
      return push_sequence(pop_many(3));
    case PickleOpcode::kTuple:
      return push_sequence(pop_to_mark());
    case PickleOpcode::kAppend:
      return append(pop_many(1));
    case PickleOpcode::kAppends:
      return append(pop_to_mark());
    case PickleOpcode::kSetItem:
      return set_items(pop_many(2));
    default:
      return set_items(pop_to_mark());
  }
}

Result<void> PickleReader::Machine::step_memo(PickleOpcode opcode) {
  switch (opcode) {
    case PickleOpcode::kBinPut:
      return put<std::uint8_t>();
    case PickleOpcode::kLongBinPut:
      return put<std::uint32_t>();
    case PickleOpcode::kMemoize:
      return put_at(memo_.size());
    case PickleOpcode::kBinGet:
      return get<std::uint8_t>();
    default:
      return get<std::uint32_t>();
  }
}

Result<void> PickleReader::Machine::step_import(PickleOpcode opcode) {
  switch (opcode) {
    case PickleOpcode::kGlobal:
      return import_lines();
    case PickleOpcode::kStackGlobal:
      return import_stack();
    case PickleOpcode::kReduce:
      return reduce();
    case PickleOpcode::kBuild:
      return build();
    default:
      return load_storage();
  }
}

template <class T>
Result<T> PickleReader::Machine::number(std::string_view field) {
  const auto read = bytes_.read<T>(field);
  if (!read) return bad(read.error().detail);
  return *read;
}

template <class Length>
Result<void> PickleReader::Machine::push_text() {
  const auto length = number<Length>("length of text");
  if (!length) return length.error();
  const auto text = bytes_.read_text(*length, "text");
  if (!text) return bad(text.error().detail);
  return push(*text);
}

Result<void> PickleReader::Machine::push_long() {
  const auto length = number<std::uint8_t>("length of LONG1");
  if (!length) return length.error();
  const auto digits = bytes_.read_text(*length, "LONG1");
  if (!digits) return bad(digits.error().detail);
  if (digits->size() > sizeof(std::int64_t)) return push(PickleBigInteger{*digits});
  return push(integer_of(*digits));
}

Result<void> PickleReader::Machine::push_float() {
  const auto bits = number<std::uint64_t>("BINFLOAT");
  if (!bits) return bits.error();
  return push(std::bit_cast<double>(__builtin_bswap64(*bits)));  // the one big-endian field
}

Result<void> PickleReader::Machine::check_protocol() {
  const auto protocol = number<std::uint8_t>("protocol");
  if (!protocol) return protocol.error();
  if (*protocol > kMaxProtocol) return bad("protocol " + std::to_string(*protocol));
  return {};
}

Result<void> PickleReader::Machine::check_frame() {
  const auto size = number<std::uint64_t>("FRAME");
  if (!size) return size.error();
  if (const auto fits = bytes_.expect(*size, 1, "frame"); !fits) return bad(fits.error().detail);
  return {};
}

Result<void> PickleReader::Machine::push(PickleValue value) {
  if (pickle_.values_.size() >= kMaxValues) return bad("more values than a state dict has");
  pickle_.values_.push_back(std::move(value));
  return push_ref(static_cast<PickleRef>(pickle_.values_.size() - 1));
}

Result<void> PickleReader::Machine::push_ref(PickleRef at) {
  if (stack_.size() >= kMaxValues) return bad("more values on the stack than a state dict has");
  stack_.push_back(at);
  return {};
}

Result<PickleRef> PickleReader::Machine::pop() {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) return bad("a value is missing on the stack");
  const PickleRef top = stack_.back();
  stack_.pop_back();
  return top;
}

Result<std::vector<PickleRef>> PickleReader::Machine::pop_many(std::size_t count) {
  std::vector<PickleRef> items(count);
  for (std::size_t i = count; i-- > 0;) {
    const auto item = pop();
    if (!item) return item.error();
    items[i] = *item;
  }
  return items;
}

Result<std::vector<PickleRef>> PickleReader::Machine::pop_to_mark() {
  if (marks_.empty()) return bad("there is no mark on the stack");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleRef> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

Result<void> PickleReader::Machine::mark() {
  if (marks_.size() >= kMaxMarks) return bad("values are nested too deeply");
  marks_.push_back(stack_.size());
  return {};
}

Result<void> PickleReader::Machine::charge_items(std::size_t count) {
  if (count > kMaxItems - pickle_.items_) return bad("more items than a state dict has");
  pickle_.items_ += count;
  return {};
}

Result<void> PickleReader::Machine::push_sequence(Result<std::vector<PickleRef>> items) {
  if (!items) return items.error();
  if (const auto charged = charge_items(items->size()); !charged) return charged.error();
  return push(PickleSequence{std::move(*items)});
}

Result<void> PickleReader::Machine::append(const Result<std::vector<PickleRef>>& items) {
  if (!items) return items.error();
  const auto target = pop();
  if (!target) return target.error();
  auto* list = std::get_if<PickleSequence>(&pickle_.values_[*target]);
  if (list == nullptr) return forbidden("APPEND to what is no list");
  if (const auto charged = charge_items(items->size()); !charged) return charged.error();
  list->items.insert(list->items.end(), items->begin(), items->end());
  return push_ref(*target);
}

Result<void> PickleReader::Machine::set_items(const Result<std::vector<PickleRef>>& items) {
  if (!items) return items.error();
  const auto target = pop();
  if (!target) return target.error();
  auto* dict = std::get_if<PickleDict>(&pickle_.values_[*target]);
  if (dict == nullptr) return forbidden("SETITEM on what is no dict");
  if (items->size() % 2 != 0) return bad("a key without a value");
  if (const auto charged = charge_items(items->size()); !charged) return charged.error();
  for (std::size_t i = 0; i < items->size(); i += 2)
    dict->items.emplace_back((*items)[i], (*items)[i + 1]);
  return push_ref(*target);
}

template <class Index>
Result<void> PickleReader::Machine::put() {
  const auto index = number<Index>("memo index");
  if (!index) return index.error();
  return put_at(*index);
}

Result<void> PickleReader::Machine::put_at(std::size_t index) {
  // Each index in use costs the file at least a byte, so a larger index cannot be a memo of this
  // file.
  if (index >= kMaxValues || index >= bytes_.end())
    return bad("memo index " + std::to_string(index));
  const auto top = pop();
  if (!top) return top.error();
  if (index >= memo_.size()) memo_.resize(index + 1, kNothing);
  memo_[index] = *top;
  return push_ref(*top);
}

template <class Index>
Result<void> PickleReader::Machine::get() {
  const auto index = number<Index>("memo index");
  if (!index) return index.error();
  if (*index >= memo_.size() || memo_[*index] == kNothing)
    return bad("memo index " + std::to_string(*index) + " was never set");
  return push_ref(memo_[*index]);
}

Result<std::string_view> PickleReader::Machine::read_line() {
  const auto window = bytes_.peek(kMaxImportNameBytes);
  const auto end = std::ranges::find(window, std::byte{'\n'});
  if (end == window.end()) return bad("GLOBAL without a name");
  const auto length = static_cast<std::uint64_t>(end - window.begin());
  const auto line = bytes_.read_text(length + 1, "GLOBAL");
  if (!line) return bad(line.error().detail);
  return line->substr(0, length);
}

Result<void> PickleReader::Machine::import_lines() {
  const auto module = read_line();
  if (!module) return module.error();
  const auto name = read_line();
  if (!name) return name.error();
  return import_name(*module, *name);
}

Result<void> PickleReader::Machine::import_stack() {
  const auto names = pop_many(2);
  if (!names) return names.error();
  const auto* module = as<std::string_view>(names->front());
  const auto* name = as<std::string_view>(names->back());
  if (module == nullptr || name == nullptr) return forbidden("STACK_GLOBAL of what is no text");
  return import_name(*module, *name);
}

Result<void> PickleReader::Machine::import_name(std::string_view module, std::string_view name) {
  const auto* row = std::ranges::find_if(kAllowed, [&](const Allowed& allowed) {
    return allowed.module == module && allowed.name == name;
  });
  if (row == kAllowed.end()) return forbidden(in_quotes(module) + "." + in_quotes(name));
  return push(row->global);
}

Result<void> PickleReader::Machine::reduce() {
  const auto popped = pop_many(2);
  if (!popped) return popped.error();
  const auto* callee = as<PickleGlobal>(popped->front());
  const auto* arguments = as<PickleSequence>(popped->back());
  if (callee == nullptr || arguments == nullptr)
    return forbidden("REDUCE of what is no known function");
  switch (callee->name) {
    case PickleName::kOrderedDict:
      return make_dict(*arguments);
    case PickleName::kRebuildTensor:
    case PickleName::kRebuildTensorV2:
      return make_tensor(*arguments);
    case PickleName::kRebuildParameter:
      if (arguments->items.empty() || as<PickleTensor>(arguments->items[0]) == nullptr)
        return bad("_rebuild_parameter of what is no tensor");
      return push_ref(arguments->items[0]);
    case PickleName::kSize:
      if (arguments->items.size() != 1 || as<PickleSequence>(arguments->items[0]) == nullptr)
        return bad("torch.Size of what is no sequence");
      return push_ref(arguments->items[0]);
    case PickleName::kStorage:
      break;
  }
  return forbidden("REDUCE of a storage class");
}

Result<void> PickleReader::Machine::make_dict(const PickleSequence& arguments) {
  if (arguments.items.empty()) return push(PickleDict{});
  const auto* pairs = as<PickleSequence>(arguments.items[0]);
  if (arguments.items.size() != 1 || pairs == nullptr)
    return bad("OrderedDict of what is no list of pairs");
  if (const auto charged = charge_items(2 * pairs->items.size()); !charged) return charged.error();
  PickleDict dict;
  for (const PickleRef at : pairs->items) {
    const auto* pair = as<PickleSequence>(at);
    if (pair == nullptr || pair->items.size() != 2)
      return bad("OrderedDict of what is no list of pairs");
    dict.items.emplace_back(pair->items[0], pair->items[1]);
  }
  return push(std::move(dict));
}

Result<void> PickleReader::Machine::make_tensor(const PickleSequence& arguments) {
  // storage, offset, shape, strides; the following items are about gradients
  const auto& items = arguments.items;
  if (items.size() < 4 || as<PickleStorage>(items[0]) == nullptr ||
      as<std::int64_t>(items[1]) == nullptr || as<PickleSequence>(items[2]) == nullptr ||
      as<PickleSequence>(items[3]) == nullptr)
    return bad("a tensor is not (storage, offset, shape, strides, ...)");
  return push(PickleTensor{.storage = items[0],
                           .shape = items[2],
                           .strides = items[3],
                           .offset = *as<std::int64_t>(items[1])});
}

Result<void> PickleReader::Machine::build() {
  const auto popped = pop_many(2);
  if (!popped) return popped.error();
  // An OrderedDict with attributes: state_dict() keeps versions in _metadata.
  if (as<PickleDict>(popped->front()) == nullptr || as<PickleDict>(popped->back()) == nullptr)
    return forbidden("BUILD of what is no OrderedDict");
  return push_ref(popped->front());
}

Result<void> PickleReader::Machine::load_storage() {
  // ("storage", class, key, device, elements); legacy files also have a view, which is None
  const auto popped = pop();
  if (!popped) return popped.error();
  const auto* id = as<PickleSequence>(*popped);
  if (id == nullptr || id->items.size() < 5 || id->items.size() > 6)
    return forbidden("BINPERSID of what is no storage");
  const auto* kind = as<std::string_view>(id->items[0]);
  const auto* type = as<PickleGlobal>(id->items[1]);
  const auto* key = as<std::string_view>(id->items[2]);
  const auto* elements = as<std::int64_t>(id->items[4]);
  if (kind == nullptr || *kind != "storage" || type == nullptr ||
      type->name != PickleName::kStorage || key == nullptr || elements == nullptr)
    return forbidden("BINPERSID of what is no storage");
  if (*elements < 0) return bad("a storage of " + std::to_string(*elements) + " elements");
  if (id->items.size() == 6 && as<PickleNone>(id->items[5]) == nullptr)
    return bad("a view of a storage, which no PyTorch since 0.4 writes");
  return push(PickleStorage{.key = *key, .elements = *elements, .dtype = type->dtype});
}

Result<PickleRef> PickleReader::read(ByteReader& reader) { return Machine(*this, reader).run(); }

}  // namespace weft
