// Each CASE is a mistake that the compiler must stop; CASE 0 is the same without a mistake.

#include <optional>
#include <vector>

#include "weft/model/program/operands.h"

namespace {

struct NestedPlan {
#if CASE == 3  // expects: an op's buffer is an Input, an Output, InPlace or a Residual
  weft::BufferId forgotten;
#endif
  weft::VectorId weight;
};

struct GoodOp {
  weft::Input<> in;
#if CASE == 1  // expects: an op's buffer is an Input, an Output, InPlace or a Residual
  weft::BufferId forgotten;
#endif
#if CASE == 2  // expects: an op's buffer is an Input, an Output, InPlace or a Residual
  std::vector<weft::BufferId> forgotten;
#endif
#if CASE == 5  // expects: a field of an op is an operand, a number or a struct of such
  std::optional<weft::BufferId> forgotten;
#endif
  NestedPlan nested;
  weft::Output<> out;
};

weft::BufferId out_of(const GoodOp& op) { return weft::row_buffer(op); }

#if CASE == 4  // expects: MatrixPlan
weft::MatrixId mixed_up(const GoodOp& op) { return op.in; }
#endif

}  // namespace

int main() { return out_of(GoodOp()) == weft::kAbsent ? 0 : 1; }
