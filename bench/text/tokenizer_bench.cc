/// Encoding a text, on one thread, against Hugging Face's `tokenizers` in the same run. Time is
/// processor time of that thread, so that a machine that others use as well gives the same ratios.
///
/// WEFT_TOKENIZER names a tokenizer.json (or its folder) and WEFT_TEXT a text of UTF-8; without
/// them a tokenizer of the tests and a text made of its words are taken. WEFT_PYTHON names the
/// Python that has `tokenizers`; without one of them only our own time is printed.

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "weft/bench/peer_process.h"
#include "weft/bench/ratio.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft::bench {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::optional<fs::path> path_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

/// Makes a megabyte of sentences from `words`, drawn with Zipf's law.
std::string generated_text(const std::vector<std::string>& words) {
  constexpr std::size_t kSize = 1 << 20;
  std::vector<double> weights;
  for (std::size_t rank = 1; rank <= words.size(); ++rank) {
    weights.push_back(1.0 / static_cast<double>(rank));
  }
  std::mt19937 random(1);
  std::discrete_distribution<std::size_t> draw(weights.begin(), weights.end());
  std::string text;
  while (text.size() < kSize) {
    text += words[draw(random)];
    text += random() % 12 == 0 ? (random() % 4 == 0 ? ".\n" : ", ") : " ";
  }
  return text;
}

std::vector<std::string> generated_words() {
  std::mt19937 random(2);
  std::vector<std::string> words;
  for (int i = 0; i < 20'000; ++i) {
    std::string word;
    for (auto left = 1 + random() % 9; left > 0; --left) {
      word += static_cast<char>('a' + random() % 26);
    }
    words.push_back(word);
  }
  return words;
}

/// The tokenizer, the text, and the files that the peer reads.
class Setting {
 public:
  Setting() : folder_(fs::temp_directory_path() / ("weft_bench_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    tokenizer_path_ = path_in("WEFT_TOKENIZER").value_or(folder_ / "tokenizer.json");
    text_path_ = path_in("WEFT_TEXT").value_or(folder_ / "text.txt");
    if (fs::is_directory(tokenizer_path_)) tokenizer_path_ /= "tokenizer.json";
    if (!path_in("WEFT_TOKENIZER")) std::ofstream(tokenizer_path_) << test_tokenizer();
    if (!path_in("WEFT_TEXT")) std::ofstream(text_path_) << generated_text(generated_words());
    text_ = read_file(text_path_);
    Result<Tokenizer> made =
        Tokenizer::from_json(read_file(tokenizer_path_), tokenizer_path_.string());
    if (made) tokenizer_ = *made;
    start_peer();
  }
  ~Setting() { fs::remove_all(folder_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  [[nodiscard]] bool ready() const { return tokenizer_.has_value() && !text_.empty(); }
  [[nodiscard]] bool has_peer() const { return peer_ != nullptr; }
  [[nodiscard]] double bytes() const { return static_cast<double>(text_.size()); }

  [[nodiscard]] double ours(bool by_line) const {
    std::vector<TokenId> ids;
    const double begin = thread_seconds();
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t end = by_line ? std::min(rest.find('\n'), rest.size()) : rest.size();
      ids.clear();
      static_cast<void>(tokenizer_->encode(rest.substr(0, end),
                                           {.add_special = false, .parse_special = true}, ids));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    benchmark::DoNotOptimize(ids.data());
    return thread_seconds() - begin;
  }

  [[nodiscard]] double peer(bool by_line) const {
    peer_->write_line(by_line ? "lines" : "whole");
    return std::strtod(peer_->read_line().c_str(), nullptr);
  }

 private:
  static std::string test_tokenizer() {
    const fs::path tree(WEFT_SOURCE_DIR);
    const boost::json::value all =
        boost::json::parse(read_file(tree / "tests/text/data/tokenizers.json"));
    return boost::json::serialize(all.at(0).at("tokenizer"));
  }

  void start_peer() {
    const std::string python = path_in("WEFT_PYTHON").value_or("python3").string();
    const fs::path script = fs::path(WEFT_SOURCE_DIR) / "bench/text/tokenizers_peer.py";
    peer_ = std::make_unique<PeerProcess>(std::vector<std::string>{
        python, script.string(), tokenizer_path_.string(), text_path_.string()});
    if (peer_->read_line() != "ready") peer_.reset();
  }

  fs::path folder_;
  fs::path tokenizer_path_;
  fs::path text_path_;
  std::string text_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<PeerProcess> peer_;
};

void encode(benchmark::State& state) {
  static const Setting setting;
  const bool by_line = state.range(0) != 0;
  if (!setting.ready()) return state.SkipWithError("no tokenizer or no text");
  const auto ours = [&] { return setting.ours(by_line); };
  if (setting.has_peer()) {
    compare(state, setting.bytes(), ours, [&] { return setting.peer(by_line); });
  } else {
    ours();
    while (state.KeepRunning()) state.SetIterationTime(ours());
    state.SetLabel("no peer: python3 has no tokenizers");
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(setting.bytes()) * state.iterations());
}

BENCHMARK(encode)->ArgName("by_line")->Arg(0)->Arg(1)->UseManualTime()->Iterations(kPairs);

}  // namespace
}  // namespace weft::bench
