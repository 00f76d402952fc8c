// Weights of few bits whose errors make up for each other. What counts is how far the outputs move: for inputs X and an error
// e of one output's weights that is e H e^T, with H = X^T X. Where H = L D L^T, L lower triangular with ones on its diagonal,
// it is the sum over k of D_k (e_k + sum over j > k of e_j L_jk)^2. So inputs are taken from the last to the first, and each
// weight is rounded after the errors behind it have moved it: GPTQ, without the inverse of H.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/kernels/numbers.h"

namespace heed::kernels {

// What the inputs of a map were while a model ran, some of its weights quantised already.
struct InputMoments {
  int64_t in = 0;
  std::vector<float> h;  // (in, in) X^T X; the part above the diagonal is not read
  // What is missing after what was lost before, times X: of the inputs (in, in), (X' - X)^T X with X' of exact weights; or
  // of the outputs of one map (out, in), (Y' - Y)^T X. Empty: nothing.
  std::vector<float> missing;
  bool of_outputs = false;
};

// Made once for the maps of one input.
struct Feedback {
  int64_t in = 0;
  std::vector<float> minus_l;  // (in, in); what is not below the diagonal is not read
  std::vector<float> d;        // (in)
  std::vector<float> pull;     // as `missing`: what brings some of it back
  bool of_outputs = false;
};
// H gets a hundredth of its mean diagonal added there, or more if it must: calibration text is short. An error where it holds
// no finite numbers.
Feedback feedback_of(InputMoments moments);

// As quantise(), with the scales of least error after feedback.
void quantise_with_feedback(uint8_t* tiles, NumberType type, const Feedback& feedback, const float* w, int64_t out);

}  // namespace heed::kernels
