#include "weft/text/jinja/run.h"

#include <algorithm>
#include <cstring>

#include "weft/core/error/checked.h"
#include "weft/core/text/utf8.h"
#include "weft/text/jinja/values/items.h"

namespace weft::jinja {

void Run::keep_failure(TextErrc code, std::string what) {
  if (failed()) return;
  if (what.size() > kMaxMessageBytes) {
    what.resize(cut_utf8(what, kMaxMessageBytes).size());
    what += "...";
  }
  failure_ = Error{code, std::move(what)};
}

bool Run::step(std::size_t count) {
  if (failed()) return false;
  steps_ += std::min(count, limits_.steps + 1);
  if (steps_ <= limits_.steps) return true;
  fail_limit("more than ", std::to_string(limits_.steps), " steps");
  return false;
}

bool Run::has_room(std::size_t bytes) {
  if (failed()) return false;
  if (held_.fits(bytes)) return true;
  fail_memory();
  return false;
}

void Run::fail_memory() {
  fail_limit("more than ", std::to_string(limits_.memory_bytes), " bytes of values");
}

Value Run::text(std::string_view text, bool markup) {
  if (!has_room(text.size())) return {};
  if (text.empty()) return Text{{}, markup};
  auto* copy = static_cast<char*>(arena_.allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  client_.for_each_range(
      text, [&](ByteRange range) { client_.add({copy + range.begin, range.end - range.begin}); });
  return Text{{copy, text.size()}, markup};
}

Value Run::list(std::span<const Value> items, List::Type type) {
  if (!has_room(items.size_bytes())) return {};
  const auto bytes = std::max<std::size_t>(items.size_bytes(), 1);
  auto* copy = static_cast<Value*>(arena_.allocate(bytes, alignof(Value)));
  std::uninitialized_copy(items.begin(), items.end(), copy);
  return static_cast<const List*>(make<List>(std::span<const Value>(copy, items.size()), type));
}

Value TextBuilder::finish(bool markup) {
  if (!run_.has_room(text_.size())) return Text{{}, markup};
  const Value made = run_.text(text_, markup);
  if (const Text* text = made.text()) {
    for (const ByteRange range : client_) {
      run_.client().add(text->view.substr(range.begin, range.end - range.begin));
    }
  }
  return made;
}

bool TextBuilder::append_repeated(std::size_t count, std::string_view text) {
  const auto bytes = checked_multiply(count, text.size());
  if (!bytes) {
    run_.fail_limit("a string longer than memory");
    return false;
  }
  if (!run_.has_room(*bytes)) return false;
  if (*bytes == 0) return true;
  // Each round doubles the written text, so that a pad of one byte is not written byte by byte.
  const std::size_t first = text_.size();
  if (run_.client().any_in(text)) keep_client({first, first + *bytes});
  text_.reserve(first + *bytes);
  text_ += text;
  for (std::size_t done = text.size(); done < *bytes;) {
    const std::size_t more = std::min(done, *bytes - done);
    text_.append(std::string_view(text_).substr(first, more));
    done += more;
  }
  return true;
}

Value ListBuilder::finish_iterator() const {
  const Value items = finish();
  if (!items.list()) return {};
  return static_cast<Iterator*>(run_.make<ItemsIterator>(Items(items.list()->items)));
}

}  // namespace weft::jinja
