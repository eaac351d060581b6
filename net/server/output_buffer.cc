#include "weft/net/server/output_buffer.h"

#include <utility>

#include "weft/net/defaults.h"

namespace weft {

void OutputBuffer::begin() {
  sending_ = true;
  progress_ = std::chrono::steady_clock::now();
  sent_ = 0;
  current_.clear();
  std::swap(current_, next_);
}

void OutputBuffer::took(std::size_t bytes) {
  progress_ = std::chrono::steady_clock::now();
  sent_ += bytes;
  sending_ = sent_ < current_.size();
}

void OutputBuffer::shrink() {
  for (std::string* const buffer : {&current_, &next_}) {
    if (buffer->capacity() > net_defaults::kReadBytes) std::string().swap(*buffer);
  }
}

}  // namespace weft
