#include <algorithm>
#include <cmath>
#include <vector>

#include "heed/kernels/loss.h"

namespace heed::kernels {
namespace {

int64_t place(const Operand& x, int64_t i, int64_t j) { return x.transposed ? j * x.ld + i : i * x.ld + j; }

// log p of one row, in double.
std::vector<double> log_probabilities(const VocabularyLoss& l, int64_t t) {
  std::vector<double> logits(static_cast<size_t>(l.V));
  double top = -INFINITY;
  for (int64_t v = 0; v < l.V; ++v) {
    double z = l.bias ? l.bias[v] : 0.0;
    for (int64_t c = 0; c < l.C; ++c) z += double{l.x[t * l.C + c]} * *l.weight.at(place(l.weight, c, v));
    logits[static_cast<size_t>(v)] = z;
    top = std::max(top, z);
  }
  double total = 0;
  for (const double z : logits) total += std::exp(z - top);
  for (double& z : logits) z -= top + std::log(total);
  return logits;
}

// Gradients of one row: those of the logits are scale * (p - target).
void add_gradients(const VocabularyLoss& l, int64_t t, const std::vector<double>& dlogits) {
  for (int64_t c = 0; c < l.C; ++c) {
    double dx = 0;
    for (int64_t v = 0; v < l.V; ++v) {
      const int64_t at = place(l.weight, c, v);
      dx += dlogits[static_cast<size_t>(v)] * *l.weight.at(at);
      if (l.dweight) l.dweight[at] += static_cast<float>(dlogits[static_cast<size_t>(v)] * l.x[t * l.C + c]);
    }
    if (l.dx) l.dx[t * l.C + c] = static_cast<float>(dx);
  }
  for (int64_t v = 0; v < l.V && l.dbias; ++v) l.dbias[v] += static_cast<float>(dlogits[static_cast<size_t>(v)]);
}

// What row t carries of how far its distribution is from its twin's; the gradient of the whole is added.
double add_disagreement(const VocabularyLoss& l, int64_t t, const std::vector<double>& log_p,
                        std::vector<double>& dlogits) {
  const std::vector<double> log_q = log_probabilities(l, (t + l.T / 2) % l.T);
  double p_from_q = 0, q_from_p = 0;
  for (size_t v = 0; v < log_p.size(); ++v) {
    p_from_q += std::exp(log_p[v]) * (log_p[v] - log_q[v]);
    q_from_p += std::exp(log_q[v]) * (log_q[v] - log_p[v]);
  }
  const double factor = 0.5 * l.agreement * l.grad_scale;
  for (size_t v = 0; v < log_p.size(); ++v) {
    const double p = std::exp(log_p[v]), q = std::exp(log_q[v]);
    dlogits[v] += factor * (p * (log_p[v] - log_q[v] - p_from_q) + p - q);
  }
  return 0.25 * l.agreement * (p_from_q + q_from_p);
}

}  // namespace

void vocabulary_loss_reference(const VocabularyLoss& l) {
  for (int64_t v = 0; v < l.V && !l.accumulate; ++v) {
    for (int64_t c = 0; c < l.C && l.dweight; ++c) l.dweight[place(l.weight, c, v)] = 0;
    if (l.dbias) l.dbias[v] = 0;
  }
  const double eps = l.smoothing;
  for (int64_t t = 0; t < l.T; ++t) {
    double nll = 0, smooth = 0, apart = 0;
    std::vector<double> dlogits(static_cast<size_t>(l.V), 0.0);
    if (l.targets[t] >= 0) {
      const std::vector<double> log_p = log_probabilities(l, t);
      nll = -log_p[static_cast<size_t>(l.targets[t])];
      for (int64_t v = 0; v < l.V; ++v) {
        const double wanted = (v == l.targets[t] ? 1.0 - eps : 0.0) + eps / static_cast<double>(l.V);
        const double value = log_p[static_cast<size_t>(v)];
        smooth -= value / static_cast<double>(l.V);
        dlogits[static_cast<size_t>(v)] = l.grad_scale * (std::exp(value) - wanted);
      }
      if (l.agreement > 0) apart = add_disagreement(l, t, log_p, dlogits);
    }
    if (l.row_loss) l.row_loss[t] = static_cast<float>((1.0 - eps) * nll + (eps > 0 ? eps * smooth : 0.0) + apart);
    if (l.row_nll) l.row_nll[t] = static_cast<float>(nll);
    if (l.dx || l.dweight || l.dbias) add_gradients(l, t, dlogits);
  }
}

}  // namespace heed::kernels
