#include "weft/text/tokenizer/decode/decoder.h"

#include <utility>

#include "weft/text/tokenizer/decode/decode_stages.h"

namespace weft {

DecodeStream::DecodeStream(const Decoder& decoder) : out_(std::make_unique<Out>()) {
  stages_.push_back(make_last_stage(out_->text, out_->ends));
  const auto& steps = decoder.steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    stages_.push_back(make_stage(*step, *stages_.back()));
  }
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
