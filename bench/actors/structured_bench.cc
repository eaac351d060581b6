// Tokens a second of 32 rows whose outputs are held to a JSON schema, over those of 32 rows that
// are free, in turn within one run: the demo model on the host, all actors, 256 tokens a row. The
// schema asks for so long a list that no output ends before that.
//   same    every request has the same schema, as in an application: its states and masks are
//           known after the first outputs
//   own     every request has a new schema, so each request compiles it and makes its
//           masks
// Then rows with jump-ahead (scheduling.jump_ahead) over rows without, in turn as well: the time
// of a token, and the ratio of steps.
//   demo    the demo model
//   large   a llama of TinyLlama's shape with random weights, whose steps are bound by memory
//   gpu     both things on a GPU, a llama of Llama-2-7B's shape with random weights

#include <benchmark/benchmark.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/pipeline.h"
#include "weft/bench/actors/demo_model.h"
#include "weft/bench/actors/host_models.h"
#include "weft/bench/ratio.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kRows = 32;
constexpr std::int32_t kTokens = 256;
constexpr std::int32_t kTokensOfLarge = 64;
constexpr std::int64_t kContext = 512;

enum class Schemas : std::uint8_t { kNone, kSame, kOwn };

/// Returns the schema of a list of records; `name` is one of their properties.
std::string schema(const std::string& name) {
  return R"({"type":"array","minItems":1000,"items":{"type":"object","properties":{)"
         R"("city":{"type":"string"},"note":{"type":"string","maxLength":40},)"
         R"("kind":{"enum":["capital","port","village"]},"people":{"type":"integer","minimum":0},)"
         R"("area":{"type":"number"},"old":{"type":"boolean"},)"
         R"("tags":{"type":"array","items":{"type":"string"},"maxItems":4},")" +
         name +
         R"(":{"type":"string","format":"date"}},)"
         R"("required":["city","note","kind","people","area","old","tags",")" +
         name + R"("],"additionalProperties":false}})";
}

/// Returns a schema of such records with short strings, which a model of random weights can fill
/// in, too.
const std::string& short_schema() {
  static const std::string schema =
      R"({"type":"array","minItems":1000,"items":{"type":"object","properties":{)"
      R"("first_name":{"type":"string","maxLength":8},"last_name":{"type":"string","maxLength":8},)"
      R"("kind_of_place":{"enum":["capital","port","village"]},)"
      R"("inhabitants":{"type":"integer","minimum":0,"maximum":99999},"is_old":{"type":"boolean"},)"
      R"("founded_on":{"type":"string","format":"date"}},)"
      R"("required":["first_name","last_name","kind_of_place","inhabitants","is_old",)"
      R"("founded_on"],"additionalProperties":false}})";
  return schema;
}

/// Counts down the requests that have not ended, and up the tokens.
class EndSink final : public RequestSink {
 public:
  EndSink(std::atomic<std::int32_t>& left, std::atomic<std::int64_t>& tokens)
      : left_(left), tokens_(tokens) {}
  void deliver(const DeltaView& delta) noexcept override {
    tokens_.fetch_add(static_cast<std::int64_t>(delta.tokens.size()), std::memory_order_relaxed);
  }
  void finish(Finish&& /*finish*/) noexcept override {
    if (left_.fetch_sub(1) == 1) left_.notify_one();
  }

 private:
  std::atomic<std::int32_t>& left_;
  std::atomic<std::int64_t>& tokens_;
};

/// A model on a device that has so many rows.
struct LoadedRows {
  ServedModel model;
  DeviceRanks ranks;
};

LoadedRows on_host(HostModel host) { return {std::move(host.model), {std::move(host.device)}}; }
LoadedRows demo_on_host(std::int32_t rows) { return on_host(load_demo_model(rows)); }
LoadedRows large_on_host(std::int32_t rows) { return on_host(make_random_llama(rows, kContext)); }

LoadedRows llama_on_gpu(std::int32_t rows) {
  DeviceWishes wishes;
  wishes.replicas = {"cuda:0"};
  wishes.kv_dtype = DType::kBF16;
  wishes.capacity.rows = rows;
  wishes.capacity.context = kContext;
  StepDevices loaded = load_step_devices(RandomLlama(kLlama7B, 1).opened(), wishes, {}).value();
  ServedModel model = demo_model(kContext);
  model.vocabulary = kLlama7B.vocabulary;
  return {std::move(model), std::move(loaded.devices.front())};
}

class RunningModel {
 public:
  RunningModel(LoadedRows loaded, std::int32_t rows, const Config& config) : rows_(rows) {
    pipeline_ = std::make_unique<Pipeline>(io_.get_executor(), config, std::move(loaded.model),
                                           std::vector<DeviceRanks>{std::move(loaded.ranks)});
    thread_ = std::thread([this] { io_.run(); });
  }
  RunningModel(const RunningModel&) = delete;
  RunningModel& operator=(const RunningModel&) = delete;
  ~RunningModel() {
    pipeline_.reset();
    io_.stop();
    thread_.join();
  }

  /// Runs a request in each row; returns the number of tokens.
  std::int64_t run(Schemas schemas, float temperature) {
    return run([&] { return request(schemas, temperature); });
  }

  /// Runs the requests that `make` makes.
  template <class Make>
  std::int64_t run(const Make& make) {
    std::atomic<std::int32_t> left{rows_};
    std::atomic<std::int64_t> tokens{0};
    for (std::int32_t i = 0; i < rows_; ++i) {
      auto sink = std::make_shared<EndSink>(left, tokens);
      pipeline_->submit(RequestTicket(pipeline_->make_request(make(), std::move(sink))));
    }
    for (std::int32_t now = left.load(); now > 0; now = left.load()) left.wait(now);
    return tokens.load();
  }

  [[nodiscard]] std::uint64_t steps() const { return pipeline_->stats().ticks; }

 private:
  Request request(Schemas schemas, float temperature) {
    Request request;
    request.prompt_tokens.assign(16, 100);
    request.max_tokens = kTokens;
    request.sampling.temperature = temperature;
    request.sampling.seed = ++made_;
    if (schemas == Schemas::kNone) {
      request.sampling.ignore_eos = true;
    } else {
      request.structured_output.kind = StructuredOutput::Kind::kJsonSchema;
      request.structured_output.text =
          schema(schemas == Schemas::kSame ? "since" : "since" + std::to_string(made_));
    }
    return request;
  }

  boost::asio::io_context io_;
  const boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  const std::int32_t rows_;
  std::unique_ptr<Pipeline> pipeline_;
  std::thread thread_;
  std::uint64_t made_ = 0;
};

template <class Load>
void structured_with(benchmark::State& state, const Load& load, Schemas schemas,
                     float temperature) {
  RunningModel model(load(kRows), kRows, Config());
  const auto timed = [&](Schemas which) {
    std::int64_t tokens = 0;
    const double took = seconds([&] { tokens = model.run(which, temperature); });
    if (tokens != std::int64_t{kRows} * kTokens) state.SkipWithError("an output is too short");
    return took;
  };
  compare(
      state, kRows * kTokens, [&] { return timed(schemas); },
      [&] { return timed(Schemas::kNone); });
  add_inverse(state, "tokens_over_free");
}

void structured(benchmark::State& state, Schemas schemas, float temperature) {
  structured_with(state, demo_on_host, schemas, temperature);
}

bool has_gpu(benchmark::State& state) {
  const auto devices = list_devices();
  const bool has = devices && devices->size() > 1;  // the host is one
  if (!has) state.SkipWithError("no GPU");
  return has;
}

void structured_gpu(benchmark::State& state, Schemas schemas, float temperature) {
  if (has_gpu(state)) structured_with(state, llama_on_gpu, schemas, temperature);
}

Config with_jumps(bool ahead) {
  Config config;
  config.jump_ahead = ahead;
  return config;
}

/// Compares rows with jump-ahead to rows with the same seeds without it.
template <class Load>
void jumped(benchmark::State& state, const Load& load, std::int32_t rows, std::int32_t tokens,
            float temperature) {
  RunningModel ahead(load(rows), rows, with_jumps(true));
  RunningModel not_ahead(load(rows), rows, with_jumps(false));
  const auto timed = [&](RunningModel& model) {
    std::uint64_t seed = 0;
    std::int64_t made = 0;
    const double took = seconds([&] {
      made = model.run([&] {
        Request request;
        request.prompt_tokens.assign(16, 100);
        request.max_tokens = tokens;
        request.sampling.temperature = temperature;
        request.sampling.seed = ++seed;
        request.structured_output.kind = StructuredOutput::Kind::kJsonSchema;
        request.structured_output.text = short_schema();
        return request;
      });
    });
    if (made != std::int64_t{rows} * tokens) state.SkipWithError("an output is too short");
    return took;
  };
  compare(state, rows * tokens, [&] { return timed(ahead); }, [&] { return timed(not_ahead); });
  add_inverse(state, "tokens_over_not_ahead");
  state.counters["steps_over_not_ahead"] =
      static_cast<double>(ahead.steps()) / static_cast<double>(not_ahead.steps());
}

void jumped_demo(benchmark::State& state, std::int32_t rows, float temperature) {
  jumped(state, demo_on_host, rows, kTokens, temperature);
}

void jumped_large(benchmark::State& state, float temperature) {
  jumped(state, large_on_host, 1, kTokensOfLarge, temperature);
}

void jumped_gpu(benchmark::State& state, std::int32_t rows, float temperature) {
  if (has_gpu(state)) jumped(state, llama_on_gpu, rows, kTokens, temperature);
}

void arguments(benchmark::internal::Benchmark* one) {
  one->Iterations(kPairs)->UseManualTime()->Unit(benchmark::kMillisecond);
}
void arguments_on_gpu(benchmark::internal::Benchmark* one) {
  // fewer iterations, to save minutes
  one->Iterations(9)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(structured, same_greedy, Schemas::kSame, 0.0F)->Apply(arguments);
BENCHMARK_CAPTURE(structured, same_drawn, Schemas::kSame, 1.0F)->Apply(arguments);
BENCHMARK_CAPTURE(structured, own_drawn, Schemas::kOwn, 1.0F)->Apply(arguments);
BENCHMARK_CAPTURE(jumped_demo, one_greedy, 1, 0.0F)->Apply(arguments);
BENCHMARK_CAPTURE(jumped_demo, one_drawn, 1, 1.0F)->Apply(arguments);
BENCHMARK_CAPTURE(jumped_demo, rows_drawn, kRows, 1.0F)->Apply(arguments);
BENCHMARK_CAPTURE(jumped_large, one_drawn, 1.0F)->Apply(arguments);
BENCHMARK_CAPTURE(structured_gpu, same_drawn, Schemas::kSame, 1.0F)->Apply(arguments_on_gpu);
BENCHMARK_CAPTURE(structured_gpu, own_drawn, Schemas::kOwn, 1.0F)->Apply(arguments_on_gpu);
BENCHMARK_CAPTURE(jumped_gpu, one_drawn, 1, 1.0F)->Apply(arguments_on_gpu);
BENCHMARK_CAPTURE(jumped_gpu, rows_drawn, kRows, 1.0F)->Apply(arguments_on_gpu);

}  // namespace
}  // namespace weft::bench
