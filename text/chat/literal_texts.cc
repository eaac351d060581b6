#include "weft/text/chat/literal_texts.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace weft {
namespace {

/// Knows which bytes of a prompt a client wrote.
class ClientBytes {
 public:
  explicit ClientBytes(std::span<const jinja::ByteRange> ranges) : ranges_(ranges) {}

  [[nodiscard]] bool has(std::size_t offset) const {
    const auto next = std::ranges::upper_bound(ranges_, offset, {}, &jinja::ByteRange::begin);
    return next != ranges_.begin() && offset < std::prev(next)->end;
  }

 private:
  std::span<const jinja::ByteRange> ranges_;
};

}  // namespace

std::vector<std::size_t> literal_starts(const RenderedPrompt& prompt, const Tokenizer& tokenizer) {
  std::vector<std::size_t> starts;
  if (prompt.client.empty()) return starts;
  const ClientBytes client(prompt.client);
  for (const Tokenizer::SpecialText& text : tokenizer.special_texts(prompt.text)) {
    if (client.has(text.begin) || client.has(text.end - 1)) starts.push_back(text.begin);
  }
  return starts;
}

}  // namespace weft
