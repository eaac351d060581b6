#include "weft/core/io/byte_reader.h"

#include <algorithm>
#include <array>

#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

constexpr std::array kByteErrors = {
    ErrorText{static_cast<int>(ByteErrc::kEndOfData), "end_of_data",
              "the data ends before the field does"},
};

constexpr TableCategory kByteCategory(0x5ae2c90d8f7431b6, "weft.bytes", kByteErrors);

}  // namespace

const TableCategory& byte_category() noexcept { return kByteCategory; }

boost::system::error_code make_error_code(ByteErrc code) noexcept {
  return {static_cast<int>(code), byte_category()};
}

Error ByteReader::end_of_data(std::string_view field, std::uint64_t wanted) const {
  std::string detail(field);
  detail.append(" at offset ").append(std::to_string(offset_));
  detail.append(" needs ").append(std::to_string(wanted));
  detail.append(" bytes, there are ").append(std::to_string(remaining()));
  return {ByteErrc::kEndOfData, std::move(detail)};
}

bool ByteReader::holds(std::uint64_t count) {
  if (offset_ < begin_) internal_error("a field that begins before its window");
  const std::uint64_t from = offset_ - begin_;
  if (from <= bytes_.size() && count <= bytes_.size() - from) return true;
  if (wanted_ != nullptr) *wanted_ = std::max(*wanted_, offset_ + count);
  return false;
}

const std::byte* ByteReader::take(std::uint64_t count) {
  if (count > remaining() || !holds(count)) return nullptr;
  const std::byte* from = bytes_.data() + (offset_ - begin_);
  offset_ += count;
  return from;
}

Result<std::span<const std::byte>> ByteReader::read_bytes(std::uint64_t count,
                                                          std::string_view field) {
  if (count == 0) return bytes_.first(0);  // not null, for memcpy
  const std::byte* from = take(count);
  if (from == nullptr) return end_of_data(field, count);
  return std::span(from, count);
}

std::span<const std::byte> ByteReader::peek(std::uint64_t count) {
  count = std::min(count, remaining());
  if (count == 0 || !holds(count)) return {};
  return bytes_.subspan(offset_ - begin_, count);
}

Result<void> ByteReader::skip(std::uint64_t count, std::string_view field) {
  if (count > remaining()) return end_of_data(field, count);
  offset_ += count;
  return {};
}

Result<std::string_view> ByteReader::read_text(std::uint64_t count, std::string_view field) {
  const auto found = read_bytes(count, field);
  if (!found) return found.error();
  return std::string_view(reinterpret_cast<const char*>(found->data()), found->size());
}

Result<void> ByteReader::seek(std::uint64_t offset, std::string_view field) {
  if (offset > end_) {
    std::string detail(field);
    detail.append(" is at offset ").append(std::to_string(offset));
    detail.append(" of ").append(std::to_string(end_)).append(" bytes");
    return Error{ByteErrc::kEndOfData, std::move(detail)};
  }
  offset_ = offset;
  return {};
}

Result<void> ByteReader::expect(std::uint64_t count, std::uint64_t bytes_each,
                                std::string_view field) const {
  if (bytes_each != 0 && count > remaining() / bytes_each) {
    std::string detail(field);
    detail.append(" at offset ").append(std::to_string(offset_)).append(": ");
    detail.append(std::to_string(count)).append(" items of at least ");
    detail.append(std::to_string(bytes_each)).append(" bytes, there are ");
    detail.append(std::to_string(remaining()));
    return Error{ByteErrc::kEndOfData, std::move(detail)};
  }
  return {};
}

std::span<const std::byte> FieldReader::bytes(std::uint64_t count, std::string_view field) {
  if (error_) return {};
  return keep(reader_.read_bytes(count, field));
}

std::string_view FieldReader::text(std::uint64_t count, std::string_view field) {
  if (error_) return {};
  return keep(reader_.read_text(count, field));
}

void FieldReader::skip(std::uint64_t count, std::string_view field) {
  if (error_) return;
  if (const auto moved = reader_.skip(count, field); !moved) error_ = moved.error();
}

void FieldReader::seek(std::uint64_t offset, std::string_view field) {
  if (error_) return;
  if (const auto moved = reader_.seek(offset, field); !moved) error_ = moved.error();
}

void FieldReader::expect(std::uint64_t count, std::uint64_t bytes_each, std::string_view field) {
  if (error_) return;
  if (const auto fits = reader_.expect(count, bytes_each, field); !fits) error_ = fits.error();
}

}  // namespace weft
