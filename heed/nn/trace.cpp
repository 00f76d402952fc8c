#include "heed/nn/trace.h"

#include <algorithm>

#include "heed/base/error.h"

namespace heed::nn {
namespace {

bool equal_lengths(const Spans& spans) {
  return spans.count() > 0 && spans.longest() * spans.count() == spans.tokens();
}

// Rows of one sequence: (n, C)
Tensor rows_of(const Tensor& x, const Spans& spans, int64_t sequence) {
  const int64_t n = spans.length(sequence), C = x.cols();
  Tensor y = Tensor::empty({n, C});
  for (int64_t t = 0; t < n; ++t) std::copy_n(x.data() + (spans.offsets()[sequence] + t) * x.ld(), C, y.data() + t * C);
  return y;
}

// Parts of one shape; there is one at least.
Tensor stack(const std::string& name, const std::vector<Tensor>& parts) {
  for (const Tensor& part : parts) {
    if (part.shape() == parts[0].shape()) continue;
    fail("[trace] '{}' has parts of shapes {} and {}: ask for one", name, parts[0].shape().str(), part.shape().str());
  }
  Shape shape{static_cast<int64_t>(parts.size())};
  for (int d = 0; d < parts[0].shape().rank(); ++d) shape.append(parts[0].size(d));
  Tensor y = Tensor::empty(shape);
  float* at = y.data();
  for (const Tensor& part : parts) at = std::copy_n(part.data(), part.numel(), at);
  return y;
}

}  // namespace

bool Trace::wanted(const std::string& name) const {
  return prefixes_.empty() || std::any_of(prefixes_.begin(), prefixes_.end(), [&](const std::string& prefix) {
           return name.compare(0, prefix.size(), prefix) == 0;
         });
}

bool Trace::add(const std::string& name, Item item) {
  if (!wanted(name)) return false;
  if (items_.insert_or_assign(name, std::move(item)).second) order_.push_back(name);
  return true;
}

void Trace::rows(const std::string& name, const Tensor& x, const Spans& spans) {
  add(name, {Kind::kRows, x.detach(), spans, 1, ""});
}

void Trace::attention(const std::string& path, const AttentionRecord& r) {
  const Spans &queries = r.args.q_spans, &keys = r.args.k_spans;
  const int64_t H = r.args.heads, H_kv = r.args.kv_heads;
  AttentionRecord kept = r;
  for (Tensor* x : {&kept.q, &kept.k, &kept.v, &kept.merged, &kept.output}) *x = x->detach();
  if (r.args.k_rows) {  // of a cache, which later steps write into
    for (Tensor* x : {&kept.k, &kept.v}) *x = select_rows(*x, *r.args.k_rows);
    kept.args.k_rows = nullptr;
  }
  add(path + ".q", {Kind::kRows, kept.q, queries, 1, ""});
  add(path + ".k", {Kind::kRows, kept.k, keys, 1, ""});
  add(path + ".v", {Kind::kRows, kept.v, keys, 1, ""});
  add(path + ".q_heads", {Kind::kHeads, kept.q, queries, H, ""});
  add(path + ".k_heads", {Kind::kHeads, kept.k, keys, H_kv, ""});
  add(path + ".v_heads", {Kind::kHeads, kept.v, keys, H_kv, ""});
  const bool scores = add(path + ".scores", {Kind::kScores, Tensor(), queries, H, path});
  const bool weights = add(path + ".weights", {Kind::kWeights, Tensor(), queries, H, path});
  add(path + ".head_output", {Kind::kHeads, kept.merged, queries, H, ""});
  add(path + ".merged", {Kind::kRows, kept.merged, queries, 1, ""});
  add(path + ".output", {Kind::kRows, kept.output, queries, 1, ""});
  if (scores || weights) attentions_[path] = std::move(kept);
}

bool Trace::same_shapes(const Item& it) const {
  return equal_lengths(it.spans) && (it.attention.empty() || equal_lengths(attentions_.at(it.attention).args.k_spans));
}

std::vector<std::string> Trace::names() const { return order_; }

const Trace::Item& Trace::item(const std::string& name) const {
  const auto it = items_.find(name);
  if (it == items_.end()) fail("[trace] no '{}' in this run{}", name, nearest_is(name, order_));
  return it->second;
}

Tensor Trace::tensor(const std::string& name, int64_t sequence) const {
  const Item& it = item(name);
  if (sequence < 0 || sequence >= it.spans.count()) {
    fail("[trace] sequence {} of '{}': the batch has {}", sequence, name, it.spans.count());
  }
  const NoGrad no_grad;
  if (it.kind == Kind::kRows) return rows_of(it.x, it.spans, sequence);
  if (it.kind == Kind::kHeads) {
    const Tensor x = rows_of(it.x, it.spans, sequence);  // (n, H D)
    return transpose(reshape(x, {x.rows(), it.heads, x.cols() / it.heads}), 0, 1);
  }
  const AttentionRecord& r = attentions_.at(it.attention);
  std::vector<Tensor> heads;
  for (int64_t h = 0; h < it.heads; ++h) {
    heads.push_back(attention_weights(r.q, r.k, r.args,
                                      {.sequence = sequence,
                                       .head = h,
                                       .rows = it.spans.length(sequence),
                                       .scores = it.kind == Kind::kScores,
                                       .with_dropout = true}));
  }
  return stack(name, heads);  // (H, n, n')
}

Tensor Trace::tensor(const std::string& name) const {
  const Item& it = item(name);
  if (it.spans.count() == 0) fail("[trace] '{}' of a batch without sequences", name);
  if (!same_shapes(it)) {
    fail("[trace] '{}' of a ragged batch: ask for one of its {} sequences", name, it.spans.count());
  }
  std::vector<Tensor> parts;
  for (int64_t s = 0; s < it.spans.count(); ++s) parts.push_back(tensor(name, s));
  return stack(name, parts);
}

const Tensor& Trace::all_rows(const std::string& name) const {
  const Item& it = item(name);
  if (it.kind != Kind::kRows) fail("[trace] '{}' is no rows of tokens", name);
  return it.x;
}

Shape Trace::shape(const std::string& name) const {
  const Item& it = item(name);
  const int64_t B = it.spans.count(), n = it.spans.longest();
  Shape shape = same_shapes(it) ? Shape{B} : Shape{};
  const int64_t rows = same_shapes(it) ? n : it.spans.tokens();
  switch (it.kind) {
    case Kind::kRows:
      return shape.append(rows).append(it.x.cols());
    case Kind::kHeads:
      return shape.append(it.heads).append(rows).append(it.x.cols() / it.heads);
    default:
      break;
  }
  return shape.append(it.heads).append(n).append(attentions_.at(it.attention).args.k_spans.longest());
}

}  // namespace heed::nn
