#include "weft/cli/commands/inspect_adapter.h"

#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "weft/cli/fail.h"
#include "weft/cli/size_text.h"
#include "weft/model/adapters/adapter_file.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

void adapter_line(const char* label, const std::string& text) {
  std::cout << std::left << std::setw(14) << label << text << '\n';
}

/// The part of a module's path that all layers have in common: "q_proj" of
/// "model.layers.3.self_attn.q_proj", "attn_q" of "blk.3.attn_q.weight".
std::string kind_of(std::string module) {
  constexpr std::string_view kWeight = ".weight";
  if (module.ends_with(kWeight)) module.resize(module.size() - kWeight.size());
  return module.substr(module.rfind('.') + 1);
}

std::string number_text(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

/// "q_proj 2, v_proj 2": values and how many pairs have each.
template <class Key>
std::string counts_text(const std::map<Key, std::size_t>& counts) {
  std::ostringstream text;
  for (const auto& [key, count] : counts)
    text << (text.tellp() > 0 ? ", " : "") << key << " (" << count << ")";
  return text.str();
}

std::string settings_text(const AdapterFile& adapter) {
  const AdapterConfig& config = adapter.config;
  std::string text = "alpha " + number_text(config.alpha);
  if (config.rank_stabilized) text += ", rank-stabilized";
  if (config.dora) text += ", DoRA";
  if (config.lora_bias) text += ", with biases of B";
  if (config.fan_in_fan_out) text += ", fan_in_fan_out (the base says how it stores a matrix)";
  return text;
}

void print_pairs(const AdapterFile& adapter) {
  std::map<std::string, std::size_t> targets, ranks, scales;
  for (const StoredPair& pair : adapter.pairs) {
    ++targets[kind_of(pair.module)];
    const bool known = pair.rank > 0;
    ++ranks[known ? std::to_string(pair.rank)
                  : std::to_string(pair.a.shape[0]) + " of all experts"];
    if (known) ++scales[number_text(pair.scale)];
  }
  adapter_line("pairs", std::to_string(adapter.pairs.size()));
  if (adapter.pairs.empty()) return;
  adapter_line("targets", counts_text(targets));
  adapter_line("ranks", counts_text(ranks));
  if (!scales.empty()) adapter_line("scales", counts_text(scales));
}

void print_extras(const AdapterFile& adapter) {
  for (const CheckpointTensor& tensor : adapter.whole) adapter_line("replaces", tensor.name);
  for (const StoredRows& rows : adapter.rows)
    adapter_line("replaces", std::to_string(rows.rows.size()) + " rows of " + rows.module);
  for (const std::string& key : adapter.config.passed_over)
    adapter_line("passed over", key + ", an unknown key that changes nothing");
  for (const std::string& reason : adapter.config.refused) adapter_line("refused", reason);
}

}  // namespace

bool is_only_adapter(const fs::path& path) {
  std::error_code ignored;
  return is_adapter(path) && !fs::exists(path / "config.json", ignored);
}

void inspect_adapter(std::string_view verb, const fs::path& path) {
  const AdapterFile adapter = value_or_fail(verb, read_adapter(path));
  const bool gguf = adapter.format == AdapterFormat::kGguf;
  adapter_line("adapter", std::string(to_string(adapter.format)) + " LoRA");
  const std::string base = gguf ? adapter.architecture : adapter.config.base_model;
  adapter_line("base", base.empty() ? "not stated" : base);
  adapter_line("settings", settings_text(adapter));
  print_pairs(adapter);
  adapter_line("in files", size_text(static_cast<std::int64_t>(adapter.bytes)));
  print_extras(adapter);
}

void tell_adapters_beside(const fs::path& model) {
  for (const fs::path& adapter : adapters_in(model))
    adapter_line("adapter", adapter.string() +
                                " lies beside the model; --adapter merges it, and without it "
                                "the weights are the model's own");
}

}  // namespace weft::cli
