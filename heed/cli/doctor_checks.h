// What `heed doctor` proves on this machine, each in a second or two.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heed/nn/parameters.h"

namespace heed::cli {

// kOpen: nothing was proved, such as on a machine that is busy with something else.
enum class Verdict { kGood, kBad, kOpen };

struct Finding {
  Verdict verdict = Verdict::kBad;
  std::string detail;  // what was measured, in plain words
};

struct Check {
  std::string name;   // for --json
  std::string claim;  // what is proved
  std::function<Finding()> run;
};
const std::vector<Check>& doctor_checks();

// The gradients that lie there, tensor by tensor along random directions, against differences of the loss.
Finding compare_gradients(const nn::Parameters& parameters, const std::function<double()>& loss);
// How fast products are beside what the CPU can do in registers alone. Others may use the CPU too: a half is no proof, less
// than a quarter is.
Finding judge_products(double reached, double wall);

}  // namespace heed::cli
