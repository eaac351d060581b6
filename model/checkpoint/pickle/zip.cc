#include "weft/model/checkpoint/pickle/zip.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "weft/core/io/byte_reader.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/header_bytes.h"

namespace weft {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEndRecord = 0x06054b50;
constexpr std::uint32_t kEndRecord64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::uint16_t kExtra64 = 0x0001;

constexpr std::uint64_t kEndRecordBytes = 22;
constexpr std::uint64_t kEndRecord64Bytes = 56;
constexpr std::uint64_t kLocatorBytes = 20;
constexpr std::uint64_t kLocalHeaderBytes = 30;
constexpr std::uint64_t kCentralHeaderBytes = 46;
constexpr std::uint64_t kMaxCommentBytes = 0xffff;

// A field with this value is in the zip64 record or extra field instead.
constexpr std::uint64_t kIn64 = 0xffffffff;
constexpr std::uint64_t kCountIn64 = 0xffff;

constexpr unsigned kEncrypted = 1U << 0U | 1U << 6U | 1U << 13U;
constexpr unsigned kPatch = 1U << 5U;

/// The used fields of an entry in the central directory; borrows its bytes.
struct CentralHeader {
  std::string_view name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint64_t size = 0;
  std::uint64_t compressed_size = 0;
  std::uint64_t local_header = 0;
};

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};

/// An entry and its range of bytes, its local header included.
struct Placed {
  ZipEntry entry;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class ZipReader {
 public:
  explicit ZipReader(const ByteSource& source) : source_(source), file_(source.name()) {}

  Result<std::vector<ZipEntry>> read();

 private:
  [[nodiscard]] Error bad(std::string_view what) const { return bad_checkpoint(file_, what); }
  Result<void> read_tail();
  [[nodiscard]] std::optional<std::uint64_t> find_end_record() const;
  [[nodiscard]] Result<Directory> read_directory(std::uint64_t end_record) const;
  [[nodiscard]] Result<Directory> read_directory64(std::uint64_t end_record) const;
  [[nodiscard]] Result<Directory> read_record64(ByteWindow& window) const;
  [[nodiscard]] Result<std::vector<Placed>> read_entries(const Directory& directory) const;
  [[nodiscard]] Result<CentralHeader> read_header(FieldReader& fields) const;
  [[nodiscard]] Result<void> check_plain(const CentralHeader& header) const;
  [[nodiscard]] Result<Placed> place(const CentralHeader& header, std::uint64_t end) const;
  [[nodiscard]] Result<Placed> place(const CentralHeader& header, ByteWindow& window) const;

  const ByteSource& source_;
  std::string_view file_;
  // The bytes that may contain the end record, and the locator before it.
  std::vector<std::byte> tail_;
};

Result<void> ZipReader::read_tail() {
  constexpr std::uint64_t kMost = kLocatorBytes + kEndRecordBytes + kMaxCommentBytes;
  const std::uint64_t count = std::min(source_.size(), kMost);
  auto tail = read_held(source_, source_.size() - count, count);
  if (!tail) return tail.error();
  tail_ = std::move(*tail);
  return {};
}

std::optional<std::uint64_t> ZipReader::find_end_record() const {
  if (tail_.size() < kEndRecordBytes) return std::nullopt;
  const std::uint64_t last = tail_.size() - kEndRecordBytes;
  const std::uint64_t first = last - std::min(last, kMaxCommentBytes);
  for (std::uint64_t at = last + 1; at-- > first;) {
    std::uint32_t signature = 0;
    std::uint16_t comment = 0;
    std::memcpy(&signature, tail_.data() + at, sizeof signature);
    std::memcpy(&comment, tail_.data() + at + kEndRecordBytes - sizeof comment, sizeof comment);
    if (signature == kEndRecord && comment == last - at) return source_.size() - tail_.size() + at;
  }
  return std::nullopt;
}

Result<Directory> ZipReader::read_directory(std::uint64_t end_record) const {
  ByteWindow window{tail_, source_.size() - tail_.size(), source_.size()};
  FieldReader fields(window);
  fields.seek(end_record + 4, "the end record");
  const auto disk = fields.take<std::uint16_t>("disk");
  const auto first_disk = fields.take<std::uint16_t>("disk of the directory");
  const auto entries_here = fields.take<std::uint16_t>("entries of this disk");
  Directory directory;
  directory.entries = fields.take<std::uint16_t>("entries");
  directory.size = fields.take<std::uint32_t>("size of the directory");
  directory.offset = fields.take<std::uint32_t>("offset of the directory");
  if (fields.failed()) return bad(fields.error().detail);
  if (directory.entries == kCountIn64 || directory.size == kIn64 || directory.offset == kIn64)
    return read_directory64(end_record);
  if (disk != 0 || first_disk != 0 || entries_here != directory.entries)
    return unsupported_checkpoint(file_, "a zip archive in several parts");
  return directory;
}

Result<Directory> ZipReader::read_directory64(std::uint64_t end_record) const {
  if (end_record < kLocatorBytes) return bad("the zip64 locator is missing");
  ByteWindow window{tail_, source_.size() - tail_.size(), source_.size()};
  FieldReader fields(window);
  fields.seek(end_record - kLocatorBytes, "the zip64 locator");
  if (fields.take<std::uint32_t>("the zip64 locator") != kLocator64)
    return bad("the zip64 locator is missing");
  fields.skip(4, "disk of the zip64 end record");
  const auto record = fields.take<std::uint64_t>("offset of the zip64 end record");
  const auto disks = fields.take<std::uint32_t>("disks");
  fields.seek(record, "the zip64 end record");
  if (fields.failed()) return bad(fields.error().detail);
  if (disks > 1) return unsupported_checkpoint(file_, "a zip archive in several parts");
  return HeaderBytes(source_, record, source_.size(), kEndRecord64Bytes)
      .parse([this](ByteWindow& found) { return read_record64(found); });
}

Result<Directory> ZipReader::read_record64(ByteWindow& window) const {
  FieldReader fields(window);
  if (fields.take<std::uint32_t>("the zip64 end record") != kEndRecord64)
    return bad("there is no zip64 end record at offset " + std::to_string(window.begin));
  fields.skip(20, "the zip64 end record");
  fields.skip(8, "entries of this disk");
  Directory directory;
  directory.entries = fields.take<std::uint64_t>("entries");
  directory.size = fields.take<std::uint64_t>("size of the directory");
  directory.offset = fields.take<std::uint64_t>("offset of the directory");
  if (fields.failed()) return bad(fields.error().detail);
  return directory;
}

/// Reads numbers from a zip64 extra field that the header lacks.
void read_extra64(std::span<const std::byte> extra, CentralHeader& header) {
  FieldReader fields(extra);
  while (fields.remaining() >= 4) {
    const auto id = fields.take<std::uint16_t>("extra field");
    const auto size = fields.take<std::uint16_t>("extra field");
    if (id != kExtra64) {
      fields.skip(size, "extra field");
      if (fields.failed()) return;
      continue;
    }
    for (std::uint64_t* number : {&header.size, &header.compressed_size, &header.local_header}) {
      if (*number != kIn64) continue;
      const auto value = fields.take<std::uint64_t>("zip64 extra field");
      if (!fields.failed()) *number = value;
    }
    return;
  }
}

Result<CentralHeader> ZipReader::read_header(FieldReader& fields) const {
  const std::uint64_t offset = fields.offset();
  if (fields.take<std::uint32_t>("an entry of the directory") != kCentralHeader)
    return bad("there is no entry of the directory at offset " + std::to_string(offset));
  CentralHeader header;
  fields.skip(4, "versions");
  header.flags = fields.take<std::uint16_t>("flags");
  header.method = fields.take<std::uint16_t>("method");
  fields.skip(8, "time and checksum");
  header.compressed_size = fields.take<std::uint32_t>("compressed size");
  header.size = fields.take<std::uint32_t>("size");
  const auto name_bytes = fields.take<std::uint16_t>("length of the name");
  const auto extra_bytes = fields.take<std::uint16_t>("length of the extra field");
  const auto comment_bytes = fields.take<std::uint16_t>("length of the comment");
  fields.skip(8, "attributes");
  header.local_header = fields.take<std::uint32_t>("offset of the local header");
  header.name = fields.text(name_bytes, "name");
  const auto extra = fields.bytes(extra_bytes, "extra field");
  fields.skip(comment_bytes, "comment");
  if (fields.failed()) return bad(fields.error().detail);
  read_extra64(extra, header);
  return header;
}

Result<void> ZipReader::check_plain(const CentralHeader& header) const {
  const std::string entry = "entry " + in_quotes(header.name);
  if ((header.flags & kEncrypted) != 0)
    return unsupported_checkpoint(file_, entry + " is encrypted");
  if ((header.flags & kPatch) != 0) return unsupported_checkpoint(file_, entry + " is a patch");
  if (header.method != 0)
    return unsupported_checkpoint(
        file_, entry + " is compressed (method " + std::to_string(header.method) + ")");
  if (header.size != header.compressed_size)
    return bad(entry + " is stored and has two sizes, " + std::to_string(header.size) + " and " +
               std::to_string(header.compressed_size));
  return {};
}

Result<Placed> ZipReader::place(const CentralHeader& header, std::uint64_t end) const {
  if (const auto plain = check_plain(header); !plain) return plain.error();
  if (header.local_header > end)
    return bad("local header of " + in_quotes(header.name) + " is at offset " +
               std::to_string(header.local_header) + " of " + std::to_string(end) + " bytes");
  return HeaderBytes(source_, header.local_header, end, kLocalHeaderBytes + header.name.size())
      .parse([&](ByteWindow& window) { return place(header, window); });
}

Result<Placed> ZipReader::place(const CentralHeader& header, ByteWindow& window) const {
  FieldReader fields(window);
  if (fields.take<std::uint32_t>("local header") != kLocalHeader)
    return bad("there is no local header at offset " + std::to_string(header.local_header));
  fields.skip(2, "version");
  const auto flags = fields.take<std::uint16_t>("flags");
  const auto method = fields.take<std::uint16_t>("method");
  fields.skip(16, "time, checksum and sizes");  // sizes may follow the data instead
  const auto name_bytes = fields.take<std::uint16_t>("length of the name");
  const auto extra_bytes = fields.take<std::uint16_t>("length of the extra field");
  const auto name = fields.text(name_bytes, "name");
  fields.skip(extra_bytes, "extra field");
  const std::uint64_t data = fields.offset();
  fields.skip(header.size, "data of " + in_quotes(header.name));
  if (fields.failed()) return bad(fields.error().detail);
  if (name != header.name || method != header.method || (flags & (kEncrypted | kPatch)) != 0)
    return bad("the local header at offset " + std::to_string(header.local_header) +
               " is not that of " + in_quotes(header.name));
  return Placed{
      {std::string(header.name), data, header.size}, header.local_header, fields.offset()};
}

/// Refuses entries that share bytes: otherwise a small file could claim to be a large one.
Result<void> check_overlap(std::vector<Placed>& placed, std::string_view file) {
  std::ranges::sort(placed, {}, &Placed::begin);
  const auto clash = std::ranges::adjacent_find(
      placed, [](const Placed& left, const Placed& right) { return right.begin < left.end; });
  if (clash == placed.end()) return {};
  return bad_checkpoint(file, "entries " + in_quotes(clash->entry.name) + " and " +
                                  in_quotes(std::next(clash)->entry.name) + " overlap");
}

Result<std::vector<Placed>> ZipReader::read_entries(const Directory& directory) const {
  const auto bytes = read_held(source_, directory.offset, directory.size);
  if (!bytes) return bytes.error();
  ByteWindow window{*bytes, directory.offset, directory.offset + directory.size};
  FieldReader fields(window);
  std::vector<Placed> placed;
  placed.reserve(directory.entries);
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const auto header = read_header(fields);
    if (!header) return header.error();
    auto entry = place(*header, directory.offset);
    if (!entry) return entry.error();
    placed.push_back(std::move(*entry));
  }
  if (fields.remaining() != 0) return bad("the directory is longer than its entries");
  return placed;
}

Result<std::vector<ZipEntry>> ZipReader::read() {
  if (const auto done = read_tail(); !done) return done.error();
  const auto end_record = find_end_record();
  if (!end_record) return bad("the zip archive's end is missing");
  const auto directory = read_directory(*end_record);
  if (!directory) return directory.error();
  if (directory->offset > *end_record || directory->size > *end_record - directory->offset ||
      directory->entries > directory->size / kCentralHeaderBytes)
    return bad("the directory of " + std::to_string(directory->entries) + " entries at offset " +
               std::to_string(directory->offset) + " does not fit the file");
  auto placed = read_entries(*directory);
  if (!placed) return placed.error();
  if (const auto apart = check_overlap(*placed, file_); !apart) return apart.error();
  std::vector<ZipEntry> entries;
  entries.reserve(placed->size());
  for (Placed& one : *placed) entries.push_back(std::move(one.entry));
  return entries;
}

}  // namespace

Result<ZipArchive> ZipArchive::read(const ByteSource& source) {
  auto entries = ZipReader(source).read();
  if (!entries) return entries.error();
  std::ranges::sort(*entries, {}, &ZipEntry::name);
  const auto twice = std::ranges::adjacent_find(*entries, {}, &ZipEntry::name);
  if (twice != entries->end())
    return bad_checkpoint(source.name(), "entry " + in_quotes(twice->name) + " is there twice");
  ZipArchive archive;
  archive.entries_ = std::move(*entries);
  return archive;
}

const ZipEntry* ZipArchive::find(std::string_view name) const noexcept {
  const auto found = std::ranges::lower_bound(
      entries_, name, {}, [](const ZipEntry& entry) -> std::string_view { return entry.name; });
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace weft
