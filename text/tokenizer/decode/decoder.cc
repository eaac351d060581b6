#include "weft/text/tokenizer/decode/decoder.h"

#include <utility>

#include "weft/text/tokenizer/decode/decode_stages.h"

namespace weft {

DecodeStream::DecodeStream(const Decoder& decoder) : out_(std::make_unique<std::string>()) {
  stages_.push_back(make_last_stage(*out_));
  const auto& steps = decoder.steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    stages_.push_back(make_stage(*step, *stages_.back()));
  }
}

void DecodeStream::push(std::string_view token) {
  stages_.back()->text(token);
  stages_.back()->end_token();
}

void DecodeStream::finish() { stages_.back()->finish(); }

std::string DecodeStream::take() { return std::exchange(*out_, {}); }

void DecodeStream::take(std::string& out) {
  out.append(*out_);
  out_->clear();
}

}  // namespace weft
