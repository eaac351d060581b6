#include "weft/text/format/output_format.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

bool all_stand_in(std::string_view chat_template, const std::vector<std::string>& texts) {
  return std::ranges::all_of(texts, [chat_template](const std::string& text) {
    return chat_template.find(text) != std::string_view::npos;
  });
}

bool stands_in(std::string_view chat_template, const KnownFormat& known) {
  return all_stand_in(chat_template, known.evidence) ||
         (!known.other_evidence.empty() && all_stand_in(chat_template, known.other_evidence));
}

const OutputFormat* first_in(std::span<const KnownFormat> table, std::string_view chat_template) {
  const auto found = std::ranges::find_if(
      table, [chat_template](const KnownFormat& known) { return stands_in(chat_template, known); });
  return found == table.end() ? nullptr : &found->format;
}

}  // namespace

std::vector<std::string_view> OutputFormat::tags() const {
  std::vector<std::string_view> tags{
      thoughts.open,    thoughts.close,    calls.open,        calls.close,      calls.name_open,
      calls.name_close, calls.key_open,    calls.key_close,   calls.value_open, calls.value_close,
      calls.body_close, calls.name_prefix, calls.name_suffix, calls.type_mark};
  tags.insert(tags.end(), silent.begin(), silent.end());
  if (harmony) tags.insert(tags.end(), kHarmonyTags.begin(), kHarmonyTags.end());
  std::erase_if(tags, [](std::string_view tag) { return tag.empty(); });
  return tags;
}

OutputFormat join_formats(OutputFormat calls, const OutputFormat& thoughts) {
  calls.thoughts = thoughts.thoughts;
  calls.silent.insert(calls.silent.end(), thoughts.silent.begin(), thoughts.silent.end());
  calls.answer_open = thoughts.answer_open;
  if (!calls.name.empty()) calls.name.push_back('+');
  calls.name.append(thoughts.name);
  return calls;
}

OutputFormat find_output_format(std::string_view chat_template, const OutputFormat* calls,
                                const OutputFormat* thoughts) {
  if (calls == nullptr) calls = first_in(known_calls(), chat_template);
  OutputFormat format = calls == nullptr ? OutputFormat{} : *calls;
  if (format.harmony) return format;
  if (thoughts == nullptr) thoughts = first_in(known_thoughts(), chat_template);
  return thoughts == nullptr ? format : join_formats(std::move(format), *thoughts);
}

const OutputFormat* known_format(std::string_view name) {
  for (const std::span<const KnownFormat> table : {known_calls(), known_thoughts()}) {
    const auto found = std::ranges::find_if(
        table, [name](const KnownFormat& known) { return known.format.name == name; });
    if (found != table.end()) return &found->format;
  }
  return nullptr;
}

}  // namespace weft
