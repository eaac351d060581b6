#include "weft/config/config_check.h"

#include <algorithm>
#include <utility>

#include "weft/config/replicas_text.h"

namespace weft {
namespace {

ConfigMistake mistake(std::string_view table, std::string_view name, const FileConfig& config,
                      const std::string& what) {
  const ConfigKey* const key = find_key(table, name);
  return {key, value_of(key->setting, config) + ": " + what};
}

using Mistakes = std::vector<ConfigMistake>;

Mistakes check_rows(const FileConfig& config) {
  const Config& engine = config.engine;
  const std::int64_t advanced = std::int64_t{engine.max_step_tokens} * engine.decode_every;
  if (engine.max_rows <= advanced) return {};
  return {mistake("memory", "max_rows", config,
                  "must be at most " + std::to_string(advanced) +
                      ", memory.max_step_tokens times scheduling.decode_every, or the rows cannot "
                      "all advance as often as that")};
}

Mistakes check_replicas(const FileConfig& config) {
  const Config& engine = config.engine;
  if (engine.policy == BatchPolicy::kInstances && engine.replicas != Config().replicas) {
    const std::string what = "the policy instances makes replicas of its own, scheduling.instances";
    return {mistake("device", "replicas", config, what),
            mistake("scheduling", "policy", config, "device.replicas is set, and " + what)};
  }
  if (!lists_replicas(engine)) return {};
  for (const std::string_view name : {"name", "partition"}) {
    const auto text = [&](const FileConfig& one) {
      return toml_of(find_key("device", name)->setting, one);
    };
    if (text(config) == text(FileConfig())) continue;
    return {mistake("device", "replicas", config,
                    "says where each replica runs, and so does device." + std::string(name)),
            mistake("device", name, config, "device.replicas says where each replica runs")};
  }
  return {};
}

Mistakes check_tls(const FileConfig& config) {
  const bool certificate = !config.server.tls_certificate.empty();
  const bool key = !config.server.tls_key.empty();
  if (certificate && !key) {
    return {mistake("server", "tls_certificate", config, "needs server.tls_key")};
  }
  if (key && !certificate) {
    return {mistake("server", "tls_key", config, "needs server.tls_certificate")};
  }
  return {};
}

Mistakes check_rank_tls(const FileConfig& config) {
  const Config& engine = config.engine;
  const bool certificate = !engine.rank_tls_certificate.empty();
  const bool key = !engine.rank_tls_key.empty();
  if (certificate && !key) {
    return {mistake("device", "rank_tls_certificate", config, "needs device.rank_tls_key")};
  }
  if (key && !certificate) {
    return {mistake("device", "rank_tls_key", config, "needs device.rank_tls_certificate")};
  }
  if (!engine.rank_tls_ca.empty() && !certificate) {
    return {mistake("device", "rank_tls_ca", config, "needs device.rank_tls_certificate")};
  }
  return {};
}

Mistakes check_body_memory(const FileConfig& config) {
  const ServerConfig& server = config.server;
  const std::int64_t memory = server.max_body_memory;
  const std::int64_t largest = std::max(server.max_body_bytes, server.max_message_bytes);
  if (memory >= largest) return {};
  Mistakes mistakes = {mistake("limits", "max_body_memory", config,
                               "must be at least " + std::to_string(largest) +
                                   ", limits.max_body_bytes or limits.max_message_bytes, or none "
                                   "as large as that is ever taken")};
  const std::string most = "must be at most " + std::to_string(memory) +
                           ", limits.max_body_memory, or none as large as that is ever taken";
  if (server.max_body_bytes > memory) {
    mistakes.push_back(mistake("limits", "max_body_bytes", config, most));
  }
  if (server.max_message_bytes > memory) {
    mistakes.push_back(mistake("limits", "max_message_bytes", config, most));
  }
  return mistakes;
}

}  // namespace

std::vector<ConfigMistake> find_mistake(const FileConfig& config) {
  for (const ConfigKey& key : config_schema()) {
    if (Complaint complaint = check(key.setting, config)) return {{&key, *std::move(complaint)}};
  }
  if (auto found = check_rows(config); !found.empty()) return found;
  if (auto found = check_replicas(config); !found.empty()) return found;
  if (auto found = check_body_memory(config); !found.empty()) return found;
  if (auto found = check_rank_tls(config); !found.empty()) return found;
  return check_tls(config);
}

}  // namespace weft
