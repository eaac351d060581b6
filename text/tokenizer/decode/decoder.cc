#include "weft/text/tokenizer/decode/decoder.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <variant>

#include "weft/text/tokenizer/decode/decode_stages.h"

namespace weft {

namespace {

bool makes_one_text(const DecoderStep& step) {
  return std::holds_alternative<FuseStep>(step) ||
         std::holds_alternative<ByteLevelDecoderStep>(step);
}

}  // namespace

DecodeStream::DecodeStream(const Decoder& decoder) : out_(std::make_unique<Out>()) {
  stages_.push_back(make_last_stage(out_->text, out_->ends));
  const auto& steps = decoder.steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    stages_.push_back(make_stage(*step, *stages_.back()));
    one_text_.push_back(std::any_of(steps.begin(), std::prev(step.base()), makes_one_text));
  }
}

void DecodeStream::go_on() {
  for (std::size_t i = 1; i < stages_.size(); ++i) stages_[i]->go_on(one_text_[i - 1]);
}

void DecodeStream::push(std::string_view token) {
  stages_.back()->text(token);
  stages_.back()->end_token();
}

void DecodeStream::mark_end() { stages_.back()->boundary(0); }

void DecodeStream::finish() { stages_.back()->finish(); }

void DecodeStream::take_ends(std::vector<std::size_t>& ends) {
  ends.insert(ends.end(), out_->ends.begin(), out_->ends.end());
  out_->ends.clear();
}

std::string DecodeStream::take() { return std::exchange(out_->text, {}); }

void DecodeStream::take(std::string& out) {
  out.append(out_->text);
  out_->text.clear();
}

}  // namespace weft
