// Weights of 4 bits whose errors make up for each other. What counts is how far the outputs move: for inputs X and an error e
// of one output's weights that is e H e^T, with H = X^T X. Where H = L D L^T, L lower triangular with ones on its diagonal, it
// is the sum over k of D_k (e_k + sum over j > k of e_j L_jk)^2. So inputs are taken from the last to the first, and each
// weight is rounded after the errors behind it have moved it: GPTQ, without the inverse of H.
#pragma once

#include <cstdint>
#include <vector>

namespace heed::kernels {

// What the inputs of a map were while a model ran.
struct InputMoments {
  int64_t in = 0;
  std::vector<float> h;      // (in, in) X^T X; the part above the diagonal is not read
  std::vector<float> drift;  // (in, in) (X' - X)^T X, where X' came of exact weights before the map; empty: X' is X
};

// Made once for the maps of one input.
struct Feedback {
  int64_t in = 0;
  std::vector<float> minus_l;  // (in, in); what is not below the diagonal is not read
  std::vector<float> d;        // (in)
  std::vector<float> pull;     // (in, in) w pull is what moves the outputs back to those of X', in part; may be empty
};
// H gets a hundredth of its mean diagonal added there, or more if it must: calibration text is short. An error where it holds
// no finite numbers.
Feedback feedback_of(InputMoments moments);

// As quantise() to kInt4, w: (out, in) by rows, with the scales of least error after feedback.
void quantise_with_feedback(uint8_t* tiles, const Feedback& feedback, const float* w, int64_t out);

}  // namespace heed::kernels
