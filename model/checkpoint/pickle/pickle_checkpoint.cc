#include "weft/model/checkpoint/pickle/pickle_checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error/checked.h"
#include "weft/core/io/byte_reader.h"
#include "weft/model/checkpoint/header_bytes.h"
#include "weft/model/checkpoint/pickle/pickle.h"
#include "weft/model/checkpoint/pickle/pickle_view.h"
#include "weft/model/checkpoint/pickle/zip.h"

namespace weft {
namespace {

using namespace std::string_view_literals;

// The first pickle of torch.save is this number, 0x1950a86a20f9469cfc6c, and the second this
// version.
constexpr std::string_view kPickleMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
constexpr std::int64_t kLegacyVersion = 1001;
// Bytes of the count of elements before a storage of an old file.
constexpr std::uint64_t kCountBytes = 8;

constexpr std::size_t kMaxRank = 64;             // PyTorch's own limit
constexpr std::uint64_t kCopiedPerFileByte = 2;  // limit of memory for transposed tensors
// Limit of bytes read for such tensors: a tensor with every third column of a storage reads the
// whole storage.
constexpr std::uint64_t kReadPerFileByte = 16;

/// A range of bytes of the file.
struct Place {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Returns where the bytes of a storage are.
using FindStorage = std::function<Result<Place>(const PickleStorage&)>;

/// Converts the values of a pickle to tensors.
class StateDict {
 public:
  StateDict(const PickleReader& pickle, const SharedSource& source, FindStorage find_storage)
      : pickle_(pickle),
        source_(source),
        file_(source->name()),
        find_storage_(std::move(find_storage)),
        copy_allowance_(kCopiedPerFileByte * source->size()),
        read_allowance_(kReadPerFileByte * source->size()) {}

  Result<CheckpointFile> read(PickleRef root);

 private:
  [[nodiscard]] const PickleDict* find(PickleRef root) const;
  [[nodiscard]] Error bad(std::string_view what) const {
    return bad_checkpoint(file_, "tensor " + in_quotes(name_) + ": " + std::string(what));
  }
  [[nodiscard]] Result<std::vector<std::int64_t>> integers(PickleRef at) const;
  [[nodiscard]] Result<StridedView> view_of(const PickleTensor& tensor) const;
  [[nodiscard]] Result<void> add(const PickleTensor& tensor);
  [[nodiscard]] Result<void> put_place(const StridedView& view, const Place& storage,
                                       CheckpointTensor& tensor);
  [[nodiscard]] Result<SharedSource> copy_in_order(const StridedView& view, const Place& storage,
                                                   std::uint64_t width);

  const PickleReader& pickle_;
  const SharedSource& source_;
  std::string_view file_;
  FindStorage find_storage_;
  std::uint64_t copy_allowance_;
  std::uint64_t read_allowance_;
  std::string_view name_;  // name of the current tensor
  CheckpointFile result_;
};

const PickleDict* StateDict::find(PickleRef root) const {
  const auto* dict = pickle_.get<PickleDict>(root);
  if (dict == nullptr) return nullptr;
  for (const auto& [key, value] : dict->items) {
    const auto* word = pickle_.get<std::string_view>(key);
    const auto* inner = pickle_.get<PickleDict>(value);
    if (word != nullptr && (*word == "state_dict" || *word == "model") && inner != nullptr)
      return inner;
  }
  return dict;
}

Result<CheckpointFile> StateDict::read(PickleRef root) {
  const PickleDict* dict = find(root);
  if (dict == nullptr) return bad_checkpoint(file_, "holds no state dict");
  for (const auto& [key, value] : dict->items) {
    const auto* tensor = pickle_.get<PickleTensor>(value);
    if (tensor == nullptr) continue;
    const auto* name = pickle_.get<std::string_view>(key);
    if (name == nullptr) return bad_checkpoint(file_, "a tensor's name is no text");
    name_ = *name;
    if (const auto added = add(*tensor); !added) return added.error();
  }
  if (result_.tensors.empty()) return bad_checkpoint(file_, "its state dict holds no tensors");
  return std::move(result_);
}

Result<std::vector<std::int64_t>> StateDict::integers(PickleRef at) const {
  const auto* sequence = pickle_.get<PickleSequence>(at);
  if (sequence == nullptr || sequence->items.size() > kMaxRank)
    return bad("its shape or strides are no short tuple");
  std::vector<std::int64_t> numbers;
  for (const PickleRef item : sequence->items) {
    const auto* number = pickle_.get<std::int64_t>(item);
    if (number == nullptr) return bad("its shape or strides hold what is no integer");
    numbers.push_back(*number);
  }
  return numbers;
}

Result<StridedView> StateDict::view_of(const PickleTensor& tensor) const {
  auto shape = integers(tensor.shape);
  if (!shape) return shape.error();
  auto strides = integers(tensor.strides);
  if (!strides) return strides.error();
  if (shape->size() != strides->size())
    return bad("it has " + std::to_string(shape->size()) + " dimensions and " +
               std::to_string(strides->size()) + " strides");
  return StridedView{tensor.offset, std::move(*shape), std::move(*strides)};
}

Result<void> StateDict::add(const PickleTensor& tensor) {
  auto view = view_of(tensor);
  if (!view) return view.error();
  const auto& storage = *pickle_.get<PickleStorage>(tensor.storage);
  const auto extent = extent_of(*view);
  if (!extent || *extent > storage.elements)
    return bad("it reaches out of its storage " + in_quotes(storage.key) + " of " +
               std::to_string(storage.elements) + " elements");
  const auto all = find_storage_(storage);
  if (!all) return all.error();
  CheckpointTensor made{.name = std::string(name_), .dtype = storage.dtype, .shape = view->shape};
  if (const auto placed = put_place(*view, *all, made); !placed) return placed.error();
  result_.tensors.push_back(std::move(made));
  return {};
}

Result<void> StateDict::put_place(const StridedView& view, const Place& storage,
                                  CheckpointTensor& tensor) {
  const auto width = static_cast<std::uint64_t>(block_of(tensor.dtype).bytes);
  const auto count = static_cast<std::uint64_t>(*elements_of(view));  // extent_of() has checked it
  tensor.source = source_;
  tensor.offset = storage.offset;
  tensor.size = count * width;
  if (count == 0) return {};
  if (is_row_major(view)) {
    tensor.offset += static_cast<std::uint64_t>(view.offset) * width;
    return {};
  }
  auto copy = copy_in_order(view, storage, width);
  if (!copy) return copy.error();
  tensor.source = std::move(*copy);
  tensor.offset = 0;
  return {};
}

Result<SharedSource> StateDict::copy_in_order(const StridedView& view, const Place& storage,
                                              std::uint64_t width) {
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] > 1 && view.strides[i] == 0)
      return unsupported_checkpoint(
          file_, "tensor " + in_quotes(name_) + " has a stride of 0: it was saved expanded");
  }
  const auto count = static_cast<std::uint64_t>(*elements_of(view));
  const std::uint64_t covered = static_cast<std::uint64_t>(*extent_of(view) - view.offset) * width;
  // Overlapping views could have more elements than their storage; rows of a matrix cannot.
  if (count > storage.size / width || count * width > copy_allowance_ || covered > read_allowance_)
    return bad("its copy in row-major order takes more than the file justifies");
  copy_allowance_ -= count * width;
  read_allowance_ -= covered;
  std::vector<std::byte> from(covered);
  const std::uint64_t first = static_cast<std::uint64_t>(view.offset) * width;
  if (const auto read = source_->read(storage.offset + first, from); !read) return read.error();
  std::vector<std::byte> copy(count * width);
  copy_row_major({0, view.shape, view.strides}, width, from, copy);
  return std::make_shared<const MemorySource>(source_->name(), std::move(copy));
}

/// Returns the bytes of a storage, which must equal its size in the file.
Result<std::uint64_t> bytes_of_storage(const PickleStorage& storage, std::string_view file) {
  const auto size = bytes_of(storage.dtype, storage.elements);
  if (!size)
    return bad_checkpoint(file, "storage " + in_quotes(storage.key) + " has " +
                                    std::to_string(storage.elements) + " elements");
  return static_cast<std::uint64_t>(*size);
}

// --- The zip layout.

/// Returns "NAME/" of the archive's NAME/data.pkl, which must exist exactly once.
Result<std::string> prefix_of(const ZipArchive& archive, std::string_view file) {
  constexpr std::string_view kPickle = "/data.pkl";
  std::optional<std::string_view> prefix;
  for (const ZipEntry& entry : archive.entries()) {
    if (!entry.name.ends_with(kPickle)) continue;
    const auto folder =
        std::string_view(entry.name).substr(0, entry.name.size() - kPickle.size() + 1);
    if (folder.find('/') != folder.size() - 1) continue;
    if (prefix) return bad_checkpoint(file, "the archive has two files data.pkl");
    prefix = folder;
  }
  if (!prefix) return bad_checkpoint(file, "the archive has no file data.pkl");
  return std::string(*prefix);
}

Result<void> check_archive(const ZipArchive& archive, const std::string& prefix,
                           const ByteSource& source) {
  if (archive.find(prefix + "constants.pkl") != nullptr)
    return unsupported_checkpoint(source.name(), "is a TorchScript program, not a state dict");
  const ZipEntry* order = archive.find(prefix + "byteorder");
  if (order == nullptr) return {};
  constexpr std::string_view kLittle = "little";
  const auto word = read_held(source, order->offset, std::min(order->size, kLittle.size() + 1));
  if (!word) return word.error();
  if (!std::ranges::equal(*word, std::as_bytes(std::span(kLittle))))
    return unsupported_checkpoint(source.name(), "its numbers are not little-endian");
  return {};
}

Result<CheckpointFile> read_zip_layout(const SharedSource& source) {
  const std::string& file = source->name();
  const auto archive = ZipArchive::read(*source);
  if (!archive) return archive.error();
  const auto prefix = prefix_of(*archive, file);
  if (!prefix) return prefix.error();
  if (const auto checked = check_archive(*archive, *prefix, *source); !checked)
    return checked.error();
  const ZipEntry& data = *archive->find(*prefix + "data.pkl");
  const auto bytes = read_held(*source, data.offset, data.size);
  if (!bytes) return bytes.error();
  PickleReader pickle(file + ": " + data.name);
  ByteReader reader(*bytes);
  const auto root = pickle.read(reader);
  if (!root) return root.error();
  const auto find_storage = [&](const PickleStorage& storage) -> Result<Place> {
    const auto size = bytes_of_storage(storage, file);
    if (!size) return size.error();
    const ZipEntry* entry = archive->find(*prefix + "data/" + std::string(storage.key));
    if (entry == nullptr)
      return bad_checkpoint(file, "storage " + in_quotes(storage.key) + " is not in the archive");
    if (entry->size != *size)
      return bad_checkpoint(file, "storage " + in_quotes(storage.key) + " takes " +
                                      std::to_string(*size) + " bytes, the archive has " +
                                      std::to_string(entry->size));
    return Place{entry->offset, entry->size};
  };
  return StateDict(pickle, source, find_storage).read(*root);
}

// --- The older layout: pickles of magic number, version, system, state dict, storage keys; then
// for each key a count of elements and their bytes.

class LegacyReader {
 public:
  explicit LegacyReader(const SharedSource& source)
      : source_(source),
        file_(source->name()),
        header_(*source, 0, source->size()),
        pickle_(source->name()) {}

  Result<CheckpointFile> read();

 private:
  /// The last two pickles, and the offset of the storages.
  struct Pickles {
    PickleRef root = 0;
    PickleRef keys = 0;
    std::uint64_t end = 0;
  };

  [[nodiscard]] Error bad(std::string_view what) const { return bad_checkpoint(file_, what); }
  Result<Pickles> read_pickles(ByteWindow& window);
  Result<void> read_preamble(ByteReader& reader);
  Result<void> check_system(PickleRef at) const;
  Result<void> collect_storages();
  Result<void> read_storages(const PickleSequence& keys, std::uint64_t begin);
  Result<Place> read_storage(std::string_view key, std::uint64_t begin);

  const SharedSource& source_;
  std::string_view file_;
  HeaderBytes header_;  // the pickle's texts point into it
  PickleReader pickle_;
  std::map<std::string_view, const PickleStorage*> wanted_;
  std::map<std::string_view, Place> found_;
};

Result<void> LegacyReader::read_preamble(ByteReader& reader) {
  const auto magic = pickle_.read(reader);
  if (!magic) return magic.error();
  const auto* number = pickle_.get<PickleBigInteger>(*magic);
  if (number == nullptr || number->bytes != kPickleMagic)
    return bad("does not begin with torch.save's magic number");
  const auto version = pickle_.read(reader);
  if (!version) return version.error();
  const auto* value = pickle_.get<std::int64_t>(*version);
  if (value == nullptr || *value != kLegacyVersion)
    return unsupported_checkpoint(file_, "is of an unknown version of torch.save's old format");
  const auto system = pickle_.read(reader);
  if (!system) return system.error();
  return check_system(*system);
}

Result<void> LegacyReader::check_system(PickleRef at) const {
  const auto* system = pickle_.get<PickleDict>(at);
  if (system == nullptr) return bad("its third pickle is no dict");
  for (const auto& [key, value] : system->items) {
    const auto* word = pickle_.get<std::string_view>(key);
    const auto* flag = pickle_.get<bool>(value);
    if (word != nullptr && *word == "little_endian" && (flag == nullptr || !*flag))
      return unsupported_checkpoint(file_, "its numbers are not little-endian");
  }
  return {};
}

Result<Place> LegacyReader::read_storage(std::string_view key, std::uint64_t begin) {
  const auto known = wanted_.find(key);
  if (known == wanted_.end()) return bad("storage " + in_quotes(key) + " belongs to no tensor");
  const std::uint64_t end = source_->size();
  const auto count = read_held(*source_, begin, std::min(kCountBytes, end - begin));
  if (!count) return count.error();
  ByteWindow window{*count, begin, end};
  ByteReader reader(window);
  const auto elements = reader.read<std::int64_t>("elements of a storage");
  if (!elements) return bad(elements.error().detail);
  if (*elements != known->second->elements)
    return bad("storage " + in_quotes(key) + " has " + std::to_string(*elements) +
               " elements, its tensor says " + std::to_string(known->second->elements));
  const auto size = bytes_of_storage(*known->second, file_);
  if (!size) return size.error();
  const auto passed = reader.skip(*size, "storage " + in_quotes(key));
  if (!passed) return bad(passed.error().detail);
  return Place{begin + kCountBytes, *size};
}

Result<void> LegacyReader::collect_storages() {
  for (PickleRef at = 0; at < pickle_.size(); ++at) {
    const auto* storage = pickle_.get<PickleStorage>(at);
    if (storage == nullptr) continue;
    const auto [place, is_new] = wanted_.try_emplace(storage->key, storage);
    if (!is_new &&
        (place->second->elements != storage->elements || place->second->dtype != storage->dtype))
      return bad("storage " + in_quotes(storage->key) + " is described in two ways");
  }
  return {};
}

Result<void> LegacyReader::read_storages(const PickleSequence& keys, std::uint64_t begin) {
  for (const PickleRef item : keys.items) {
    const auto* key = pickle_.get<std::string_view>(item);
    if (key == nullptr) return bad("the key of a storage is no text");
    if (found_.contains(*key)) return bad("storage " + in_quotes(*key) + " is there twice");
    const auto place = read_storage(*key, begin);
    if (!place) return place.error();
    found_.emplace(*key, *place);
    begin = place->offset + place->size;
  }
  if (begin != source_->size())
    return bad(std::to_string(source_->size() - begin) + " bytes are left behind the last storage");
  return {};
}

Result<LegacyReader::Pickles> LegacyReader::read_pickles(ByteWindow& window) {
  pickle_ = PickleReader(file_);
  ByteReader reader(window);
  if (const auto done = read_preamble(reader); !done) return done.error();
  const auto root = pickle_.read(reader);
  if (!root) return root.error();
  const auto keys = pickle_.read(reader);
  if (!keys) return keys.error();
  return Pickles{*root, *keys, reader.offset()};
}

Result<CheckpointFile> LegacyReader::read() {
  const auto pickles = header_.parse([this](ByteWindow& window) { return read_pickles(window); });
  if (!pickles) return pickles.error();
  const auto* list = pickle_.get<PickleSequence>(pickles->keys);
  if (list == nullptr) return bad("the storages' keys are no list");
  if (const auto done = collect_storages(); !done) return done.error();
  if (const auto done = read_storages(*list, pickles->end); !done) return done.error();
  const auto find_storage = [this](const PickleStorage& storage) -> Result<Place> {
    const auto place = found_.find(storage.key);
    if (place == found_.end())
      return bad("storage " + in_quotes(storage.key) + " is not in the file");
    return place->second;
  };
  return StateDict(pickle_, source_, find_storage).read(pickles->root);
}

}  // namespace

Result<CheckpointFile> read_pickle_checkpoint(const SharedSource& source) {
  constexpr std::string_view kZip = "PK";
  const auto begin = read_held(*source, 0, std::min<std::uint64_t>(source->size(), kZip.size()));
  if (!begin) return begin.error();
  const bool is_zip = std::ranges::equal(*begin, std::as_bytes(std::span(kZip)));
  return is_zip ? read_zip_layout(source) : LegacyReader(source).read();
}

}  // namespace weft
