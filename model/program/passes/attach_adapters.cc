#include "weft/model/program/passes/attach_adapters.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/buffer_planner.h"
#include "weft/model/program/operands.h"

namespace weft {
namespace {

/// The rows and columns of a tensor's pair that belong to a part of a matrix.
struct PairPart {
  std::int64_t first_row = 0;  ///< first row of B
  std::int64_t row_step = 1;
  std::int64_t first_input = 0;
};

PairPart pair_part_of(const MatrixPart& part) {
  const std::int64_t length = part.tensor->shape.back();
  // If a tensor stores its matrix as [inputs, outputs], neighbouring inputs are in different rows.
  if (part.stride_input != 1)
    return {part.offset % length, part.stride_output, part.offset / length};
  return {part.offset / length, part.stride_output / length, part.offset % length};
}

/// A product of the adapted program, before its ops are written.
struct Product {
  std::size_t at = 0;  ///< index among the base's ops
  Extent sites;
  Extent runs;
  std::size_t input = 0;  ///< index among the list's inputs
};

/// Products that read the same value.
struct SharedInput {
  std::size_t first_product = 0;  ///< `low` is computed before this product
  Extent sites;
  BufferId low;
};

/// Writes the adapted ops of one list.
class ListAdapter {
 public:
  ListAdapter(Program& program, OpList& list, std::size_t end)
      : program_(program), list_(list), end_(end) {}

  /// Puts the list's new ops in place. Returns the new index of op `end`. `both` gets a list in
  /// which each product's old op is among the new ones.
  std::size_t run(OpList& both) {
    find_products();
    number_sites();
    OpList adapted;
    adapted.result = both.result = list_.result;
    std::size_t end = 0;
    auto next = products_.begin();
    for (std::size_t at = 0; at < list_.ops.size(); ++at) {
      if (at == end_) end = adapted.ops.size();
      if (next != products_.end() && next->at == at) {
        write(*next, adapted.ops, both.ops);
        ++next;
        continue;
      }
      adapted.ops.push_back(list_.ops[at]);
      both.ops.push_back(list_.ops[at]);
    }
    if (end_ >= list_.ops.size()) end = adapted.ops.size();
    list_ = std::move(adapted);
    return end;
  }

 private:
  /// Finds the products, and which of them read the same value: a buffer that no op has written
  /// since. If a product of another value comes in between, `low` is computed again, because a GPU
  /// has room for one `low` at a time.
  void find_products() {
    BufferId last = kAbsent;  // the value from which `low` is computed
    for (std::size_t at = 0; at < std::min(end_, list_.ops.size()); ++at) {
      const auto* product = std::get_if<LinearOp>(&list_.ops[at]);
      if (product != nullptr && can_have_adapters(*product)) {
        if (last != product->in)
          inputs_.push_back({.first_product = products_.size(), .sites = {}, .low = {}});
        last = product->in;
        products_.push_back({.at = at, .sites = {}, .runs = {}, .input = inputs_.size() - 1});
      }
      if (last == output_of(list_.ops[at])) last = kAbsent;
    }
  }

  [[nodiscard]] bool can_have_adapters(const LinearOp& op) const {
    const MatrixPlan& matrix = program_.matrices[static_cast<std::size_t>(op.weight)];
    return plan(op.out).rows == RowKind::kTokens && !matrix.parts.empty() &&
           std::ranges::all_of(
               matrix.parts, [](const MatrixPart& part) { return part.tensor->shape.size() <= 2; });
  }

  /// Numbers the sites of each input's products consecutively.
  void number_sites() {
    for (std::size_t input = 0; input < inputs_.size(); ++input) {
      SharedInput& shared = inputs_[input];
      shared.sites.first = std::ssize(program_.adapter_sites);
      for (Product& product : products_) {
        if (product.input == input) add_sites(product, shared.sites.first);
      }
      shared.sites.count = std::ssize(program_.adapter_sites) - shared.sites.first;
      shared.low = buffer("low", shared.sites.count * program_.adapter_rank);
    }
  }

  void add_sites(Product& product, std::int64_t first_of_input) {
    const MatrixId weight = product_op(product).weight;
    product.sites.first = std::ssize(program_.adapter_sites);
    product.runs.first = std::ssize(program_.adapter_runs);
    for (const MatrixPart& part : program_.matrices[static_cast<std::size_t>(weight)].parts) {
      const PairPart pair = pair_part_of(part);
      const std::size_t number = site_of(product, weight, part, pair);
      AdapterSite& site = program_.adapter_sites[number];
      AdapterRun& run = program_.adapter_runs.emplace_back();
      run.site = static_cast<std::int32_t>(number);
      run.low = static_cast<std::int32_t>((run.site - first_of_input) * program_.adapter_rank);
      run.first_row = pair.first_row;
      run.row_step = pair.row_step;
      run.outputs = part.outputs;
      run.first_output = part.first_output;
      run.first_panel = site.panels;
      site.panels += run.panels();
    }
    product.sites.count = std::ssize(program_.adapter_sites) - product.sites.first;
    product.runs.count = std::ssize(program_.adapter_runs) - product.runs.first;
  }

  /// Returns the product's site for the part's tensor; creates it for the tensor's first part.
  std::size_t site_of(const Product& product, MatrixId weight, const MatrixPart& part,
                      const PairPart& pair) {
    auto& sites = program_.adapter_sites;
    for (auto number = static_cast<std::size_t>(product.sites.first); number < sites.size();
         ++number) {
      if (sites[number].tensor == part.tensor) return number;
    }
    sites.push_back({part.tensor, weight, pair.first_input, part.inputs, 0});
    return sites.size() - 1;
  }

  /// Writes a product's ops to the adapted list. `both` gets them too, followed by the base's op.
  void write(const Product& product, std::vector<Op>& ops, std::vector<Op>& both) {
    const std::size_t begin = ops.size();
    const LinearOp& base = product_op(product);
    const SharedInput& input = inputs_[product.input];
    if (&products_[input.first_product] == &product)
      ops.emplace_back(AdapterShrinkOp{input.sites, base.in, input.low});
    if (is_cut(base)) {
      write_cut(product, base, input.low, ops);
    } else {
      AdapterExpandOp expand{product.runs, base.spec.scale, input.low, base.residual, base.out};
      ops.emplace_back(expand);
      LinearOp plain = base;
      plain.residual = base.out;
      ops.emplace_back(plain);
    }
    both.insert(both.end(), ops.begin() + static_cast<std::ptrdiff_t>(begin), ops.end());
    both.emplace_back(base);
  }

  void write_cut(const Product& product, const LinearOp& base, BufferId low, std::vector<Op>& ops) {
    const bool gated = is_gated(base);
    const BufferId sums = buffer("sums", plan(base.out).width * (gated ? 2 : 1));
    ops.emplace_back(AdapterExpandOp{product.runs, 1, low, kAbsent, sums});
    LinearOp plain = base;
    plain.spec = {};
    plain.residual = plain.out = sums;
    plain.gate_apart = gated;
    ops.emplace_back(plain);
    ops.emplace_back(ActivateOp{base.spec, gated, sums, base.residual, base.out});
  }

  /// Whether an op is applied to the product's sums before they are scaled.
  [[nodiscard]] bool is_cut(const LinearOp& op) const {
    return is_gated(op) || op.spec.activation != Activation::kNone || op.spec.soft_cap > 0;
  }
  [[nodiscard]] bool is_gated(const LinearOp& op) const {
    return program_.matrices[static_cast<std::size_t>(op.weight)].gated;
  }

  BufferId buffer(const char* name, std::int64_t width) {
    program_.buffers.push_back({name, RowKind::kTokens, width});
    return BufferId(program_.buffers.size() - 1);
  }
  [[nodiscard]] const BufferPlan& plan(BufferId id) const {
    return program_.buffers[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const LinearOp& product_op(const Product& product) const {
    return std::get<LinearOp>(list_.ops[product.at]);
  }

  Program& program_;
  OpList& list_;
  const std::size_t end_;
  std::vector<Product> products_;
  std::vector<SharedInput> inputs_;
};

}  // namespace

Program attach_adapters(const Program& program, std::int64_t rank, std::int64_t alignment) {
  Program adapted = program;
  adapted.adapter_rank = (rank + kAdapterRankGrain - 1) / kAdapterRankGrain * kAdapterRankGrain;
  // The lives of buffers in `both` include the lives in either program.
  OpList both;
  ListAdapter(adapted, adapted.encode, adapted.encode.ops.size()).run(both);
  plan_buffers(both, adapted.buffers, alignment);
  adapted.encode.floats_per_token = both.floats_per_token;
  adapted.encode.floats_per_output = both.floats_per_output;
  both = {};
  adapted.first_head_op = ListAdapter(adapted, adapted.decode, adapted.first_head_op).run(both);
  plan_buffers(both, adapted.buffers, alignment);
  adapted.decode.floats_per_token = both.floats_per_token;
  adapted.decode.floats_per_output = both.floats_per_output;
  return adapted;
}

}  // namespace weft
