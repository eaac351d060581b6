#include "weft/model/adapters/gguf_adapter.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "weft/core/dtype.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::string_view kA = ".lora_a";
constexpr std::string_view kB = ".lora_b";

std::string text_of(const json::object& metadata, std::string_view key) {
  const auto* value = metadata.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

struct Halves {
  const CheckpointTensor* a = nullptr;
  const CheckpointTensor* b = nullptr;
};

/// Reads the contents of one file.
class GgufAdapterReader {
 public:
  GgufAdapterReader(const CheckpointFile& content, std::string_view file)
      : content_(content), file_(file) {}

  Result<AdapterFile> read() {
    AdapterFile adapter;
    adapter.format = AdapterFormat::kGguf;
    if (auto read = read_metadata(adapter); !read) return read.error();
    adapter.bytes = bytes_of_all(content_.tensors);
    std::map<std::string, Halves> pairs;
    for (const CheckpointTensor& tensor : content_.tensors) {
      const std::string_view name = tensor.name;
      const bool a = name.ends_with(kA);
      if (!a && !name.ends_with(kB)) return bad(tensor, "is neither a lora_a nor a lora_b");
      if (!is_float(tensor.dtype) || is_encoded(tensor.dtype))
        return bad(tensor, "is " + std::string(to_string(tensor.dtype)) + ", no plain float");
      Halves& pair = pairs[std::string(name.substr(0, name.size() - kA.size()))];
      (a ? pair.a : pair.b) = &tensor;
    }
    if (pairs.empty()) return bad_adapter(file_, "holds no tensor");
    for (const auto& [name, halves] : pairs) {
      auto pair = make_pair_of(name, halves, adapter.config.alpha);
      if (!pair) return pair.error();
      adapter.pairs.push_back(*std::move(pair));
    }
    return adapter;
  }

 private:
  [[nodiscard]] Error bad(const CheckpointTensor& tensor, std::string_view what) const {
    return bad_adapter(file_, "tensor " + in_quotes(tensor.name) + ": " + std::string(what));
  }

  Result<void> read_metadata(AdapterFile& adapter) const {
    const json::object& metadata = content_.config;
    const std::string type = text_of(metadata, "adapter.type");
    if (type != "lora")
      return bad_adapter(file_, "adapter.type is " + in_quotes(type) + ", not \"lora\"");
    adapter.architecture = text_of(metadata, "general.architecture");
    if (metadata.contains("adapter.alora.invocation_tokens"))
      adapter.config.refused.emplace_back(
          "adapter.alora.invocation_tokens: takes effect from an invocation on, so it cannot be "
          "merged into the weights");
    const auto* alpha = metadata.if_contains("adapter.lora.alpha");
    if (alpha == nullptr || !alpha->is_number())
      return bad_adapter(file_, "adapter.lora.alpha is missing or no number");
    adapter.config.alpha = alpha->to_number<double>();
    if (!std::isfinite(adapter.config.alpha))
      return bad_adapter(file_, "adapter.lora.alpha is not finite");
    return {};
  }

  [[nodiscard]] Result<StoredPair> make_pair_of(const std::string& name, const Halves& halves,
                                                double alpha) const {
    if (halves.a == nullptr || halves.b == nullptr)
      return bad(halves.a == nullptr ? *halves.b : *halves.a,
                 std::string("its pair lacks ") + (halves.a == nullptr ? "lora_a" : "lora_b"));
    StoredPair pair;
    pair.module = name;
    pair.a = *halves.a;
    pair.b = *halves.b;
    const auto& a = pair.a.shape;
    const auto& b = pair.b.shape;
    if (a.size() != b.size() || a.size() < 2 || a.size() > 3)
      return bad(pair.a, shape_text(a) + " and lora_b " + shape_text(b) + " are no two matrices");
    if (a.size() == 3) pair.kind = PairKind::kStack;
    if (name == "token_embd.weight") {
      if (a.size() != 2) return bad(pair.a, "is no matrix");
      pair.kind = PairKind::kTable;
    }
    const std::int64_t rank = b.back();
    const std::int64_t other = pair.kind == PairKind::kTable ? a.back() : a[a.size() - 2];
    if (rank < 1 || rank != other || (a.size() == 3 && a[0] != b[0]))
      return bad(*halves.a, shape_text(halves.a->shape) + " does not go with lora_b " +
                                shape_text(halves.b->shape));
    if (rank > kMaxAdapterRank)
      return bad(*halves.a, "its rank is above " + std::to_string(kMaxAdapterRank));
    pair.rank = rank;
    // llama.cpp reads an alpha of 0 as a scale of 1.
    pair.scale = alpha == 0 ? 1 : alpha / static_cast<double>(rank);
    return pair;
  }

  const CheckpointFile& content_;
  std::string_view file_;
};

}  // namespace

bool is_gguf_adapter(const json::object& metadata) {
  return text_of(metadata, "general.type") == "adapter";
}

Result<AdapterFile> read_gguf_adapter(const CheckpointFile& content, std::string_view file) {
  if (!is_gguf_adapter(content.config))
    return bad_adapter(file, "is a model: its general.type is not \"adapter\"");
  return GgufAdapterReader(content, file).read();
}

}  // namespace weft
